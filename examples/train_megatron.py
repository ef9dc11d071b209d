"""Trains a small language model on CPU processes (gloo) in the way of Megatron-LM: tensor, pipeline and data parallel.

    torchrun --nproc-per-node 8 examples/train_megatron.py --tensor 2 --pipeline 2

Linear layers are split over the ranks of a tensor-parallel group; where their input's gradient is summed, the weight's
is computed meanwhile. Micro-batches go through the stages one forward, one backward, in batches of messages. The last
backward pass sums gradients, bucket by bucket as they are done, each data-parallel rank getting its part, which it
optimizes; then all gather the weights. Any division of the ranks learns the same. It knows nothing of Hocket.
"""

import argparse
from collections import deque
from dataclasses import dataclass
from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional

VOCABULARY, WIDTH, HEADS, LAYERS, TOKENS, BATCH = 32, 32, 4, 4, 16, 2
MICRO_BATCHES = 8  # of all ranks, a step
BUCKET = 8192  # parameters


@dataclass(frozen=True)
class Groups:
    """This rank's groups, called as Megatron-LM calls them."""

    tensor: dist.ProcessGroup
    data: dist.ProcessGroup
    pipeline: dist.ProcessGroup


def make_groups(tensor: int, pipeline: int) -> Groups:
    """Tensor-parallel ranks are neighbours, the stages of a pipeline lie furthest apart."""
    places = torch.arange(dist.get_world_size()).view(pipeline, -1, tensor)
    names = {2: "TENSOR_MODEL_PARALLEL_GROUP", 1: "DATA_PARALLEL_GROUP", 0: "PIPELINE_MODEL_PARALLEL_GROUP"}
    own = []
    for axis, name in names.items():
        for ranks in places.movedim(axis, -1).reshape(-1, places.shape[axis]).tolist():
            group = dist.new_group(ranks, group_desc=name)  # every rank makes all of them
            if dist.get_rank() in ranks:
                own.append(group)
    return Groups(*own)


class _ColumnParallel(torch.autograd.Function):  # type: ignore[misc]  # mypy does not follow torch
    """A linear layer whose outputs are divided among the ranks."""

    @staticmethod
    def forward(ctx: Any, values: torch.Tensor, weight: torch.Tensor, group: dist.ProcessGroup) -> torch.Tensor:
        ctx.save_for_backward(values, weight)
        ctx.group = group
        return values @ weight.T

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, None]:
        values, weight = ctx.saved_tensors
        of_values = gradient @ weight
        summing = dist.all_reduce(of_values, group=ctx.group, async_op=True)
        of_weight = gradient.flatten(0, -2).T @ values.flatten(0, -2)
        summing.wait()
        return of_values, of_weight, None


class _SummedOverRanks(torch.autograd.Function):  # type: ignore[misc]
    """The output of a linear layer whose inputs are divided among the ranks."""

    @staticmethod
    def forward(ctx: Any, part: torch.Tensor, group: dist.ProcessGroup) -> torch.Tensor:
        total = part.clone()
        dist.all_reduce(total, group=group)
        return total

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor, None]:
        return gradient, None


def _own_part(weight: torch.Tensor, axis: int, group: dist.ProcessGroup) -> nn.Parameter:
    """This rank's part of a weight, which all ranks have made alike."""
    return nn.Parameter(weight.chunk(group.size(), axis)[group.rank()].clone())


