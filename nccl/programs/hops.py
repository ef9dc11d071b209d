"""Hops of the longest path that data takes in a program: inside machines, and between them."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from hocket.nccl.programs.connect import Branch

__all__ = ["Hops", "round_a_ring", "up_and_down"]


class Hops(NamedTuple):
    """Of a path, so many `inside` machines and so many `between` two."""

    inside: int
    between: int

    def latency(self, inside: float, between: float) -> float:
        """With so much for each, in its unit."""
        return self.inside * inside + self.between * between


def round_a_ring(order: Sequence[int], machine: Sequence[int], hops: int, start: int | None = None) -> Hops:
    """So many hops round a ring of ranks, from that place of it; from that from where most are between machines."""
    of = np.array([machine[rank] for rank in order])
    leaves = of != np.roll(of, -1)
    turns, rest = divmod(hops, len(order))
    ahead = np.concatenate([[0], np.cumsum(np.tile(leaves, 2))])
    starts = np.arange(len(order)) if start is None else np.array([start % len(order)])
    between = turns * int(leaves.sum()) + int((ahead[starts + rest] - ahead[starts]).max())
    return Hops(hops - between, between)


def up_and_down(branches: Sequence[Branch], machine: Sequence[int], inside: float, between: float) -> Hops:
    """From the rank that is farthest from a tree's root, by the latencies of its hops, to the root and back."""

    def below(rank: int) -> Hops:
        paths = [Hops(0, 0)]
        for child in branches[rank].down:
            deeper, leaves = below(child), machine[child] != machine[rank]
            paths.append(Hops(deeper.inside + (not leaves), deeper.between + leaves))
        return max(paths, key=lambda path: path.latency(inside, between))

    (root,) = (rank for rank, branch in enumerate(branches) if branch.up < 0)
    path = below(root)
    return Hops(2 * path.inside, 2 * path.between)
