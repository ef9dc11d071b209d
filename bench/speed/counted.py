"""In a process under callgrind: runs cases, and has the instructions of each counted. For
`hocket.bench.speed.instructions` to start; arguments are the library that tells callgrind, `small` or `full`, and
the cases.
"""

import ctypes
import sys

from hocket.bench.speed.registry import chosen

__all__ = ["main"]


def main(library: str, size: str, *names: str) -> None:
    """Prints a line `name units` a case. Each runs once before, so that what is done once only is not counted."""
    callgrind = ctypes.CDLL(library)
    for case in chosen(names):
        assert case.prepare is not None
        work = case.prepare(size == "full")
        work.run()
        callgrind.begin_counting()
        work.run()
        callgrind.end_counting(case.name.encode())
        print(case.name, work.units, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
