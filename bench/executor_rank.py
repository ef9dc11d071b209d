"""One rank of `hocket.bench.executor`: `python -m hocket.bench.executor_rank PROGRAMS KIND:BYTES...`.

Rank 0 prints a JSON list of the seconds of each call, by the stock algorithm and by the program.
"""

import json
import sys
import time
from collections.abc import Callable

import torch
import torch.distributed as dist

import hocket.plugin
from hocket.schedule import Kind

#: Calls at each size: enough for a best one, and for at most so many seconds.
CALLS = 10
SECONDS = 3.0


def call_of(kind: Kind, size: int) -> Callable[[], object]:
    """The collective on a rank's larger buffer of `size` bytes, of floats."""
    ranks, count = dist.get_world_size(), size // 4
    whole, share = torch.ones(count), torch.ones(count // ranks)
    calls: dict[Kind, Callable[[], object]] = {
        Kind.ALL_REDUCE: lambda: dist.all_reduce(whole),
        Kind.ALL_GATHER: lambda: dist.all_gather_into_tensor(whole, share),
        Kind.REDUCE_SCATTER: lambda: dist.reduce_scatter_tensor(share, whole),
        Kind.BROADCAST: lambda: dist.broadcast(whole, 0),
        Kind.ALL_TO_ALL: lambda: dist.all_to_all_single(torch.empty_like(whole), whole),
    }
    return calls[kind]


def best(call: Callable[[], object]) -> float:
    """Seconds of the quickest call, each as long as its slowest rank."""
    call()
    slowest: list[float] = []
    while len(slowest) < CALLS and sum(slowest) < SECONDS:
        dist.barrier()
        begin = time.perf_counter()
        call()
        elapsed = torch.tensor([time.perf_counter() - begin])
        dist.all_reduce(elapsed, dist.ReduceOp.MAX)
        slowest.append(elapsed.item())
    return min(slowest)


def main(programs: str, calls: list[tuple[Kind, int]]) -> None:
    dist.init_process_group("gloo")
    stock = [best(call_of(*call)) for call in calls]
    hocket.plugin.use(programs)
    ours = [best(call_of(*call)) for call in calls]
    if dist.get_rank() == 0:
        print(json.dumps([{"stock": left, "program": right} for left, right in zip(stock, ours, strict=True)]))
    dist.destroy_process_group()


if __name__ == "__main__":
    pairs = (text.split(":") for text in sys.argv[2:])
    main(sys.argv[1], [(Kind(kind), int(size)) for kind, size in pairs])
