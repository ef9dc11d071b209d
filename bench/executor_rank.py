"""One rank of `hocket.bench.executor`: `python -m hocket.bench.executor_rank PROGRAMS KIND:BYTES...`.

Rank 0 prints a JSON list with two rows of each call, the stock algorithm and the program, as a `Cost` each.
"""

import json
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from statistics import median

import torch
import torch.distributed as dist

import hocket.plugin
from hocket.bench.command_line import command_line
from hocket.schedule import Kind

#: Calls each way at each size: at most so many, and for at most so many seconds.
CALLS = 200
SECONDS = 8.0


@dataclass(frozen=True)
class Cost:
    """Seconds of a call. Wall time is of the slowest rank, processor time of all ranks together."""

    best: float
    middle: float
    processor: float


def calls_of(kind: Kind, size: int) -> dict[str, Callable[[], object]]:
    """The collective on a rank's larger buffer of `size` bytes, of floats: `stock` asks gloo's group itself, `program`
    is what a training script calls."""
    gloo = dist.group.WORLD._get_backend(torch.device("cpu"))
    ranks, count = dist.get_world_size(), size // 4
    whole, share, other = torch.ones(count), torch.ones(count // ranks), torch.ones(count)
    calls: dict[Kind, tuple[Callable[[], object], Callable[[], object]]] = {
        Kind.ALL_REDUCE: (lambda: gloo.allreduce([whole]).wait(), lambda: dist.all_reduce(whole)),
        Kind.ALL_GATHER: (
            lambda: gloo._allgather_base(whole, share).wait(),
            lambda: dist.all_gather_into_tensor(whole, share),
        ),
        Kind.REDUCE_SCATTER: (
            lambda: gloo._reduce_scatter_base(share, whole).wait(),
            lambda: dist.reduce_scatter_tensor(share, whole),
        ),
        Kind.BROADCAST: (lambda: gloo.broadcast([whole]).wait(), lambda: dist.broadcast(whole, 0)),
        Kind.ALL_TO_ALL: (
            lambda: gloo.alltoall_base(other, whole, [], []).wait(),
            lambda: dist.all_to_all_single(other, whole),
        ),
    }
    return dict(zip(("stock", "program"), calls[kind], strict=True))


def timed(call: Callable[[], object]) -> tuple[float, float]:
    """Wall and processor seconds of one call, as a `Cost` counts them."""
    gloo = dist.group.WORLD._get_backend(torch.device("cpu"))
    gloo.barrier().wait()
    begin, used = time.perf_counter(), time.process_time()
    call()
    wall = torch.tensor([time.perf_counter() - begin])
    gloo.barrier().wait()  # a rank still works for the others after its own call has returned
    processor = torch.tensor([time.process_time() - used])
    options = dist.AllreduceOptions()
    options.reduceOp = dist.ReduceOp.MAX
    gloo.allreduce([wall], options).wait()
    gloo.allreduce([processor]).wait()
    return wall.item(), processor.item()


def compare(kind: Kind, size: int) -> dict[str, dict[str, float]]:
    """Both in turn, call by call, so that other load on the machine meets both alike."""
    call_of = calls_of(kind, size)
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in call_of}
    for call in call_of.values():
        call()
    spent = 0.0
    while len(found["stock"]) < CALLS and spent < SECONDS:
        for name, call in call_of.items():
            found[name].append(timed(call))
            spent += found[name][-1][0]
    costs = {}
    for name, calls in found.items():
        walls, processors = zip(*calls, strict=True)
        costs[name] = asdict(Cost(min(walls), median(walls), median(processors)))
    return costs


def main(programs: str, calls: list[tuple[Kind, int]]) -> None:
    dist.init_process_group("gloo")
    hocket.plugin.use(programs)
    costs = [compare(*call) for call in calls]
    if dist.get_rank() == 0:
        print(json.dumps(costs))
    dist.destroy_process_group()


if __name__ == "__main__":
    parser = command_line()
    parser.add_argument("programs", metavar="PROGRAMS", help="bundle or folder of programs")
    parser.add_argument("calls", metavar="KIND:BYTES", nargs="+")
    arguments = parser.parse_args()
    pairs = (text.split(":") for text in arguments.calls)
    main(arguments.programs, [(Kind(kind), int(size)) for kind, size in pairs])
