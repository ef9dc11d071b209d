"""What all ranks of a pipeline stage do in one training step."""

from collections.abc import Iterator, Sequence
from functools import partial

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
from hocket.workload.llm.passes import PassKind, PipelineTask
from hocket.workload.llm.pipeline import PipelineSchedule, stage_tasks
from hocket.workload.llm.plan import ACTIVATION_BYTES, ParallelPlan, Recomputation
from hocket.workload.llm.ranks import Peer
from hocket.workload.llm.sharding import DataParallel, Unit
from hocket.workload.llm.tape import Tape
from hocket.workload.llm.work import Workbook

__all__ = ["stage_program"]

_FIRST_TAG = 2  # those before are ContextAttention's
_EMBEDDING, _OUTPUT = -1, -2  # in place of a layer's number


def stage_program(card: ModelCard, plan: ParallelPlan, work: Workbook, stage: int, place: int = 0) -> Trace:
    """The trace of a stage, whose groups are the names of `GroupKind` and whose ranks are `Peer`s; of the ranks at
    `place` of their expert parallel group, where that makes a difference."""
    return _Stage(card, plan, work, stage, place).trace()


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
    def __init__(self, card: ModelCard, plan: ParallelPlan, work: Workbook, stage: int, place: int) -> None:
        self._card, self._plan, self._work, self._stage = card, plan, work, stage
        said = {"world_size": plan.num_ranks, "model": card.name, **work.priced_by, **_facts(card, plan, stage)}
        if not plan.loads.even:
            said |= {"expert_loads": plan.loads.spec, "expert_seed": plan.loads.seed}
        self._tape = Tape(said)
        self._blocks = LayerPasses(card, plan, work, self._tape, place)
        self._tasks = stage_tasks(plan.schedule, stage, plan.pp, plan.chunks, plan.micro_batches)
        self._units = {part: self._unit(part) for chunk in range(plan.chunks) for part in self._parts(chunk)}
        uses = [
            (self._units[part], task.kind is not PassKind.FORWARD)
            for task in self._tasks
            if task.kind is not PassKind.WEIGHT_GRADIENT
            for part in self._in_order(task)
        ]
        self._data = DataParallel(plan, self._tape, uses)
        self._reduces_late = plan.schedule is PipelineSchedule.DUALPIPE  # ranks that share gradients end them in
        # another order: they reduce them when all are there
        self._message_bytes = ACTIVATION_BYTES * plan.sharded_tokens(card) * card.hidden
        self._before_previous: tuple[int, ...] = ()  # what a receive waits for: it is posted one task ahead
        self._before: tuple[int, ...] = ()

    def trace(self) -> Trace:
        plan, tape = self._plan, self._tape
        for tasks in _together(self._tasks):
            self._before_previous, self._before = self._before, tape.tail
            for task in tasks:
                self._receive(task)
            tape.beside([partial(self._do, task) for task in tasks])
            for task in tasks:
                self._send(task)
        tape.says = {"pass": "optimizer", "stage": self._stage}
        if self._reduces_late:
            self._data.reduce_all([self._units[layer] for layer in sorted(self._units, key=_model_order)])
        ends = self._card.tied_embeddings and not plan.shares_ends and self._stage in (0, plan.pp - 1)
        embedding = self._card.output.on_rank(plan.tp).weights if ends else 0
        self._data.step(self._work, stage_parameters(self._card, plan, self._stage), embedding)
        return tape.build()

    def _say(self, task: PipelineTask) -> None:
        names = {PassKind.FORWARD: "forward", PassKind.WEIGHT_GRADIENT: "weight_gradient"}
        kind = names.get(task.kind, "backward")
        self._blocks.micro_batch = task.micro_batch
        self._tape.says = {"pass": kind, "stage": self._stage, "micro_batch": task.micro_batch}

    def _do(self, task: PipelineTask) -> None:
        self._say(task)
        if task.kind is PassKind.FORWARD:
            for layer in self._in_order(task):
                self._data.use()
                self._forward_part(f"forward {task.micro_batch}", layer)
        else:
            self._backward(task)

    def _forward_part(self, label: str, layer: int) -> None:
        if layer == _EMBEDDING:
            self._blocks.forward_embedding(label)
        elif layer == _OUTPUT:
            self._blocks.forward_output(label)
        else:
            self._blocks.forward(f"{label} layer {layer}", layer)

    def _backward(self, task: PipelineTask) -> None:
        inputs, weights = task.kind is not PassKind.WEIGHT_GRADIENT, task.kind is not PassKind.INPUT_GRADIENT
        label = f"{'backward' if inputs else 'weights'} {task.micro_batch}"
        last = task.micro_batch == self._plan.micro_batches - 1
        for layer in self._in_order(task):
            if inputs:
                self._data.use()
            self._backward_part(label, layer, inputs, weights)
            if weights and not self._reduces_late:
                self._data.add_gradients(self._units[layer], last)
        if weights:
            self._data.close_buckets(last)

    def _backward_part(self, label: str, layer: int, inputs: bool, weights: bool) -> None:
        if layer == _EMBEDDING:
            if weights:
                self._blocks.backward_embedding(label)
        elif layer == _OUTPUT:
            self._blocks.backward_output(label, inputs, weights)
        else:
            name = f"{label} layer {layer}"
            if inputs and self._plan.recomputation is Recomputation.FULL:
                said = self._tape.says
                self._tape.says = {**said, "recomputed": 1}
                self._blocks.forward(f"{name} again", layer)
                self._tape.says = said
            self._blocks.backward(name, layer, inputs, weights)

    def _parts(self, chunk: int) -> Iterator[int]:
        """A chunk's layers, and the embedding and the output at the ends of the model, in forward order."""
        if self._plan.has_embedding(self._stage, chunk):
            yield _EMBEDDING
        yield from self._plan.layers_of(self._card, self._stage, chunk)
        if self._plan.has_output(self._stage, chunk):
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

    def _send(self, task: PipelineTask) -> None:
        """What a pass, and all that ran beside it, hands on to the next part or to the one before."""
        forward, part = task.kind is PassKind.FORWARD, self._plan.part(self._stage, task.chunk)
        if peer := self._neighbour(task, 1 if forward else -1):
            self._say(task)
            crossing = part if forward else self._plan.parts + part
            name = f"send {_carried(task)} {task.micro_batch}"
            self._tape.send(name, self._message_bytes, peer, self._tag(task, crossing))

    def _receive(self, task: PipelineTask) -> None:
        forward, part = task.kind is PassKind.FORWARD, self._plan.part(self._stage, task.chunk)
        if peer := self._neighbour(task, -1 if forward else 1):
            self._say(task)
            crossing = part - 1 if forward else self._plan.parts + part + 1
            name, tag = f"receive {_carried(task)} {task.micro_batch}", self._tag(task, crossing)
            self._tape.join([self._tape.receive(name, self._message_bytes, peer, tag, self._before_previous)])

    def _neighbour(self, task: PipelineTask, step: int) -> Peer | None:
        """The stage of the model's part so many steps on; none where there is no other, and no message."""
        plan, schedule = self._plan, self._plan.schedule
        if task.kind is PassKind.WEIGHT_GRADIENT or not 0 <= plan.part(self._stage, task.chunk) + step < plan.parts:
            return None
        if schedule.two_chunks and task.chunk:
            step = -step  # its second chunks go backwards
        turns = schedule.is_v and self._stage == plan.pp - 1 and step > 0
        return None if turns else Peer.NEXT_STAGE if step > 0 else Peer.PREVIOUS_STAGE

    def _tag(self, task: PipelineTask, crossing: int) -> int:
        """One for every message: both directions cross every border between the model's parts."""
        return _FIRST_TAG + task.micro_batch * 2 * self._plan.parts + crossing


def _together(tasks: Sequence[PipelineTask]) -> Iterator[list[PipelineTask]]:
    """Tasks, those that run beside others with them."""
    together: list[PipelineTask] = []
    for task in tasks:
        if together and not task.beside:
            yield together
            together = []
        together.append(task)
    yield together


def _carried(task: PipelineTask) -> str:
    return "activations" if task.kind is PassKind.FORWARD else "gradients"


def _model_order(part: int) -> float:
    return {_EMBEDDING: -1.0, _OUTPUT: float("inf")}.get(part, part)
