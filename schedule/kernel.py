"""What the kernels of a collective do where switches compute: groups of warps that loop over chunks on every rank.

A program of thread blocks (`Program`) knows two ends of a connection. Where switches add and copy, a chunk has many:
a load that reduces (multimem.ld_reduce) pulls it from all ranks of a machine at once, a store that multicasts brings it
to all, and SHARP adds between machines. So this model says, for one pass of the loops, what waits for what; the next
pass does the same with the next bytes.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from hocket.schedule.collective import Collective, Kind
from hocket.schedule.conditions import Conditions
from hocket.topology import Crossing

__all__ = ["Actions", "Kernel", "Move", "Wait", "Work"]


@dataclass(frozen=True, slots=True)
class Wait:
    """For `action` of the pass `lag` before: a move is done at `rank` (-1: everywhere) when it has arrived there."""

    action: int
    rank: int = -1
    lag: int = 0


@dataclass(frozen=True, slots=True)
class Work:
    """A group of warps of `rank` has what it waits for, moves `chunk` (-1: nothing) at its GPU's pace, in turn with the
    GPU's other works, and is done `latency_ps` later."""

    rank: int
    waits: tuple[Wait, ...]
    chunk: int = -1
    latency_ps: int = 0


@dataclass(frozen=True, slots=True)
class Move:
    """`chunk` goes from `sources`, the k-th of which sends when the work `begins[k]` is done, to `targets`: of several
    sources summed, to several targets copied, by the switches that compute between them. They take it, or with `reduce`
    add it to what they have. It is there no sooner than `latency_ps` after the last of `begins`.

    Of one source and one target on two machines, `crossing` says over which ports (None: the shortest way).

    A rank that is source and target sends and receives through the switch as the others do.
    """

    chunk: int
    sources: tuple[int, ...]
    begins: tuple[int, ...]
    targets: tuple[int, ...]
    reduce: bool = False
    latency_ps: int = 0
    crossing: Crossing | None = None

    @property
    def in_network(self) -> bool:
        return len(self.sources) + len(self.targets) > 2


class Actions:
    """Makes the actions of a kernel one by one; each has a number."""

    def __init__(self) -> None:
        self._made: list[Work | Move] = []

    def work(self, rank: int, *waits: Wait, chunk: int = -1, latency_ps: int = 0) -> int:
        self._made.append(Work(rank, waits, chunk, latency_ps))
        return len(self._made) - 1

    def move(self, move: Move) -> int:
        self._made.append(move)
        return len(self._made) - 1

    def wait(self, action: int, *waits: Wait) -> None:
        """A work waits for more, such as what comes after it in a pass."""
        work = self._made[action]
        assert isinstance(work, Work)
        self._made[action] = replace(work, waits=(*work.waits, *waits))

    def __iter__(self) -> Iterator[Work | Move]:
        return iter(self._made)


@dataclass(frozen=True, eq=False)
class Kernel:
    """A call of `kind` on `size_bytes` (as nccl-tests counts it) by ranks 0..num_ranks-1.

    Pass p does all `actions` (those of a rank in their order where they are ready at once), with `chunk_bytes[p, k]`
    (int64) bytes of chunk k. `owner[k]` (int32) is the rank that contributes chunk k to an all_gather, or wants it of a
    reduce_scatter; -1 in an all_reduce. A GPU works at `bandwidth` bytes/s.
    """

    name: str
    kind: Kind
    num_ranks: int
    size_bytes: int
    bandwidth: int
    chunk_bytes: NDArray[np.int64]
    owner: NDArray[np.int32]
    actions: tuple[Work | Move, ...] = field(repr=False)

    @property
    def passes(self) -> int:
        return len(self.chunk_bytes)

    @property
    def chunks(self) -> Collective:
        """What a call achieves, chunk by chunk as it moves them: chunk k of pass p is p * chunks + k."""
        owner = np.tile(self.owner, self.passes)
        everyone = np.full_like(owner, -1)
        origin = owner if self.kind is Kind.ALL_GATHER else everyone
        destination = owner if self.kind is Kind.REDUCE_SCATTER else everyone
        return Collective.custom(self.num_ranks, Conditions(origin, destination, self.chunk_bytes.ravel()))

    @property
    def collective(self) -> Collective:
        """What a call achieves, in chunks no larger than the smallest that it moves."""
        smallest = int(self.chunk_bytes[self.chunk_bytes > 0].min())
        parts = -(-self.size_bytes // (smallest * self.num_ranks))
        return Collective(self.kind, self.num_ranks, self.size_bytes, parts)
