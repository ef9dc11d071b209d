"""What commands cost that have little to do: processor time and modules of `hocket --version`, its help and small
simulations, next to Python alone. The least of some runs, each a process; all but the first find compiled modules.

Example: python -m hocket.bench.start_up --runs 9
"""

import os
import resource
import subprocess
import sys

from hocket.base.processes import run
from hocket.base.scratch import scratch_folder
from hocket.bench.command_line import command_line

__all__ = ["main"]

RING = "ring:8,bandwidth=50GB/s,latency=500ns"
COMMANDS = (
    "--version",
    "--help",
    "simulate --help",
    f"topology show {RING}",
    f"simulate all_reduce --size 1MiB --topology {RING} --algorithm ring",
    f"simulate all_reduce --size 1MiB --topology {RING}",
    "simulate all_reduce --size 1MiB --topology dgx-h100:nodes=2 --algorithm ring",
    "simulate all_reduce --size 1MiB --topology dgx-h100:nodes=2 --algorithm nccl",
)
_START = "import sys; from hocket.cli import main; main(sys.argv[1:])"
_COUNT = f"import atexit, sys; atexit.register(lambda: print(len(sys.modules), file=sys.stderr)); {_START}"


def main(runs: int) -> None:
    """Prints the table."""
    with scratch_folder("start_up") as folder:
        environment = dict(os.environ, PYTHONPYCACHEPREFIX=str(folder))
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        print(f"{'hocket':<80} {'CPU':>8} {'over --version':>15} {'modules':>8}")
        alone, plain = _least_s("pass", [], environment, runs), 0.0
        print(f"{'(Python alone)':<80} {1e3 * alone:>5.0f} ms")
        for command in COMMANDS:
            words = command.split()
            counted = run(
                [sys.executable, "-c", _COUNT, *words], env=environment, capture_output=True, text=True, check=True
            )
            seconds = _least_s(_START, words, environment, runs)
            plain = plain or seconds
            modules = counted.stderr.split()[-1]
            print(f"{command:<80} {1e3 * seconds:>5.0f} ms {seconds / plain:>15.2f} {modules:>8}")


def _least_s(script: str, words: list[str], environment: dict[str, str], runs: int) -> float:
    """Processor time of the process."""
    found = []
    for _ in range(runs):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        run([sys.executable, "-c", script, *words], env=environment, stdout=subprocess.DEVNULL, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        found.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(found)


if __name__ == "__main__":
    parser = command_line()
    parser.add_argument("--runs", type=int, default=9, metavar="N", help="processes a command (9)")
    main(parser.parse_args().runs)
