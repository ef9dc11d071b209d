"""The attention of one layer when the sequence is divided among context parallel ranks.

RING: keys and values go from rank to rank while the attention to those at hand is computed, and in the backward pass
their gradients follow them (Ring Attention, arXiv:2310.01889). ALL_GATHER: they are gathered before, and their
gradients scattered after (arXiv:2407.21783, section 3.3.2). ULYSSES: an all_to_all brings a rank all tokens of some of
the heads, another brings the results back (arXiv:2309.14509). HIERARCHICAL: neighbours do that, and keys and values of
their heads go in rings over these (arXiv:2405.07719; Megatron-LM's a2a+p2p). The causal mask is taken to be balanced
among the ranks.
"""

from hocket.chakra.trace import CollectiveType
from hocket.workload.llm.plan import ACTIVATION_BYTES, ContextMethod, ParallelPlan
from hocket.workload.llm.ranks import GroupKind, Peer
from hocket.workload.llm.tape import Tape
from hocket.workload.llm.work import PassWork, Workbook

__all__ = ["ContextAttention"]

_KEYS_VALUES, _GRADIENTS = 0, 1  # tags; the pipeline's are others


class ContextAttention:
    """Puts the attention's forward pass and the gradient of its input on a tape."""

    def __init__(self, plan: ParallelPlan, work: Workbook, tape: Tape) -> None:
        self._plan, self._tape = plan, tape
        self._heads = plan.context_heads
        self._steps = 1 if plan.context is ContextMethod.ALL_GATHER else plan.cp // self._heads  # of the ring
        self._num_bytes = ACTIVATION_BYTES * work.key_values
        self._query_bytes, self._result_bytes = ACTIVATION_BYTES * work.queries, ACTIVATION_BYTES * work.results
        self._input, self._output = work.attention_input(), work.attention_output()
        self._cores = {windowed: work.attention_core(windowed, self._steps) for windowed in (False, True)}

    def forward(self, name: str, windowed: bool) -> None:
        tape, core = self._tape, self._cores[windowed]
        if self._plan.cp == 1:
            tape.compute(name, (self._input + core + self._output).forward)
            return
        tape.compute(f"{name} input", self._input.forward)
        if self._plan.context is ContextMethod.ALL_GATHER:
            self._gather(name)
            tape.compute(f"{name} output", (core + self._output).forward)
            return
        self._exchange(f"{name} heads", self._query_bytes + self._num_bytes)
        held = tape.tail
        for step in range(self._steps):
            received = self._pass_on(name, _KEYS_VALUES, held) if step < self._steps - 1 else ()
            tape.join(held)
            tape.compute(f"{name} scores {step}", core.forward)
            held = received
        self._exchange(f"{name} tokens", self._result_bytes)
        tape.compute(f"{name} output", self._output.forward)

    def backward(self, name: str, windowed: bool) -> None:
        tape, core = self._tape, self._cores[windowed]
        if self._plan.cp == 1:
            tape.compute(f"{name} input gradient", (self._input + core + self._output).input_gradient)
            return
        if self._plan.context is ContextMethod.ALL_GATHER:
            self._gather(name)
            tape.compute(f"{name} output gradient", (core + self._output).input_gradient)
            tape.run(
                f"{name} key-value gradients",
                CollectiveType.REDUCE_SCATTER,
                self._num_bytes * self._plan.cp,
                GroupKind.CONTEXT,
            )
        else:
            tape.compute(f"{name} output gradient", self._output.input_gradient)
            self._exchange(f"{name} tokens gradient", self._result_bytes)
            self._ring_backward(name, core)
            self._exchange(f"{name} heads gradient", self._query_bytes + self._num_bytes)
        tape.compute(f"{name} input gradient", self._input.input_gradient)

    def _exchange(self, name: str, num_bytes: int) -> None:
        """Tokens for heads, or back, among those who share out the heads."""
        if self._heads > 1:
            self._tape.run(name, CollectiveType.ALL_TO_ALL, num_bytes, GroupKind.CONTEXT_HEADS)

    def _ring_backward(self, name: str, core: PassWork) -> None:
        """Every step adds to the gradients of the keys and values at hand, which then follow them; the last step's go
        home."""
        tape = self._tape
        held = tape.tail
        gradients: tuple[int, ...] = ()
        for step in range(self._steps):
            received = self._pass_on(name, _KEYS_VALUES, held) if step < self._steps - 1 else ()
            tape.join(held)
            node = tape.compute(f"{name} scores gradient {step}", core.input_gradient)
            if self._steps > 1:
                gradients = self._pass_on(f"{name} gradients", _GRADIENTS, (node, *gradients))
            held = received
        tape.join(gradients)

    def _gather(self, name: str) -> None:
        self._tape.run(f"{name} gather", CollectiveType.ALL_GATHER, self._num_bytes, GroupKind.CONTEXT)

    def _pass_on(self, name: str, tag: int, held: tuple[int, ...]) -> tuple[int, ...]:
        """Sends what is held to the next rank and receives the previous one's; returns the end of the receiving."""
        tape = self._tape
        tape.send(f"{name} to next", self._num_bytes, Peer.NEXT_CONTEXT, tag, held)
        return (tape.receive(f"{name} from previous", self._num_bytes, Peer.PREVIOUS_CONTEXT, tag, held),)
