"""What the NCCL tuner plugin costs: CPU time of an answer, by the number of rules.

A program in C++ asks through the plugin's interface as NCCL does, for a size that the first rule matches and for one
that no rule matches, on a communicator that all rules are for; the best of some launches counts.
"""

import os
from pathlib import Path

from hocket.base import processes
from hocket.base.scratch import hand_over, scratch_folder
from hocket.bench.command_line import command_line
from hocket.plugin.nccl.library import nccl_tuner_path

LAUNCHES = 5
CALLS = 400_000
RULES = (1, 10, 100, 1000)
FOLDER = nccl_tuner_path().parent / "nccl" / "tests"
INCLUDES = nccl_tuner_path().parents[1] / "core" / "include"


def main() -> None:
    command_line().parse_args()
    print(f"best of {LAUNCHES} launches of {CALLS} calls, CPU ns of a call, with the costs that NCCL fills in before")
    print(f"{'rules':>6} {'at the start (us)':>18} {'plugin off':>11} {'first rule':>11} {'no rule':>9}")
    with scratch_folder("bench") as folder:
        program, table = folder / "cost", folder / "table.csv"
        source = FOLDER / "tuner_cost.cpp"
        command = ["g++", "-std=c++20", "-O2", f"-I{INCLUDES}", "-o", str(program), str(source), "-ldl"]
        processes.run(command, check=True)
        for rules in RULES:
            rows = (f"allreduce,{at * 1024},{at * 1024 + 1023},ring,simple,8,2,16" for at in range(rules))
            hand_over(table, "\n".join(rows))
            best = [min(column) for column in zip(*(_launch(program, table) for _ in range(LAUNCHES)), strict=True)]
            start, off, first, none = best
            print(f"{rules:>6} {start:>18.0f} {off:>11.0f} {first:>11.0f} {none:>9.0f}")


def _launch(program: Path, table: Path) -> list[float]:
    asked = {"HOCKET_NCCL_TUNER_TABLE": str(table)}
    command = [str(program), str(nccl_tuner_path()), str(CALLS)]
    ran = processes.run(command, env=os.environ | asked, check=True, capture_output=True, text=True)
    return [float(value) for value in ran.stdout.split()]


if __name__ == "__main__":
    main()
