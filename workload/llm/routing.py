"""How many copies of tokens go to which rank and node of their experts.

EXPERTS: a token is sent once for each of its experts (GShard, arXiv:2006.16668). RANKS: once to each rank that has any
of them. NODES: once to each node, to the rank in the sender's place there, which forwards it to the ranks that have any
(DeepSeek-V3, arXiv:2412.19437, section 3.2.2; DeepEP). `most_nodes` limits the nodes of a token (section 2.1.2).
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import ceil, comb, prod

from hocket.base.enums import StrEnum
from hocket.workload.llm.loads import ExpertLoads

__all__ = ["ExpertRouting", "RoutingShape", "TokenDispatch", "TokenFormat", "route"]


class TokenDispatch(StrEnum):
    """What gets a copy of a token: its experts, their ranks, or their nodes."""

    EXPERTS = "experts"
    RANKS = "ranks"
    NODES = "nodes"


class TokenFormat(StrEnum):
    """Of a token on its way to its experts; FP8 comes with a scale of 4 bytes for 128 elements."""

    BF16 = "bf16"
    FP8 = "fp8"


@dataclass(frozen=True)
class RoutingShape:
    """Experts, those of a token, ranks that share them, ranks of a node among these, nodes that a token may go to."""

    experts: int
    top_k: int
    ranks: int
    node_ranks: int
    most_nodes: int

    @property
    def nodes(self) -> int:
        return self.ranks // self.node_ranks


@dataclass(frozen=True)
class ExpertRouting:
    """Of one rank's tokens: how many meet an expert of each rank (a token counts once for each of its experts), how
    many copies go to each rank and to each node. All ranks' tokens choose alike."""

    met: tuple[int, ...]
    to_ranks: tuple[int, ...]
    to_nodes: tuple[int, ...]


def route(loads: ExpertLoads, shape: RoutingShape, tokens: int, layer: int, micro_batch: int) -> ExpertRouting:
    """Expected numbers, rounded up where they are no whole ones.

    Evenly chosen experts: exactly, `top_k` different ones among those of `most_nodes` nodes. Others: each expert is
    taken to be chosen independently of the others, and what goes to too many nodes to be spread over fewer.
    """
    if loads.even:
        return _even(shape, tokens)
    return _uneven(shape, tokens, loads.tokens_of_experts(shape.experts, shape.top_k, tokens, layer, micro_batch))


@lru_cache(maxsize=256)
def _even(shape: RoutingShape, tokens: int) -> ExpertRouting:
    each = shape.experts // shape.ranks
    open_experts = each * shape.node_ranks * shape.most_nodes
    part = Fraction(shape.most_nodes, shape.nodes)

    def copies(experts: int) -> int:
        """Of tokens that choose any of so many experts of a node that they may go to."""
        missed = Fraction(comb(open_experts - experts, shape.top_k), comb(open_experts, shape.top_k))
        return ceil(tokens * part * (1 - missed))

    met = -(-tokens * shape.top_k // shape.ranks)
    to_node = copies(each * shape.node_ranks)
    return ExpertRouting((met,) * shape.ranks, (copies(each),) * shape.ranks, (to_node,) * shape.nodes)


@lru_cache(maxsize=4096)
def _uneven(shape: RoutingShape, tokens: int, chosen: tuple[int, ...]) -> ExpertRouting:
    def groups(number: int) -> list[tuple[int, ...]]:
        size = shape.experts // number
        return [chosen[first : first + size] for first in range(0, shape.experts, size)]

    def hit(experts: tuple[int, ...]) -> float:
        return tokens * (1 - prod(1 - count / tokens for count in experts))

    nodes = [hit(group) for group in groups(shape.nodes)]
    part = min(1.0, shape.most_nodes * tokens / sum(nodes))
    return ExpertRouting(
        tuple(sum(group) for group in groups(shape.ranks)),
        tuple(ceil(hit(group) * part) for group in groups(shape.ranks)),
        tuple(ceil(count * part) for count in nodes),
    )
