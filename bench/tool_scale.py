"""What commands cost that describe large machines and long tables: processor time and peak memory of `hocket topology
show` over machines and of `hocket nccl tuner check` over rules, each a process.

Example: python -m hocket.bench.tool_scale --machines 256 1024 4096 --rules 1000 20000
"""

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from itertools import count, islice, product

from hocket.base.processes import started
from hocket.base.scratch import hand_over, scratch_folder
from hocket.bench.command_line import command_line

__all__ = ["main", "rules"]

_COLLECTIVES = ("broadcast", "reduce", "allgather", "reducescatter", "allreduce")
_SIZES = 40  # powers of two up to 1 TiB


def main(machines: Sequence[int], lengths: Sequence[int]) -> None:
    """Prints the table."""
    print(f"{'hocket':<70} {'CPU':>8} {'peak':>9}")
    for number in machines:
        for fabric in ("", ",fabric=fat_tree,leaf=32,spines=16"):
            _measure("topology", "show", f"dgx-h100:nodes={number}{fabric}")
    with scratch_folder("tool_scale") as folder:
        for length in lengths:
            for kind in ("sizes", "nodes"):
                table = folder / f"{length}-rules-of-{kind}.csv"
                hand_over(table, "".join(islice(rules(kind), length)))
                _measure("nccl", "tuner", "check", str(table))


def rules(kind: str) -> Iterator[str]:
    """Lines of a table without end: `sizes`, 40 for each collective of 1, 2, ... nodes of 8 ranks; `nodes`, one for all
    sizes of each."""
    for nodes in count(1):
        for collective, exponent in product(_COLLECTIVES, range(_SIZES if kind == "sizes" else 1)):
            least, most = ((1 << exponent) + 1, 2 << exponent) if kind == "sizes" else (0, -1)
            yield f"{collective},{least},{most},ring,simple,-1,{nodes},{8 * nodes}\n"


def _measure(*words: str) -> None:
    """Prints what a command takes that succeeds."""
    with started([sys.executable, "-m", "hocket", *words], stdout=subprocess.DEVNULL) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{' '.join(words)}: exit {process.returncode}")
    name = " ".join(word.rpartition("/")[2] for word in words)
    print(f"{name:<70} {usage.ru_utime + usage.ru_stime:>6.1f} s {usage.ru_maxrss >> 10:>5} MiB", flush=True)


if __name__ == "__main__":
    parser = command_line()
    parser.add_argument("--machines", type=int, nargs="*", default=[256, 1024, 4096])
    parser.add_argument("--rules", type=int, nargs="*", default=[1000, 20_000])
    arguments = parser.parse_args()
    main(arguments.machines, arguments.rules)
