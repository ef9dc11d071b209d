"""What all ranks of a pipeline stage do in one training step."""

from collections.abc import Iterator

from hocket.chakra.trace import Trace
from hocket.workload.llm.blocks import LayerPasses
from hocket.workload.llm.card import ModelCard
from hocket.workload.llm.memory import memory_of
from hocket.workload.llm.parameters import (
    embedding_parameters,
    layer_parameters,
    output_parameters,
    stage_parameters,
)
from hocket.workload.llm.pipeline import PassKind, PipelineTask, stage_tasks
from hocket.workload.llm.plan import ACTIVATION_BYTES, ParallelPlan, Recomputation
from hocket.workload.llm.ranks import Peer
from hocket.workload.llm.sharding import DataParallel, Unit
from hocket.workload.llm.tape import Tape
from hocket.workload.llm.work import Workbook

__all__ = ["stage_program"]

_FIRST_TAG = 2  # those before are ContextAttention's
_EMBEDDING, _OUTPUT = -1, -2  # in place of a layer's number


def stage_program(card: ModelCard, plan: ParallelPlan, work: Workbook, stage: int) -> Trace:
    """The trace of a stage, whose groups are the names of `Group` and whose ranks are `Peer`s."""
    return _Stage(card, plan, work, stage).trace()


def _facts(card: ModelCard, plan: ParallelPlan, stage: int) -> dict[str, object]:
    """What a step report needs to know: tokens of the step, floating-point operations that the model needs for them
    (none computed again), bytes that a rank of the stage keeps."""
    tokens = plan.global_batch * card.sequence
    return {
        "stage": stage,
        "tokens": tokens,
        "model_flops": float(3 * card.forward_flops(tokens)),  # beyond 2^63 for the largest steps
        "memory_bytes": memory_of(card, plan, stage).total,
    }


class _Stage:
    def __init__(self, card: ModelCard, plan: ParallelPlan, work: Workbook, stage: int) -> None:
        self._card, self._plan, self._work, self._stage = card, plan, work, stage
        self._tape = Tape(
            {"world_size": plan.num_ranks, "model": card.name, **work.priced_by, **_facts(card, plan, stage)}
        )
        self._blocks = LayerPasses(card, plan, work, self._tape)
        self._tasks = stage_tasks(plan.schedule, stage, plan.pp, plan.chunks, plan.micro_batches)
        self._units = {part: self._unit(part) for chunk in range(plan.chunks) for part in self._parts(chunk)}
        uses = [
            self._units[part]
            for task in self._tasks
            if task.kind is not PassKind.WEIGHT_GRADIENT
            for part in self._in_order(task)
        ]
        self._data = DataParallel(plan, self._tape, uses)
        self._message_bytes = ACTIVATION_BYTES * plan.sharded_tokens(card) * card.hidden
        self._before_previous: tuple[int, ...] = ()  # what a receive waits for: it is posted one task ahead
        self._before: tuple[int, ...] = ()

    def trace(self) -> Trace:
        for task in self._tasks:
            self._before_previous, self._before = self._before, self._tape.tail
            if task.kind is PassKind.FORWARD:
                self._forward(task)
            else:
                self._backward(task)
        ends = self._card.tied_embeddings and self._plan.pp > 1 and self._stage in (0, self._plan.pp - 1)
        embedding = self._card.output.on_rank(self._plan.tp).weights if ends else 0
        self._data.step(self._work, stage_parameters(self._card, self._plan, self._stage), embedding)
        return self._tape.build()

    def _forward(self, task: PipelineTask) -> None:
        part, parts = task.chunk * self._plan.pp + self._stage, self._plan.pp * self._plan.chunks
        if part > 0:
            self._receive(task, Peer.PREVIOUS_STAGE, part - 1, "activations")
        label = f"forward {task.micro_batch}"
        for layer in self._in_order(task):
            self._data.use()
            self._forward_part(label, layer)
        if part < parts - 1:
            self._send(task, Peer.NEXT_STAGE, part, "activations")

    def _forward_part(self, label: str, layer: int) -> None:
        if layer == _EMBEDDING:
            self._blocks.forward_embedding(label)
        elif layer == _OUTPUT:
            self._blocks.forward_output(label)
        else:
            self._blocks.forward(f"{label} layer {layer}", layer)

    def _backward(self, task: PipelineTask) -> None:
        inputs, weights = task.kind is not PassKind.WEIGHT_GRADIENT, task.kind is not PassKind.INPUT_GRADIENT
        part, parts = task.chunk * self._plan.pp + self._stage, self._plan.pp * self._plan.chunks
        if inputs and part < parts - 1:
            self._receive(task, Peer.NEXT_STAGE, parts + part + 1, "gradients")
        label = f"{'backward' if inputs else 'weights'} {task.micro_batch}"
        last = task.micro_batch == self._plan.micro_batches - 1
        for layer in self._in_order(task):
            if inputs:
                self._data.use()
            self._backward_part(label, layer, inputs, weights)
            if weights:
                self._data.add_gradients(self._units[layer], last)
        if weights:
            self._data.close_buckets(last)
        if inputs and part > 0:
            self._send(task, Peer.PREVIOUS_STAGE, parts + part, "gradients")

    def _backward_part(self, label: str, layer: int, inputs: bool, weights: bool) -> None:
        if layer == _EMBEDDING:
            if weights:
                self._blocks.backward_embedding(label)
        elif layer == _OUTPUT:
            self._blocks.backward_output(label, inputs, weights)
        else:
            name = f"{label} layer {layer}"
            if inputs and self._plan.recomputation is Recomputation.FULL:
                self._blocks.forward(f"{name} again", layer)
            self._blocks.backward(name, layer, inputs, weights)

    def _parts(self, chunk: int) -> Iterator[int]:
        """A chunk's layers, and the embedding and the output at the ends of the model, in forward order."""
        if self._stage == 0 and chunk == 0:
            yield _EMBEDDING
        yield from self._plan.layers_of(self._card, self._stage, chunk)
        if self._stage == self._plan.pp - 1 and chunk == self._plan.chunks - 1:
            yield _OUTPUT

    def _in_order(self, task: PipelineTask) -> list[int]:
        parts = list(self._parts(task.chunk))
        return parts if task.kind is PassKind.FORWARD else parts[::-1]

    def _unit(self, part: int) -> Unit:
        if part == _EMBEDDING:
            return "embedding", embedding_parameters(self._card, self._plan)
        if part == _OUTPUT:
            return "output", output_parameters(self._card, self._plan)
        return f"layer {part}", layer_parameters(self._card, self._plan, part)

    def _send(self, task: PipelineTask, peer: Peer, crossing: int, what: str) -> None:
        self._tape.send(f"send {what} {task.micro_batch}", self._message_bytes, peer, self._tag(task, crossing))

    def _receive(self, task: PipelineTask, peer: Peer, crossing: int, what: str) -> None:
        name, tag = f"receive {what} {task.micro_batch}", self._tag(task, crossing)
        self._tape.join([self._tape.receive(name, self._message_bytes, peer, tag, self._before_previous)])

    def _tag(self, task: PipelineTask, crossing: int) -> int:
        """One for every message: both directions cross every border between the model's parts."""
        return _FIRST_TAG + task.micro_batch * 2 * self._plan.pp * self._plan.chunks + crossing
