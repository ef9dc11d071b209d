"""Small distributed training loops, one a parallelism: run under torchrun, they count what PyTorch's profiler sees.

    torchrun ... workloads.py COUNTS_FOLDER

Workload number i runs twice unmeasured in step 1 + 2 i, then once in step 2 + 2 i; `counts.<rank>.json` in the folder
tells how often the profiler saw each `c10d::` operation there.
"""

import json
import os
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as functional_collectives
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.pipelining import PipelineStage, Schedule1F1B, ScheduleInterleaved1F1B
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, SequenceParallel, parallelize_module
from torch.nn import functional
from torch.nn.parallel import DistributedDataParallel

from hocket import collect

try:
    from torch.distributed.fsdp import FullyShardedDataParallel, ShardingStrategy, fully_shard
    from torch.distributed.tensor import Shard
except ImportError:  # PyTorch 2.4 and 2.5
    from torch.distributed._composable.fsdp import fully_shard
    from torch.distributed._tensor import Shard
    from torch.distributed.fsdp import FullyShardedDataParallel, ShardingStrategy

Step = Callable[[], None]
WIDTH = 64

IS_OLD = torch.__version__ < "2.7"

# The default of torch.compile, inductor, needs a minute and a C++ compiler.
COMPILER = os.environ.get("WORKLOADS_COMPILER", "aot_eager")


def mlp() -> nn.Sequential:
    """64 x 128 + 128 and 128 x 64 + 64 floats: 66,304 bytes of parameters."""
    return nn.Sequential(nn.Linear(WIDTH, 2 * WIDTH), nn.GELU(), nn.Linear(2 * WIDTH, WIDTH))


class Attention(nn.Module):
    """Causal attention of 4 heads, a residual connection around it."""

    def __init__(self) -> None:
        super().__init__()
        self.project = nn.Linear(WIDTH, 3 * WIDTH)
        self.join = nn.Linear(WIDTH, WIDTH)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        query, key, value = (part.unflatten(-1, (4, -1)).transpose(0, 1) for part in self.project(tokens).chunk(3, -1))
        attended = functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        return tokens + self.join(attended.transpose(0, 1).flatten(1))


def transformer() -> nn.Sequential:
    return nn.Sequential(Attention(), mlp(), Attention(), mlp())


def train(model: nn.Module, *shape: int) -> Step:
    """A training step on an input of `shape`, 8 tokens of WIDTH when absent."""
    optimizer = torch.optim.SGD(model.parameters(), 0.1)

    def step() -> None:
        optimizer.zero_grad()
        model(torch.ones(shape or (8, WIDTH))).pow(2).mean().backward()
        optimizer.step()

    return step


def ddp() -> Step:
    return train(DistributedDataParallel(mlp()))


def ddp_in_buckets() -> Step:
    model = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 16, 3, padding=1), nn.Flatten())
    model.append(nn.Linear(16 * 8 * 8, 10))
    return train(DistributedDataParallel(model, bucket_cap_mb=0.02), 4, 3, 8, 8)


def ddp_transformer() -> Step:
    return train(DistributedDataParallel(transformer()))


def fsdp2() -> Step:
    model = mlp()
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    for layer in (model[0], model[2]):
        fully_shard(layer, mesh=mesh)
    fully_shard(model, mesh=mesh)
    return train(model)


def hybrid_fsdp2() -> Step:
    model = mlp()
    fully_shard(model, mesh=init_device_mesh("cpu", (2, 2), mesh_dim_names=("replicate", "shard")))
    return train(model)


def fsdp1() -> Step:
    return train(FullyShardedDataParallel(transformer(), device_id=torch.device("cpu")))


def hybrid_fsdp1() -> Step:
    mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("replicate", "shard"))
    strategy = ShardingStrategy.HYBRID_SHARD
    return train(FullyShardedDataParallel(mlp(), None, strategy, device_id=torch.device("cpu"), device_mesh=mesh))


def tensor_parallel() -> Step:
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    return train(parallelize_module(mlp(), mesh, {"0": ColwiseParallel(), "2": RowwiseParallel()}))


