"""Small distributed training loops, one a parallelism: run under torchrun, they count what PyTorch's profiler sees.

    torchrun ... workloads.py COUNTS_FOLDER

Workload number i runs twice unmeasured in step 1 + 2 i, then once in step 2 + 2 i; `counts.<rank>.json` in the folder
tells how often the profiler saw each `c10d::` operation there.
"""

import json
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as functional_collectives
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.pipelining import PipelineStage, Schedule1F1B
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
from torch.nn import functional
from torch.nn.parallel import DistributedDataParallel

from hocket import collect

Step = Callable[[], None]
WIDTH = 64


def mlp() -> nn.Sequential:
    """64 x 128 + 128 and 128 x 64 + 64 floats: 66,304 bytes of parameters."""
    return nn.Sequential(nn.Linear(WIDTH, 2 * WIDTH), nn.GELU(), nn.Linear(2 * WIDTH, WIDTH))


def train(model: nn.Module) -> Step:
    optimizer = torch.optim.SGD(model.parameters(), 0.1)

    def step() -> None:
        optimizer.zero_grad()
        model(torch.ones(8, WIDTH)).pow(2).mean().backward()
        optimizer.step()

    return step


def ddp() -> Step:
    return train(DistributedDataParallel(mlp()))


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


def tensor_parallel() -> Step:
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    return train(parallelize_module(mlp(), mesh, {"0": ColwiseParallel(), "2": RowwiseParallel()}))


def pipeline() -> Step:
    rank, world = dist.get_rank(), dist.get_world_size()
    stage = PipelineStage(nn.Linear(WIDTH, WIDTH), rank, world, torch.device("cpu"))
    schedule = Schedule1F1B(stage, n_microbatches=4, loss_fn=functional.mse_loss)

    def step() -> None:
        if rank == 0:
            schedule.step(torch.ones(16, WIDTH))
        elif rank == world - 1:
            schedule.step(target=torch.ones(16, WIDTH), losses=[])
        else:
            schedule.step()

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

    return step


def every_operation() -> Step:
    rank, world = dist.get_rank(), dist.get_world_size()
    halves = [dist.new_group([0, 1], group_desc="low"), dist.new_group([2, 3], group_desc="high")]
    half = halves[rank // 2]
    after, before = (rank + 1) % world, (rank - 1) % world

    def step() -> None:
        vector = torch.ones(1000)
        dist.all_reduce(vector)
        work = dist.all_reduce(vector, op=dist.ReduceOp.MAX, async_op=True)
        torch.ones(200, 200) @ torch.ones(200, 200)
        work.wait()
        dist.all_reduce(vector, group=half)
        dist.all_reduce_coalesced([torch.ones(8), torch.ones(16)])
        dist.broadcast(vector, src=1)
        dist.broadcast(vector, src=dist.get_global_rank(half, 1), group=half)
        dist.reduce(vector, dst=3)
        dist.all_gather([torch.empty(100) for _ in range(world)], torch.ones(100))
        dist.all_gather_into_tensor(torch.empty(world * 100), torch.ones(100))
        dist.reduce_scatter(torch.empty(100), [torch.ones(100) for _ in range(world)])
        dist.reduce_scatter_tensor(torch.empty(100), torch.ones(world * 100))
        dist.gather(torch.ones(10), [torch.empty(10) for _ in range(world)] if rank == 0 else None, dst=0)
        dist.scatter(torch.empty(10), [torch.ones(10) for _ in range(world)] if rank == 2 else None, src=2)
        dist.all_to_all_single(torch.empty(8), torch.ones(8))
        dist.all_to_all_single(torch.empty(4 * (1, 2, 3, 3)[rank]), torch.ones(9), *splits(rank, world))
        dist.barrier()
        dist.monitored_barrier()
        dist.broadcast_object_list([{"a": 1}, "b"], src=0)
        dist.all_gather_object([None] * world, {"rank": rank})
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


WORKLOADS = [ddp, fsdp2, hybrid_fsdp2, tensor_parallel, pipeline, functional_collective, every_operation]


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
