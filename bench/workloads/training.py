"""Small distributed training loops, one a parallelism."""

from collections.abc import Callable

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.pipelining import PipelineStage, Schedule1F1B, ScheduleInterleaved1F1B, schedules
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, SequenceParallel, parallelize_module
from torch.nn import functional
from torch.nn.parallel import DistributedDataParallel

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


class AllOf:
    """What `schedules._batch_p2p` of new versions of PyTorch gives: a batch of messages, waited for as a whole."""

    def __init__(self, messages: list[dist.P2POp], description: str = "", desc: str = "") -> None:
        self._works = dist.batch_isend_irecv(messages) if messages else []

    def __bool__(self) -> bool:
        return bool(self._works)

    def wait(self) -> None:
        for work in self._works:
            work.wait()


if IS_OLD:  # they wait for the last message only, which is NCCL's way: on gloo pipelines hang
    schedules._batch_p2p = AllOf


def mlp() -> nn.Sequential:
    """64 x 128 + 128 and 128 x 64 + 64 floats: 66,304 bytes of parameters."""
    return nn.Sequential(nn.Linear(WIDTH, 2 * WIDTH), nn.GELU(), nn.Linear(2 * WIDTH, WIDTH))


class Attention(nn.Module):  # type: ignore[misc]  # mypy does not follow torch
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


def ring_attention() -> Step:
    """Context parallelism: keys and values go around. `context_parallel` itself knows no attention of CPUs; what it
    calls does."""
    from torch.distributed.tensor.experimental import _attention

    if not hasattr(_attention, "_templated_ring_attention"):
        from torch.distributed.tensor.experimental._context_parallel import _attention
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    attention = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu
    _attention._cp_options.enable_load_balance = False

    def step() -> None:
        part = torch.ones(1, 4, 8, WIDTH // 4)
        for method in _attention._RotateMethod:
            _attention._cp_options.rotate_method = method
            _attention._templated_ring_attention(mesh.get_group(), 2, attention, part, part, part, is_causal=True)

    return step
