"""CPU time that the collector adds to a collective: one gloo rank, all_reduce of 16 floats, with and without it.

Run: `python -m hocket.bench.collector_overhead`. Goal: at most 10 us beyond an uninstrumented run. A process with the
collector and one without take turns, so that a busy machine disturbs both alike; the best round of each counts.
"""

import os
import tempfile
import time
from collections.abc import Callable
from multiprocessing import get_context
from multiprocessing.connection import Connection

import torch
import torch.distributed as dist

ROUNDS = 150
CALLS = 200


def worker(pipe: Connection, folder: str) -> None:
    """Times a round of calls for each message; collects when `folder` is not empty."""
    if folder:
        os.environ["HOCKET_COLLECT"] = folder
        from hocket.plugin import autoload

        autoload.arm()
    torch.set_num_threads(1)
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    tensor = torch.ones(16)
    calls: dict[str, Callable[[], object]] = {
        "synchronous": lambda: dist.all_reduce(tensor),
        "asynchronous": lambda: dist.all_reduce(tensor, async_op=True).wait(),
    }
    while (name := pipe.recv()) is not None:
        call = calls[name]
        begin = time.process_time_ns()
        for _ in range(CALLS):
            call()
        pipe.send((time.process_time_ns() - begin) / CALLS / 1000)
    os._exit(0)  # the exit would merge calls that nobody asked for


def main() -> None:
    context = get_context("spawn")
    with tempfile.TemporaryDirectory() as folder:
        pipes = []
        for argument in ("", folder):
            pipe, end = context.Pipe()
            context.Process(target=worker, args=(end, argument)).start()
            pipes.append(pipe)
        print(f"all_reduce of 64 B, gloo, 1 rank, CPU us a call of all threads, best of {ROUNDS} rounds of {CALLS}")
        print(f"{'':14}{'bare':>10}{'collected':>12}{'difference':>12}")
        for name in ("synchronous", "asynchronous"):
            rounds = [[timed(pipe, name) for pipe in pipes] for _ in range(ROUNDS)]
            bare, collected = map(min, zip(*rounds, strict=True))
            print(f"{name:14}{bare:10.2f}{collected:12.2f}{collected - bare:12.2f}")
        for pipe in pipes:
            pipe.send(None)


def timed(pipe: Connection, name: str) -> float:
    """CPU us a call of one round in the worker."""
    pipe.send(name)
    return float(pipe.recv())


if __name__ == "__main__":
    main()
