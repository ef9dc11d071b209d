"""CPU time that the collector adds to a collective: one gloo rank, all_reduce of 16 floats, with and without it.

Run: `python -m hocket.bench.collector_overhead`. Goal: at most 10 us beyond an uninstrumented run.
"""

import os
import tempfile
import time
from collections.abc import Callable

import torch
import torch.distributed as dist

from hocket.plugin.torch import collector

ROUNDS = 7
CALLS = 3000


def cpu_us(call: Callable[[], object]) -> float:
    """CPU time a call, all threads of the process together, in microseconds: the best of ROUNDS rounds."""
    rounds = []
    for _ in range(ROUNDS):
        begin = time.process_time_ns()
        for _ in range(CALLS):
            call()
        rounds.append((time.process_time_ns() - begin) / CALLS / 1000)
    return min(rounds)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        torch.set_num_threads(1)
        dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
        tensor = torch.ones(16)
        calls: dict[str, Callable[[], object]] = {
            "synchronous": lambda: dist.all_reduce(tensor),
            "asynchronous": lambda: dist.all_reduce(tensor, async_op=True).wait(),
        }
        bare = {name: cpu_us(call) for name, call in calls.items()}
        os.environ["HOCKET_COLLECT"] = folder
        collector.arm()
        with_collector = {name: cpu_us(call) for name, call in calls.items()}
        print(f"all_reduce of 64 B, gloo, 1 rank, CPU us a call, best of {ROUNDS} rounds of {CALLS}")
        print(f"{'':14}{'bare':>10}{'collected':>12}{'difference':>12}")
        for name in calls:
            difference = with_collector[name] - bare[name]
            print(f"{name:14}{bare[name]:10.2f}{with_collector[name]:12.2f}{difference:12.2f}")
        os._exit(0)  # the exit would merge 42,000 collectives that nobody asked for


if __name__ == "__main__":
    main()
