"""CPU time that the collector adds to a collective: one gloo rank, all_reduce of 16 floats.

Run: `python -m hocket.bench.collector_overhead`. Goal: at most 10 us beyond an uninstrumented run. Three processes take
turns, so that a busy machine disturbs all alike, and the best round of each counts: without the collector, with an
empty Python kernel in its place (what PyTorch charges for any: the floor), and with the collector.
"""

import os
import tempfile
import time
from collections.abc import Callable
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Any

import torch
import torch.distributed as dist

from hocket.bench.command_line import command_line

ROUNDS = 150
CALLS = 200
MODES = ("bare", "empty kernel", "collector")
DIFFERENCES = ("kernel-bare", "collector-kernel", "collector-bare")
WIDTH = 18


def install_empty_kernel() -> torch.library.Library:
    below = torch._C._dispatch_keyset_full_after(torch._C.DispatchKey.BackendSelect)
    redispatch = torch.ops.c10d.allreduce_.default._handle.redispatch_boxed

    def kernel(keyset: torch._C.DispatchKeySet, *arguments: Any) -> Any:
        return redispatch(keyset & below, *arguments)

    library = torch.library.Library("c10d", "IMPL")
    library.impl("allreduce_", kernel, "BackendSelect", with_keyset=True)
    return library


def worker(pipe: Connection, mode: str, folder: str) -> None:
    """Times a round of calls for each message it gets, in CPU us a call, all threads together."""
    if mode == "empty kernel":
        library = install_empty_kernel()  # noqa: F841 - it is in force as long as it lives
    elif mode == "collector":
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


def timed(pipe: Connection, name: str) -> float:
    pipe.send(name)
    return float(pipe.recv())


def main() -> None:
    context = get_context("spawn")
    with tempfile.TemporaryDirectory() as folder:
        pipes = []
        for mode in MODES:
            pipe, end = context.Pipe()
            context.Process(target=worker, args=(end, mode, folder)).start()
            pipes.append(pipe)
        print(f"all_reduce of 64 B, gloo, 1 rank: CPU us a call, best of {ROUNDS} rounds of {CALLS}")
        print(" " * 12 + "".join(f"{title:>{WIDTH}}" for title in (*MODES, *DIFFERENCES)))
        for name in ("synchronous", "asynchronous"):
            rounds = [[timed(pipe, name) for pipe in pipes] for _ in range(ROUNDS)]
            bare, kernel, collector = (min(column) for column in zip(*rounds, strict=True))
            columns = (bare, kernel, collector, kernel - bare, collector - kernel, collector - bare)
            print(f"{name:12}" + "".join(f"{value:{WIDTH}.2f}" for value in columns))
        for pipe in pipes:
            pipe.send(None)


if __name__ == "__main__":
    command_line().parse_args()
    main()
