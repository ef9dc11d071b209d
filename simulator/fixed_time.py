"""Collectives that take a time which somebody says, such as a library's model."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hocket.base.collectives import BARRIER
from hocket.chakra.steps import NO_STEP
from hocket.schedule import Collective
from hocket.simulator.workload import CollectiveCall, NodeKind, Workload, single_call
from hocket.topology import Crossing

__all__ = ["PIECES", "FixedTime"]

PIECES = 64
"""That bounds take a buffer to be cut into, as libraries pipeline."""


@dataclass(frozen=True, eq=False)
class FixedTime:
    """A time that a collective takes from when its last member comes, whatever else is going on. `members` is how many
    come where each stands for others (None: all)."""

    algorithm: str
    collective: Collective
    time_ps: int
    note: str | None = "collectives that take the time of a model use no links, and nothing holds them up"
    relays: bool = False
    members: int | None = None

    @cached_property
    def workload(self) -> Workload:
        """Every rank comes; rank 0 also waits until all have come; from then on every rank waits for the time."""
        ranks = self.collective.num_ranks if self.members is None else self.members
        come = np.append(0, 3 + 2 * np.arange(ranks - 1))
        all_here, done = 1, np.append(2, come[1:] + 1)
        kind, operand, waits = (np.zeros(2 * ranks + 1, np.int64) for _ in range(3))
        kind[done], operand[done] = NodeKind.DELAY, self.time_ps
        waits[done], waits[all_here] = 1, ranks
        none, zeros = np.zeros(0, np.int32), np.zeros(len(kind), np.int32)
        return replace(
            single_call(CollectiveCall(BARRIER, tuple(range(ranks)), 0), ranks),
            rank_offset=np.append(0, done + 1),
            kind=kind.astype(np.uint8),
            operand=operand,
            member=zeros,
            node_id=np.arange(len(kind), dtype=np.uint64),
            name=zeros,
            step=np.full(len(kind), NO_STEP, np.int64),
            dependency_offset=np.append(0, np.cumsum(waits)),
            dependency=np.concatenate([come, np.full(ranks, all_here)]),
            calls=(),
            call_of=none,
            groups=(),
            group_of=none,
            call_priority=none,
        )

    def ends(self, members: NDArray[np.int32]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """There are no messages."""
        return self.workload.message_src, self.workload.message_dst

    def crossings(self, members: NDArray[np.int32]) -> list[Crossing]:
        """There are no messages."""
        return []

    def verify(self, start_ps: NDArray[np.int64], finish_ps: NDArray[np.int64]) -> None:
        """Nothing is moved."""