def sequence_parallel() -> Step:
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    plan = {
        "1": SequenceParallel(),
        "2": ColwiseParallel(input_layouts=Shard(1)),
        "4": RowwiseParallel(output_layouts=Shard(1)),
    }
    model = parallelize_module(nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.LayerNorm(WIDTH), *mlp()), mesh, plan)
    return train(model, 2, 4, WIDTH)


def microbatch() -> torch.Tensor:
    """A quarter of the batch: PyTorch 2.4 asks for an example."""
    return torch.ones(4, WIDTH)


def pipeline() -> Step:
    stage = PipelineStage(
        nn.Linear(WIDTH, WIDTH), dist.get_rank(), dist.get_world_size(), torch.device("cpu"), microbatch()
    )
    return run_schedule(Schedule1F1B(stage, n_microbatches=4, loss_fn=functional.mse_loss))


def interleaved_pipeline() -> Step:
    rank, world = dist.get_rank(), dist.get_world_size()
    stages = [
        PipelineStage(nn.Linear(WIDTH, WIDTH), number, 2 * world, torch.device("cpu"), microbatch())
        for number in (rank, rank + world)
    ]
    return run_schedule(ScheduleInterleaved1F1B(stages, n_microbatches=4, loss_fn=functional.mse_loss))


def run_schedule(schedule: Schedule1F1B | ScheduleInterleaved1F1B) -> Step:
    rank, world = dist.get_rank(), dist.get_world_size()

    def step() -> None:
        if rank == 0:
            schedule.step(torch.ones(16, WIDTH))
        elif rank == world - 1:
            schedule.step(target=torch.ones(16, WIDTH), losses=[])
        else:
            schedule.step()

    return step


def pipeline_by_hand() -> Step:
    rank, world = dist.get_rank(), dist.get_world_size()
    layer = nn.Linear(WIDTH, WIDTH)

    def step() -> None:
        tokens = torch.ones(8, WIDTH)
        if rank > 0:
            dist.recv(tokens, rank - 1, tag=7)
        activations = layer(tokens).detach()
        if rank < world - 1:
            dist.send(activations, rank + 1, tag=7)

    return step


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
    after, before = (rank + 1) % world, (rank - 1) % world

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
        if not IS_OLD:  # gloo has neither there
            dist.reduce_scatter(torch.empty(100), [torch.ones(100) for _ in range(world)])
            dist.all_to_all([torch.empty(5) for _ in range(world)], [torch.ones(5) for _ in range(world)])
        dist.reduce_scatter_tensor(torch.empty(100), torch.ones(world * 100))
        dist.gather(torch.ones(10), [torch.empty(10) for _ in range(world)] if rank == 0 else None, dst=0)
        dist.scatter(torch.empty(10), [torch.ones(10) for _ in range(world)] if rank == 2 else None, src=2)
        dist.all_to_all_single(torch.empty(8), torch.ones(8))
        dist.all_to_all_single(torch.empty(4 * (1, 2, 3, 3)[rank]), torch.ones(9), *splits(rank, world))
        dist.barrier()
        dist.monitored_barrier()
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


# The first run on CPU with old versions of PyTorch, the second with new ones.
FULLY_SHARDED = [fsdp1, hybrid_fsdp1] if IS_OLD else [fsdp2, hybrid_fsdp2]

WORKLOADS = [
    ddp,
    ddp_in_buckets,
    ddp_transformer,
    *FULLY_SHARDED,
    tensor_parallel,
    sequence_parallel,
    pipeline,
    interleaved_pipeline,
    pipeline_by_hand,
    mixture_of_experts,
    functional_collective,
    compiled,
    every_operation,
]


def main(folder: Path) -> None:
    torch.set_num_threads(1)
    torch.manual_seed(0)
    collect.step()
    dist.init_process_group("gloo")
    counts = {}
    for workload in WORKLOADS:
        step = workload()
        step()
        step()
        collect.step()
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
            step()
        collect.step()
        counts[workload.__name__] = Counter(event.name for event in profile.events() if event.name.startswith("c10d::"))
    (folder / f"counts.{dist.get_rank()}.json").write_text(json.dumps(counts))
    dist.destroy_process_group()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