class Block(nn.Module):  # type: ignore[misc]
    """Attention and a multilayer perceptron, each split over the tensor-parallel ranks: by heads, by hidden units."""

    def __init__(self, number: int, group: dist.ProcessGroup) -> None:
        super().__init__()
        self.group = group
        made = torch.Generator().manual_seed(number)
        self.norms = nn.ModuleList([nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)])
        query_key_value = torch.randn(HEADS, 3 * WIDTH // HEADS, WIDTH, generator=made) / WIDTH**0.5
        self.project = _own_part(query_key_value, 0, group)
        self.join = _own_part(torch.randn(WIDTH, WIDTH, generator=made) / WIDTH**0.5, 1, group)
        self.widen = _own_part(torch.randn(4 * WIDTH, WIDTH, generator=made) / WIDTH**0.5, 0, group)
        self.narrow = _own_part(torch.randn(WIDTH, 4 * WIDTH, generator=made) / (2 * WIDTH**0.5), 1, group)

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        projected = _ColumnParallel.apply(self.norms[0](hidden), self.project.flatten(0, 1), self.group)
        heads = projected.unflatten(-1, (len(self.project), -1)).transpose(1, 2)
        attended = functional.scaled_dot_product_attention(*heads.chunk(3, -1), is_causal=True)
        hidden = hidden + _SummedOverRanks.apply(attended.transpose(1, 2).flatten(2) @ self.join.T, self.group)
        inner = functional.gelu(_ColumnParallel.apply(self.norms[1](hidden), self.widen, self.group))
        return hidden + _SummedOverRanks.apply(inner @ self.narrow.T, self.group)


class Stage(nn.Module):  # type: ignore[misc]
    """The layers of one stage of the pipeline; the first has the embedding, the last the head and the loss."""

    def __init__(self, groups: Groups) -> None:
        super().__init__()
        self.place, self.count = groups.pipeline.rank(), groups.pipeline.size()
        layers = LAYERS // self.count
        self.blocks = nn.Sequential(*(Block(self.place * layers + number, groups.tensor) for number in range(layers)))
        words = torch.randn(VOCABULARY, WIDTH, generator=torch.Generator().manual_seed(LAYERS))
        if self.place == 0:
            self.embedding = nn.Parameter(words)
        if self.place == self.count - 1:
            self.head = nn.Parameter(words / WIDTH)

    def forward(self, received: torch.Tensor | None, tokens: torch.Tensor) -> torch.Tensor:
        hidden = self.blocks(self.embedding[tokens[:, :-1]] if received is None else received)
        if self.place < self.count - 1:
            return hidden
        logits = hidden @ self.head.T
        return functional.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten()) / MICRO_BATCHES


