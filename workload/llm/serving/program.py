"""What the ranks of a replica do, step by step."""

from collections.abc import Mapping, Sequence

from hocket.chakra.trace import CollectiveType, Trace
from hocket.workload.llm.plan import ACTIVATION_BYTES
from hocket.workload.llm.ranks import GroupKind
from hocket.workload.llm.serving.batches import Batch, ServingStep
from hocket.workload.llm.serving.requests import Request
from hocket.workload.llm.serving.work import BatchShape, StepWork, draft_shapes, shape_of
from hocket.workload.llm.tape import Tape
from hocket.workload.llm.work import KernelWork

__all__ = ["Transfer", "replica_program"]

_PICOSECONDS = 1000

#: Of a request's keys and values: the other rank and the bytes of each message.
Transfer = Sequence[tuple[int, int]]


def replica_program(
    steps: Sequence[ServingStep],
    place: int,
    work: StepWork,
    draft: tuple[StepWork, int] | None,
    said: Mapping[str, object],
    sent: Mapping[int, Transfer],
    received: Mapping[int, Transfer],
) -> Trace:
    """The trace of a rank of the replica at `place` of those that step together.

    `draft`: the work of the draft model and how many tokens it guesses; `sent` and `received`: keys and values of
    requests by number. Groups are the names of `GroupKind`, of messages 0 is this rank, and others are one more than
    their world rank.
    """
    program = _Replica(place, work, draft, said)
    for number, step in enumerate(steps):
        program.step(number, step, sent, received)
    return program.tape.build()


class _Replica:
    def __init__(
        self, place: int, work: StepWork, draft: tuple[StepWork, int] | None, said: Mapping[str, object]
    ) -> None:
        self._place, self._work, self._draft = place, work, draft
        self.tape = Tape(dict(said))

    def step(
        self, number: int, step: ServingStep, sent: Mapping[int, Transfer], received: Mapping[int, Transfer]
    ) -> None:
        tape, batch = self.tape, step.batches[self._place]
        kind = _kind(batch)
        tape.says = {"pass": kind, "step": number}
        if step.idle_ps:
            tape.compute(f"idle before step {number}", KernelWork(time_ps=step.idle_ps))
        for item in batch:
            for rank, size in received.get(item.request.number, ()) if item.begins else ():
                name = f"receive keys and values of request {item.request.number}"
                tape.join([tape.receive(name, size, rank + 1, item.request.number, ())])
        shapes = [shape_of(each) for each in step.batches]
        self._speculate(number, batch)
        tape.says = {"pass": kind, "step": number, "tokens": shapes[self._place].tokens}
        self._model(f"{kind} {number}", self._work, shapes)
        for item in batch:
            if item.emitted and item.prefill:
                self._mark("first token", item.request)
            for rank, size in sent.get(item.request.number, ()) if item.ends else ():
                name = f"send keys and values of request {item.request.number}"
                tape.send(name, size, rank + 1, item.request.number)
            if item.ends and not sent.get(item.request.number):
                self._mark("last token", item.request)

    def _mark(self, what: str, request: Request) -> None:
        """A node that takes no time and says what was done for a request."""
        said = self.tape.says
        self.tape.says = {
            **said,
            "request": request.number,
            "arrival_ns": request.arrival_ps // _PICOSECONDS,
            "prompt_tokens": request.prompt,
            "output_tokens": request.output,
        }
        self.tape.compute(f"request {request.number} {what}", KernelWork())
        self.tape.says = said

    def _speculate(self, number: int, batch: Batch) -> None:
        """The draft model reads the prompts as well, and guesses token by token."""
        if not self._draft:
            return
        work, guesses = self._draft
        self.tape.says = {"pass": "draft", "step": number}
        for guess, shape in enumerate(draft_shapes(batch, guesses)):
            self._model(f"draft {number} pass {guess}", work, [shape])

    def _model(self, label: str, work: StepWork, shapes: Sequence[BatchShape]) -> None:
        tape, card, own = self.tape, work.card, shapes[self._place % len(shapes)]
        self._whole = ACTIVATION_BYTES * own.tokens * card.hidden
        if own.tokens:
            tape.compute(f"{label} embedding", work.embedding(own.tokens))
            self._sum(f"{label} embedding", work)
        for layer in range(card.layers):
            name = f"{label} layer {layer}"
            if own.tokens:
                tape.compute(f"{name} attention", work.attention(own, card.is_windowed(layer)))
            if card.has_experts(layer) and work.pool.ep > 1:
                self._experts(name, work, own, tuple(shape.tokens for shape in shapes))
            elif own.tokens:
                self._sum(f"{name} attention", work)
                tape.compute(f"{name} feed-forward", self._feed_forward(layer, work, own))
                self._sum(f"{name} feed-forward", work)
        if own.sampled:
            tape.compute(f"{label} output", work.output(own.sampled))
            if work.pool.tp > 1:
                size = ACTIVATION_BYTES * own.sampled * card.output.on_rank(work.pool.tp).outputs
                tape.run(f"{label} logits", CollectiveType.ALL_GATHER, size, GroupKind.TENSOR)

    def _feed_forward(self, layer: int, work: StepWork, own: BatchShape) -> KernelWork:
        if not work.card.has_experts(layer):
            return work.feed_forward(own.tokens)
        return work.router(own.tokens) + work.shared_experts(own.tokens) + work.experts((own.tokens,))

    def _experts(self, name: str, work: StepWork, own: BatchShape, together: tuple[int, ...]) -> None:
        """The tensor parallel ranks route a part of their tokens each; replicas without any take part all the same."""
        tape, tp, hidden = self.tape, work.pool.tp, ACTIVATION_BYTES * work.card.hidden
        part = work.routed(own.tokens)
        if tp > 1 and part:
            size = part * tp * hidden
            tape.run(f"{name} attention scatter", CollectiveType.REDUCE_SCATTER, size, GroupKind.TENSOR)
        if part:
            tape.compute(f"{name} router", work.router(part))
        size = work.share(own.tokens) * work.pool.ep * hidden
        sent = tape.start(f"{name} dispatch", CollectiveType.ALL_TO_ALL, size, GroupKind.EXPERT)
        if part:
            tape.compute(f"{name} shared experts", work.shared_experts(part))
        tape.join(sent)
        tape.compute(f"{name} experts", work.experts(together))
        back = [work.share(tokens) * hidden for tokens in together for _ in range(tp)]
        splits = back if len(set(back)) > 1 else []
        tape.join(tape.start(f"{name} combine", CollectiveType.ALL_TO_ALL, sum(back), GroupKind.EXPERT, splits=splits))
        if tp > 1 and part:
            tape.run(f"{name} gather", CollectiveType.ALL_GATHER, part * hidden, GroupKind.TENSOR)

    def _sum(self, name: str, work: StepWork) -> None:
        if work.pool.tp > 1:
            self.tape.run(f"{name} sum", CollectiveType.ALL_REDUCE, self._whole, GroupKind.TENSOR)


def _kind(batch: Batch) -> str:
    kinds = {item.prefill for item in batch}
    return "mixed" if len(kinds) > 1 else "prefill" if True in kinds else "decode" if kinds else "empty"
