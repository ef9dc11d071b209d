"""Trees over ranks, and what travels along them."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from hocket.base.enums import not_here
from hocket.schedule.algorithms.moves import Moves
from hocket.schedule.collective import Collective, Kind

__all__ = ["Tree", "binomial_tree"]


@dataclass(frozen=True, eq=False)
class Tree:
    """Edges, as columns: on the way down `parent` sends to `child` at `step`, after what its own parent sent."""

    step: NDArray[np.int64]
    parent: NDArray[np.int64]
    child: NDArray[np.int64]

    def rooted_at(self, root: int) -> "Tree":
        """Rank 0 of the tree becomes rank `root`, and the others follow it around."""
        n = len(self.child) + 1
        return replace(self, parent=(self.parent + root) % n, child=(self.child + root) % n)

    def pipelined(self, kind: Kind, chunks: NDArray[np.int64]) -> Moves:
        """Whole chunks climb (reduce), descend (broadcast) or climb and descend (all_reduce), each a step behind the
        one before it. An all_reduce takes the tree's steps twice, plus one for each further chunk."""
        step, parent, child = self.step[:, None], self.parent[:, None], self.child[:, None]
        turn = np.arange(len(chunks))
        steps = int(self.step.max(initial=-1)) + 1
        climb = Moves.of(steps - 1 - step + turn, child, parent, chunks, reduce=True)
        descend = Moves.of(step + turn, parent, child, chunks, reduce=False)
        match kind:
            case Kind.REDUCE:
                return climb
            case Kind.BROADCAST:
                return descend
            case Kind.ALL_REDUCE:
                return Moves.together(climb, descend.delayed(steps))
            case _:
                not_here(kind)

    def scattered(self) -> Moves:
        """One chunk per rank: a parent sends its child the chunks of all ranks below that."""
        below = np.eye(len(self.child) + 1, dtype=np.bool_)
        parts = []
        for edge in np.argsort(-self.step, kind="stable"):
            parent, child = self.parent[edge], self.child[edge]
            parts.append(Moves.of(self.step[edge], parent, child, np.flatnonzero(below[child]), reduce=False))
            below[parent] |= below[child]
        return Moves.together(*parts)

    def moves(self, collective: Collective) -> Moves:
        """broadcast, reduce, scatter or gather, whose root is the tree's."""
        f = collective.chunks_per_rank
        if collective.kind.shares_buffer:
            return self.pipelined(collective.kind, np.arange(f))
        scatter = self.scattered().in_pieces(f, np.arange(f))
        return scatter if collective.kind is Kind.SCATTER else scatter.reversed(reduce=False)


def binomial_tree(n: int, *, far_first: bool) -> Tree:
    """The tree in which all ranks that have the data send it 2^k ranks ahead: k falling (`far_first`) or rising.

    ceil(log2 n) steps for any n.
    """
    bits = range((n - 1).bit_length())
    parts = []
    for step, bit in enumerate(reversed(bits) if far_first else bits):
        parent = np.arange(0, n, 2 << bit) if far_first else np.arange(1 << bit)
        parent = parent[parent + (1 << bit) < n]
        parts.append(np.stack([np.full(len(parent), step), parent, parent + (1 << bit)]))
    return Tree(*np.concatenate([np.zeros((3, 0), np.int64), *parts], axis=1))
