"""Programs that call collectives themselves: functional ones, compiled ones, several backends, every operation."""

import os
from collections import Counter
from collections.abc import Callable

import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as functional_collectives
from torch import nn
from torch.distributed.device_mesh import init_device_mesh

from hocket.bench.workloads.training import WIDTH, Step

# The default of torch.compile, inductor, needs a minute and a C++ compiler.
COMPILER = os.environ.get("WORKLOADS_COMPILER", "aot_eager")

# Calls of this process that raised: the profiler counts them, but they never took place.
refused: Counter[str] = Counter()


def mixture_of_experts() -> Step:
    """Tokens go to their experts and back; rank r has 1 + (r + e) % 3 of them for expert e."""
    rank, world = dist.get_rank(), dist.get_world_size()
    expert = nn.Linear(WIDTH, WIDTH)
    sent = [1 + (rank + other) % 3 for other in range(world)]  # as many as come: r and e may change places

    def step() -> None:
        counts = torch.empty(world, dtype=torch.int64)
        dist.all_to_all_single(counts, torch.tensor(sent))
        arrived = torch.empty(int(counts.sum()), WIDTH)
        dist.all_to_all_single(arrived, torch.ones(sum(sent), WIDTH), counts.tolist(), sent)
        dist.all_to_all_single(torch.empty(sum(sent), WIDTH), expert(arrived).detach(), sent, counts.tolist())

    return step


def compiled() -> Step:
    layer = nn.Linear(WIDTH, WIDTH)

    def forward(tokens: torch.Tensor) -> torch.Tensor:
        reduced = functional_collectives.all_reduce(layer(tokens).relu(), "sum", dist.group.WORLD)
        return functional_collectives.all_gather_tensor(reduced.sin(), 0, dist.group.WORLD)

    fast = torch.compile(forward, backend=COMPILER)

    def step() -> None:
        with torch.no_grad():
            fast(torch.ones(8, WIDTH))

    return step


def functional_collective() -> Step:
    mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("rows", "columns"))

    def step() -> None:
        ones = torch.ones(128, 4)
        reduced = functional_collectives.all_reduce(ones, "sum", mesh["rows"])
        overlapped = ones @ ones.T
        gathered = functional_collectives.all_gather_tensor(reduced + 1, 0, mesh["columns"])
        functional_collectives.reduce_scatter_tensor(gathered, "sum", 0, mesh["columns"]).sum()
        functional_collectives.all_to_all_single(overlapped, None, None, dist.group.WORLD).sum()
        functional_collectives.broadcast(ones, 0, dist.group.WORLD).sum()
        parts = functional_collectives.all_reduce_coalesced([ones, ones[:2]], "sum", dist.group.WORLD)
        (parts[0].sum() + parts[1].sum()).item()

    return step