class Bucket:
    """Parameters in one buffer, of which this rank optimizes a part."""

    def __init__(self, parameters: list[nn.Parameter], group: dist.ProcessGroup) -> None:
        self.group, self.last_pass, self.summing = group, False, None
        size = -(-sum(parameter.numel() for parameter in parameters) // group.size()) * group.size()
        self.values, self.gradients = torch.zeros(size), torch.zeros(size)
        begin = 0
        for parameter in parameters:
            end = begin + parameter.numel()
            self.values[begin:end] = parameter.data.flatten()
            parameter.data = self.values[begin:end].view_as(parameter)
            parameter.grad = self.gradients[begin:end].view_as(parameter)
            parameter.register_post_accumulate_grad_hook(self._count)
            begin = end
        self.count = self.left = len(parameters)
        self.own = nn.Parameter(self.values.chunk(group.size())[group.rank()])
        self.own.grad = torch.zeros_like(self.own)

    def _count(self, parameter: nn.Parameter) -> None:
        """A gradient is accumulated; behind the last of the last backward pass the sum over the ranks begins."""
        self.left -= self.last_pass
        if self.left == 0:
            self.left = self.count
            self.summing = dist.reduce_scatter_tensor(self.own.grad, self.gradients, group=self.group, async_op=True)

    def gather(self) -> dist.Work:
        """Brings together what the ranks have optimized."""
        self.gradients.zero_()
        return dist.all_gather_into_tensor(self.values, self.own.data.clone(), group=self.group, async_op=True)


def make_buckets(stage: Stage, group: dist.ProcessGroup) -> list[Bucket]:
    """The last layers first, as the backward pass comes to them."""
    buckets: list[list[nn.Parameter]] = [[]]
    for parameter in reversed(list(stage.parameters())):
        if sum(map(torch.numel, buckets[-1])) >= BUCKET:
            buckets.append([])
        buckets[-1].append(parameter)
    return [Bucket(parameters, group) for parameters in buckets]


class Pipeline:
    """One forward, one backward: the schedule of PipeDream-flush."""

    def __init__(self, stage: Stage, buckets: list[Bucket], group: dist.ProcessGroup) -> None:
        self.stage, self.buckets, self.group = stage, buckets, group
        self.held: deque[tuple[torch.Tensor | None, torch.Tensor]] = deque()

    def _exchange(self, to: int, sent: torch.Tensor | None, receives: bool, source: int) -> torch.Tensor | None:
        """Sends to a stage and receives from one, in one batch, as far as these stages are there."""
        messages, received = [], None
        if sent is not None and 0 <= to < self.stage.count:
            peer = dist.get_global_rank(self.group, to)
            messages.append(dist.P2POp(dist.isend, sent.detach().contiguous(), peer, self.group))
        if receives and 0 <= source < self.stage.count:
            received = torch.empty(BATCH, TOKENS, WIDTH)
            peer = dist.get_global_rank(self.group, source)
            messages.append(dist.P2POp(dist.irecv, received, peer, self.group))
        for work in dist.batch_isend_irecv(messages) if messages else []:
            work.wait()
        return received

    def _forward(self, received: torch.Tensor | None, tokens: torch.Tensor) -> torch.Tensor:
        made = self.stage(None if received is None else received.requires_grad_(), tokens)
        self.held.append((received, made))
        return made

    def _backward(self, gradient: torch.Tensor | None, is_last: bool) -> torch.Tensor | None:
        received, made = self.held.popleft()
        for bucket in self.buckets:
            bucket.last_pass = is_last
        made.backward(gradient)
        return None if received is None else received.grad

    def step(self, batches: list[torch.Tensor]) -> torch.Tensor:
        """Runs all micro-batches; their losses, summed, on the last stage."""
        before, behind, count = self.stage.place - 1, self.stage.place + 1, len(batches)
        ahead = min(self.stage.count - behind, count)
        loss = torch.zeros(())
        for number in range(ahead):
            made = self._forward(self._exchange(behind, None, True, before), batches[number])
            self._exchange(behind, made, False, before)
        received = self._exchange(behind, None, True, before) if ahead < count else None
        for number in range(ahead, count):
            made = self._forward(received, batches[number])
            loss += made.detach() if self.stage.place == self.stage.count - 1 else 0
            gradient = self._exchange(behind, made, True, behind)
            passed = self._backward(gradient, number - ahead == count - 1)
            received = self._exchange(before, passed, number < count - 1, before)
        for number in range(count - ahead, count):
            passed = self._backward(self._exchange(before, None, True, behind), number == count - 1)
            self._exchange(before, passed, False, behind)
        return loss


def micro_batches(step: int, group: dist.ProcessGroup) -> list[torch.Tensor]:
    """Counting sequences; a data-parallel rank has its part of the step's."""
    made = torch.Generator().manual_seed(step)
    start = torch.randint(VOCABULARY, (MICRO_BATCHES, BATCH, 1), generator=made)
    stride = torch.randint(1, 4, (MICRO_BATCHES, BATCH, 1), generator=made)
    tokens = (start + stride * torch.arange(TOKENS + 1)) % VOCABULARY
    return list(tokens.chunk(group.size())[group.rank()])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tensor", type=int, default=2, help="ranks that a layer is split over: 1, 2 or 4")
    parser.add_argument("--pipeline", type=int, default=2, help="stages: 1, 2 or 4")
    parser.add_argument("--steps", type=int, default=5)
    chosen = parser.parse_args()

    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    groups = make_groups(chosen.tensor, chosen.pipeline)
    stage = Stage(groups)
    buckets = make_buckets(stage, groups.data)
    pipeline = Pipeline(stage, buckets, groups.pipeline)
    optimizer = torch.optim.AdamW([bucket.own for bucket in buckets], lr=1e-2)
    for step in range(chosen.steps):
        loss = pipeline.step(micro_batches(step, groups.data))
        for bucket in buckets:
            assert bucket.summing is not None
            bucket.summing.wait()
        optimizer.step()
        for gathering in [bucket.gather() for bucket in buckets]:
            gathering.wait()
        if stage.place == stage.count - 1:
            dist.all_reduce(loss, group=groups.data)
            if dist.get_rank() == dist.get_world_size() - 1:
                print(f"step {step} loss {loss.item():.4f}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
