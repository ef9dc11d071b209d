"""Tokens go to the ranks of their experts, and what these make of them comes back."""

from collections.abc import Sequence

from hocket.chakra.trace import CollectiveType
from hocket.workload.llm.card import ModelCard
from hocket.workload.llm.plan import ACTIVATION_BYTES, ParallelPlan
from hocket.workload.llm.ranks import GroupKind
from hocket.workload.llm.routing import ExpertRouting, TokenDispatch, TokenFormat, route
from hocket.workload.llm.tape import Tape

__all__ = ["ExpertExchange"]

_SCALED = 128  # elements that share a scale of 4 bytes when tokens are sent as FP8, as in DeepEP


class ExpertExchange:
    """Puts on a tape what the rank at `place` of its expert parallel group exchanges with the others.

    Towards the experts tokens are BF16, or FP8 with scales; what comes back is BF16. The tensor parallel ranks of an
    expert gather what each of them got.
    """

    def __init__(self, card: ModelCard, plan: ParallelPlan, tape: Tape, place: int) -> None:
        self._card, self._plan, self._tape, self._place = card, plan, tape, place
        self._shape = plan.routing(card)
        self._tokens = plan.sharded_tokens(card)
        self._there = ACTIVATION_BYTES * card.hidden
        if plan.token_format is TokenFormat.FP8:
            self._there = card.hidden + 4 * -(-card.hidden // _SCALED)
        self._back = ACTIVATION_BYTES * card.hidden
        self._number = {layer: i for i, layer in enumerate(filter(card.has_experts, range(card.layers)))}

    def pairs(self, layer: int, micro_batch: int) -> int | None:
        """Tokens that the rank's experts meet, each as often as it has experts here; None: as many as on any rank."""
        if self._plan.loads.even:
            return None
        met = self._routing(layer, micro_batch).met[self._place]
        return met * self._plan.ep * self._plan.tp

    def dispatch(self, name: str, layer: int, micro_batch: int) -> tuple[int, ...]:
        """Sends this rank's tokens; returns what ends it."""
        routing = self._routing(layer, micro_batch)
        if self._plan.dispatch is not TokenDispatch.NODES:
            return self._send(name, self._sent(routing), GroupKind.EXPERT)
        ended = self._send(f"{name} to nodes", routing.to_nodes, GroupKind.EXPERT_NODES)
        here = [self._shape.nodes * count for count in self._of_node(routing)]
        return self._send(f"{name} in node", here, GroupKind.EXPERT_NODE, ended)

    def gather(self, name: str, layer: int, micro_batch: int, sent: tuple[int, ...]) -> tuple[int, ...]:
        """What the tensor parallel ranks got, for all of them."""
        if self._plan.tp == 1:
            return sent
        size = self._received(layer, micro_batch) * self._there
        return self._tape.start(f"{name} gather", CollectiveType.ALL_GATHER, size, GroupKind.TENSOR, sent)

    def combine(self, name: str, layer: int, micro_batch: int, after: tuple[int, ...]) -> tuple[int, ...]:
        """The way back of both."""
        tape, size = self._tape, self._received(layer, micro_batch) * self._back
        if self._plan.tp > 1:
            after = tape.start(
                f"{name} sum", CollectiveType.REDUCE_SCATTER, size * self._plan.tp, GroupKind.TENSOR, after
            )
        if self._plan.dispatch is not TokenDispatch.NODES:
            return tape.start(name, CollectiveType.ALL_TO_ALL, size, GroupKind.EXPERT, after)
        if self._shape.node_ranks > 1:
            after = tape.start(f"{name} in node", CollectiveType.ALL_TO_ALL, size, GroupKind.EXPERT_NODE, after)
        if self._shape.nodes == 1:
            return after
        node = self._place // self._shape.node_ranks
        size = self._shape.nodes * self._routing(layer, micro_batch).to_nodes[node] * self._back
        return tape.start(f"{name} to ranks", CollectiveType.ALL_TO_ALL, size, GroupKind.EXPERT_NODES, after)

    def _send(
        self, name: str, counts: Sequence[int], group: GroupKind, after: tuple[int, ...] | None = None
    ) -> tuple[int, ...]:
        """So many tokens to each member of a group; to none where it is of one rank."""
        if len(counts) == 1:
            return self._tape.tail if after is None else after
        splits = [] if len(set(counts)) == 1 else [count * self._there for count in counts]
        total = sum(counts)
        if self._plan.loads.even and group is GroupKind.EXPERT and self._plan.dispatch is TokenDispatch.EXPERTS:
            total = self._tokens * self._shape.top_k  # shares that are no whole tokens are not rounded
        return self._tape.start(name, CollectiveType.ALL_TO_ALL, total * self._there, group, after, splits=splits)

    def _received(self, layer: int, micro_batch: int) -> int:
        """Copies of tokens that come to this rank from all."""
        if self._plan.loads.even and self._plan.dispatch is TokenDispatch.EXPERTS:
            return self._tokens * self._shape.top_k
        return self._plan.ep * self._sent(self._routing(layer, micro_batch))[self._place]

    def _sent(self, routing: ExpertRouting) -> tuple[int, ...]:
        return routing.met if self._plan.dispatch is TokenDispatch.EXPERTS else routing.to_ranks

    def _of_node(self, routing: ExpertRouting) -> tuple[int, ...]:
        first = self._place - self._place % self._shape.node_ranks
        return routing.to_ranks[first : first + self._shape.node_ranks]

    def _routing(self, layer: int, micro_batch: int) -> ExpertRouting:
        return route(self._plan.loads, self._shape, self._tokens, self._number[layer], micro_batch)