def every_operation() -> Step:
    rank, world = dist.get_rank(), dist.get_world_size()
    halves = [dist.new_group([0, 1], group_desc="low"), dist.new_group([2, 3], group_desc="high")]
    half = halves[rank // 2]
    rows, _ = dist.new_subgroups(2, group_desc="low")  # members and description are not a group's own
    gloo = dist.new_group(backend="gloo")  # PyTorch 2.4 asks for it by name
    after, before = (rank + 1) % world, (rank - 1) % world
    lists: list[Callable[[], object]] = [
        lambda: dist.reduce_scatter(torch.empty(100), [torch.ones(100) for _ in range(world)]),
        lambda: dist.all_to_all([torch.empty(5) for _ in range(world)], [torch.ones(5) for _ in range(world)]),
    ]
    listed = [call for call in lists if offered(call)]

    def step() -> None:
        vector = torch.ones(1000)
        dist.all_reduce(vector)
        work = dist.all_reduce(vector, op=dist.ReduceOp.MAX, async_op=True)
        torch.ones(200, 200) @ torch.ones(200, 200)
        work.wait()
        dist.all_reduce(vector, group=half)
        dist.all_reduce_coalesced([torch.ones(8), torch.ones(16)])
        with dist._coalescing_manager(async_ops=True) as coalesced:
            for _ in range(3):
                dist.all_reduce(torch.ones(50))
        coalesced.wait()
        dist.all_reduce(torch.ones(4).bfloat16(), op=dist.ReduceOp.MIN, group=rows)
        dist.broadcast(vector, src=1)
        dist.broadcast(vector, src=dist.get_global_rank(half, 1), group=half)
        dist.reduce(vector, dst=3)
        dist.all_gather([torch.empty(100) for _ in range(world)], torch.ones(100))
        dist.all_gather_into_tensor(torch.empty(world * 100), torch.ones(100))
        for call in listed:
            call()
        dist.reduce_scatter_tensor(torch.empty(100), torch.ones(world * 100))
        dist.gather(torch.ones(10), [torch.empty(10) for _ in range(world)] if rank == 0 else None, dst=0)
        dist.scatter(torch.empty(10), [torch.ones(10) for _ in range(world)] if rank == 2 else None, src=2)
        dist.all_to_all_single(torch.empty(8), torch.ones(8))
        dist.all_to_all_single(torch.empty(4 * (1, 2, 3, 3)[rank]), torch.ones(9), *splits(rank, world))
        dist.barrier()
        dist.monitored_barrier(gloo)
        dist.broadcast_object_list([{"a": 1}, "b"], src=0)
        dist.all_gather_object([None] * world, {"rank": rank})
        dist.gather_object({"rank": rank}, [None] * world if rank == 1 else None, dst=1)
        dist.scatter_object_list([None], ["text"] * world if rank == 0 else None, src=0)
        operations = [dist.P2POp(dist.isend, vector, after), dist.P2POp(dist.irecv, torch.empty(1000), before)]
        for work in dist.batch_isend_irecv(operations):
            work.wait()
        send = dist.isend(torch.ones(32), after, tag=5)
        dist.recv(torch.empty(32), tag=5)
        send.wait()
        other = dist.get_global_rank(half, 1 - dist.get_rank(half))
        requests = [dist.isend(torch.ones(4), other, group=half), dist.irecv(torch.empty(4), other, group=half)]
        for request in requests:
            request.wait()

    return step


def splits(rank: int, world: int) -> tuple[list[int], list[int]]:
    """Rank r sends 1, 2 and 3 elements to ranks 0, 1, 2 and 3 to rank 3, so that it receives more with its number."""
    sends = [1, 2, 3, 3]
    return [sends[rank]] * world, sends


def offered(call: Callable[[], object]) -> bool:
    """Whether this PyTorch's gloo has a collective: what it has not it refuses before anything is sent."""
    try:
        call()
    except RuntimeError:
        return False
    return True


def several_backends() -> Step:
    """Groups whose backends are named otherwise than the job's."""
    groups = [dist.new_group(backend=backend) for backend in ("gloo", "cpu:gloo,cuda:gloo")]
    low = dist.new_group([0, 1], backend="cpu:gloo,cuda:gloo")

    def step() -> None:
        for group in groups:
            dist.all_reduce(torch.ones(16), group=group)
            dist.all_gather_into_tensor(torch.empty(64), torch.ones(16), group=group)
            dist.all_reduce(torch.ones(8), group=group, async_op=True).wait()
            dist.barrier(group=group)
        if dist.get_rank() in (0, 1):
            dist.all_reduce(torch.ones(4), group=low)

    return step


def reductions() -> Step:
    """Every reduction that gloo has, and a call that it refuses."""
    kinds = [dist.ReduceOp.PRODUCT, dist.ReduceOp.BAND, dist.ReduceOp.BOR, dist.ReduceOp.BXOR]
    averages = offered(lambda: dist.all_reduce(torch.ones(4), op=dist.ReduceOp.AVG))

    def step() -> None:
        for kind in kinds:
            dist.all_reduce(torch.ones(4, dtype=torch.int64), op=kind)
        if averages:
            dist.all_reduce(torch.ones(4), op=dist.ReduceOp.AVG)
        try:
            dist.all_gather([torch.empty(3) for _ in range(4)], torch.ones(4))
        except RuntimeError:  # 4 elements do not fit
            refused["c10d::allgather_"] += 1

    return step
