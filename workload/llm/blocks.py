"""One layer's passes with tensor, sequence, context and expert parallel communication.

Tensor and sequence parallelism: Megatron-LM (arXiv:1909.08053, arXiv:2205.05198); an all_reduce of the input's
gradient, or its reduce_scatter, runs while the weights' gradients are computed. Experts: GShard (arXiv:2006.16668),
tokens go by all_to_all to the ranks of their experts and back, while the shared experts compute.
"""

from hocket.chakra.trace import CollectiveType
from hocket.workload.llm.card import ModelCard
from hocket.workload.llm.context import ContextAttention
from hocket.workload.llm.exchange import ExpertExchange
from hocket.workload.llm.plan import ACTIVATION_BYTES, ParallelPlan
from hocket.workload.llm.ranks import GroupKind
from hocket.workload.llm.tape import Tape
from hocket.workload.llm.work import PassWork, Workbook

__all__ = ["LayerPasses"]


class LayerPasses:
    """Puts passes of layers on a tape; `label` begins the names of the nodes, `micro_batch` is the one whose passes
    come next. `place`: of the rank in its expert parallel group."""

    def __init__(self, card: ModelCard, plan: ParallelPlan, work: Workbook, tape: Tape, place: int = 0) -> None:
        self._card, self._plan, self._tape, self._work = card, plan, tape, work
        self.micro_batch = 0
        hidden = ACTIVATION_BYTES * card.hidden
        self._whole = plan.tokens(card) * hidden
        self._part = plan.sharded_tokens(card) * hidden
        self._context = ContextAttention(plan, work, tape)
        self._feed_forward = work.feed_forward()
        self._attention_weights = work.attention_input() + work.attention_output()
        self._embedding, self._output = work.embedding(), work.output()
        if card.experts:
            self._router, self._experts, self._shared = work.router(), work.experts(), work.shared_experts()
            self._exchange = ExpertExchange(card, plan, tape, place)

    def forward(self, label: str, layer: int) -> None:
        """Attention and feed-forward."""
        self._enter(label)
        self._context.forward(f"{label} attention", self._card.is_windowed(layer))
        self._leave(label)
        if not self._card.has_experts(layer):
            self._forward_dense(f"{label} feed-forward", self._feed_forward)
        elif self._plan.ep == 1:
            self._forward_dense(f"{label} experts", self._local_experts())
        else:
            self._forward_experts(label, layer)

    def backward(self, label: str, layer: int, inputs: bool, weights: bool) -> None:
        """The gradients of feed-forward and attention, those of the inputs, of the weights, or both."""
        if not self._card.has_experts(layer):
            self._backward_dense(f"{label} feed-forward", self._feed_forward, inputs, weights)
        elif self._plan.ep == 1:
            self._backward_dense(f"{label} experts", self._local_experts(), inputs, weights)
        else:
            self._backward_experts(label, layer, inputs, weights)
        name = f"{label} attention"
        if inputs:
            self._enter(label)
        gathered = self._gather_input(name, weights)
        if inputs:
            self._context.backward(name, self._card.is_windowed(layer))
        self._weight_gradient(name, self._attention_weights, inputs, weights, gathered)

    def forward_embedding(self, label: str) -> None:
        self._tape.compute(f"{label} embedding", self._embedding.forward)
        self._leave(label)

    def backward_embedding(self, label: str) -> None:
        self._enter(label)
        self._tape.compute(f"{label} embedding", self._embedding.weight_gradient, of_weights=True)

    def forward_output(self, label: str) -> None:
        """Logits and loss; the loss needs the largest logit, the sum of exponentials and the target's of each token."""
        self._enter(label)
        self._tape.compute(f"{label} output", self._output.forward)
        if self._plan.tp > 1:
            for what in ("largest logit", "target's logit", "sum of exponentials"):
                size = 4 * self._plan.tokens(self._card)
                self._tape.run(f"{label} {what}", CollectiveType.ALL_REDUCE, size, GroupKind.TENSOR)

    def backward_output(self, label: str, inputs: bool, weights: bool) -> None:
        self._both_gradients(f"{label} output", self._output, inputs, weights)

    def _local_experts(self) -> PassWork:
        return self._router + self._experts + self._shared

    def _forward_dense(self, name: str, passes: PassWork) -> None:
        self._enter(name)
        self._tape.compute(name, passes.forward)
        self._leave(name)

    def _backward_dense(self, name: str, passes: PassWork, inputs: bool, weights: bool) -> None:
        if inputs:
            self._enter(name)
        self._both_gradients(name, passes, inputs, weights)

    def _both_gradients(self, name: str, passes: PassWork, inputs: bool, weights: bool) -> None:
        gathered = self._gather_input(name, weights)
        if inputs:
            self._tape.compute(f"{name} input gradient", passes.input_gradient)
        self._weight_gradient(name, passes, inputs, weights, gathered)

    def _gather_input(self, name: str, weights: bool) -> tuple[int, ...]:
        """With sequence parallelism the input was kept in parts only: it is gathered again, for the weights' gradient,
        while its own gradient is computed (arXiv:2205.05198, section 4.2.2)."""
        return self._gather(f"{name} input again") if weights else ()

    def _weight_gradient(
        self, name: str, passes: PassWork, inputs: bool, weights: bool, gathered: tuple[int, ...]
    ) -> None:
        """The gradient of the weights, when their input is gathered, while the input's gradient is reduced."""
        tape = self._tape
        reduced = self._reduce(name) if inputs else ()
        if weights:
            tape.join(gathered)
            tape.compute(f"{name} weight gradient", passes.weight_gradient, of_weights=True)
        tape.join(reduced)

    def _enter(self, name: str) -> None:
        """Before matrices: sequence parallelism gathers the tokens."""
        self._tape.join(self._gather(name))

    def _leave(self, name: str) -> None:
        """After matrices: sums their output over the tensor parallel ranks."""
        self._tape.join(self._reduce(name))

    def _gather(self, name: str) -> tuple[int, ...]:
        if not self._plan.sequence_parallel:
            return ()
        return self._tape.start(f"{name} gather", CollectiveType.ALL_GATHER, self._part, GroupKind.TENSOR)

    def _reduce(self, name: str) -> tuple[int, ...]:
        if self._plan.tp == 1:
            return ()
        kind = CollectiveType.REDUCE_SCATTER if self._plan.sequence_parallel else CollectiveType.ALL_REDUCE
        return self._tape.start(f"{name} sum", kind, self._whole, GroupKind.TENSOR)

    def _forward_experts(self, label: str, layer: int) -> None:
        tape, exchange, place = self._tape, self._exchange, (layer, self.micro_batch)
        tape.compute(f"{label} router", self._router.forward)
        sent = exchange.dispatch(f"{label} dispatch", *place)
        shared = self._shared_forward(label)
        tape.join(exchange.gather(f"{label} dispatch", *place, sent))
        tape.compute(f"{label} experts", self._experts_of(layer).forward)
        tape.join(exchange.combine(f"{label} combine", *place, tape.tail))
        tape.join(shared)

    def _backward_experts(self, label: str, layer: int, inputs: bool, weights: bool) -> None:
        """The gradients go the tokens' way back: to the experts and home again."""
        tape, exchange, place = self._tape, self._exchange, (layer, self.micro_batch)
        experts = self._experts_of(layer)
        sent = exchange.dispatch(f"{label} combine gradient", *place) if inputs else ()
        if self._card.experts and self._card.experts.shared:
            self._backward_dense(f"{label} shared experts", self._shared, inputs, weights)
        returned: tuple[int, ...] = ()
        if inputs:
            tape.join(exchange.gather(f"{label} combine gradient", *place, sent))
            tape.compute(f"{label} experts input gradient", experts.input_gradient)
            returned = exchange.combine(f"{label} dispatch gradient", *place, tape.tail)
        if weights:
            tape.compute(f"{label} experts weight gradient", experts.weight_gradient, of_weights=True)
        tape.join(returned)
        if inputs:
            tape.compute(f"{label} router input gradient", self._router.input_gradient)
        if weights:
            tape.compute(f"{label} router weight gradient", self._router.weight_gradient, of_weights=True)

    def _experts_of(self, layer: int) -> PassWork:
        pairs = self._exchange.pairs(layer, self.micro_batch)
        return self._experts if pairs is None else self._work.experts(pairs)

    def _shared_forward(self, label: str) -> tuple[int, ...]:
        """The shared experts, while tokens travel; returns what ends them."""
        if not self._card.experts or not self._card.experts.shared:
            return ()
        name = f"{label} shared experts"
        self._enter(name)
        self._tape.compute(name, self._shared.forward)
        return self._reduce(name)
