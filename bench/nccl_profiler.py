"""CPU time that the NCCL profiler plugin adds to a call.

Run: `python -m hocket.bench.nccl_profiler` (needs g++). Goal: at most 0.3 us a record. A program in C++ starts and
stops collectives through the plugin's interface, with and without eight kernel channels each, and does the same with a
plugin that does nothing; the best of some launches counts.
"""

import os
from pathlib import Path

from hocket.base import processes
from hocket.base.scratch import scratch_folder
from hocket.bench.command_line import command_line
from hocket.plugin.nccl.library import nccl_profiler_path

LAUNCHES = 5
CALLS = 400_000
SOURCE = nccl_profiler_path().parent / "nccl" / "tests" / "profiler_cost.cpp"


def main() -> None:
    command_line().parse_args()
    with scratch_folder("bench") as folder:
        program = folder / "cost"
        processes.run(["g++", "-std=c++20", "-O2", "-o", program, SOURCE, "-ldl"], check=True)
        best: dict[str, list[float]] = {}
        for launch in range(LAUNCHES):
            place = Path(folder, str(launch))
            asked = {"HOCKET_NCCL_PROFILE": str(place), "HOCKET_NCCL_EVENTS": "collective,kernel_channel"}
            command = [str(program), str(nccl_profiler_path()), str(CALLS)]
            ran = processes.run(command, env=os.environ | asked, check=True, capture_output=True, text=True)
            for line in ran.stdout.splitlines():
                name, *spent = line.split()
                best[name] = [
                    min(pair) for pair in zip(best.get(name, map(float, spent)), map(float, spent), strict=True)
                ]
            for file in place.iterdir():
                file.unlink()
    print(f"best of {LAUNCHES} launches of {CALLS} calls, CPU ns a record")
    print(f"{'plugin':<8}{'collective':>12}{'with kernels':>14}")
    for name, (alone, kernels) in best.items():
        print(f"{name:<8}{alone:>12.0f}{kernels:>14.0f}")
    worst = max(mine - empty for mine, empty in zip(best["hocket"], best["empty"], strict=True))
    print(f"at most {worst / 1e3:.2f} us a record more than nothing (goal: 0.30)")


if __name__ == "__main__":
    main()
