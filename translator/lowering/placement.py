"""Where each rank keeps each chunk: buffers and offsets of a lowered program, and the local copies around it."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hocket.base.errors import ScheduleError
from hocket.schedule import BUFFERS, Collective, Kind

__all__ = ["LocalStep", "Placement"]

_BEFORE, _AFTER = -1, 2**63 - 1  # times before and after those of all transfers
_INPUT, _OUTPUT, _SCRATCH = (BUFFERS.index(name) for name in "ios")
_IN_PLACE = {
    Kind.ALL_REDUCE: _INPUT,
    Kind.ALL_GATHER: _OUTPUT,
    Kind.REDUCE_SCATTER: _INPUT,
    Kind.BROADCAST: _INPUT,
    Kind.REDUCE: _INPUT,
}
# Chunks go from one rank's part of the input to one rank's part of the output.
_IN_BLOCKS = (Kind.ALL_TO_ALL, Kind.GATHER, Kind.SCATTER)


@dataclass(frozen=True, slots=True)
class LocalStep:
    """`count` chunks copied, or added (`reduce`), on `rank` at a time `at` that says what comes before and after;
    buffers are positions in BUFFERS."""

    rank: int
    source: int
    source_offset: int
    destination: int
    destination_offset: int
    count: int
    at: int
    reduce: bool = False


@dataclass(frozen=True, slots=True)
class Placement:
    """The buffers a program for `collective` works in, for in-place or for out-of-place calls.

    In place everything happens in the one user buffer, but that an all_to_all, whose chunks would overwrite those not
    yet sent, sends from a copy in scratch. Out of place the input is first copied to where the result (or, where the
    output is too small, scratch) is built, so that the caller's input stays as it was.
    """

    collective: Collective
    in_place: bool

    def __post_init__(self) -> None:
        kind = self.collective.kind
        if kind is Kind.CUSTOM:
            raise ScheduleError("a custom collective has no buffers that a runtime knows: no MSCCL program can say it")

    @property
    def _copied(self) -> bool:
        """Whether chunks are sent from a copy of the input in scratch."""
        return self.in_place and self.collective.kind is Kind.ALL_TO_ALL

    @property
    def block(self) -> int:
        """Chunks of one rank's part of the buffer."""
        return self.collective.slots // self.collective.num_ranks

    def user_chunks(self, rank: int) -> tuple[int, int]:
        """Chunks of the rank's input and output buffer."""
        slots, at_root = self.collective.slots, rank == self.collective.root
        return {
            Kind.ALL_GATHER: (self.block, slots),
            Kind.REDUCE_SCATTER: (slots, self.block),
            Kind.GATHER: (self.block, slots * at_root),
            Kind.SCATTER: (slots * at_root, self.block),
        }.get(self.collective.kind, (slots, slots))

    def home(self, rank: NDArray[np.int32], chunk: NDArray[np.int32]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Buffer (position in BUFFERS) and offset at which each rank keeps each chunk (columns of equal length)."""
        kind = self.collective.kind
        if kind in _IN_BLOCKS:
            return self._home_in_blocks(rank, chunk)
        buffer = np.full(len(rank), _IN_PLACE[kind] if self.in_place else _OUTPUT, np.int64)
        if not self.in_place and kind is Kind.REDUCE_SCATTER:
            buffer[:] = _SCRATCH
        if not self.in_place and kind is Kind.REDUCE:
            buffer[rank != self.collective.root] = _SCRATCH
        return buffer, chunk.astype(np.int64)

    def _home_in_blocks(
        self, rank: NDArray[np.int32], chunk: NDArray[np.int32]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """all_to_all, gather, scatter: input, or its copy in scratch, at the source, output at the destination, scratch
        of its own on the way."""
        kind, slots, block = self.collective.kind, self.collective.slots, self.block
        source, wanted = self.collective.origin[chunk], self.collective.destination[chunk]
        first, last = (_SCRATCH, _INPUT) if self._copied else (_INPUT, _OUTPUT)
        buffer = np.select([rank == source, rank == wanted], [first, last], _SCRATCH).astype(np.int64)
        passing = np.unique(np.stack([rank, chunk])[:, (rank != source) & (rank != wanted)], axis=1)
        base = np.searchsorted(passing[0], np.arange(self.collective.num_ranks))
        key = passing[0].astype(np.int64) * self.collective.num_chunks + passing[1]
        scratch = np.searchsorted(key, rank.astype(np.int64) * self.collective.num_chunks + chunk) - base[rank]
        sent = chunk % block if kind is Kind.GATHER else chunk % slots
        got = chunk % block if kind is Kind.SCATTER else source * block + chunk % block
        scratch += slots * self._copied
        return buffer, np.select([rank == source, rank == wanted], [sent, got], scratch).astype(np.int64)

    def copies(self) -> list[LocalStep]:
        """Local copies, before every transfer and after."""
        return [*self._copies_before(), *self._copies_after()]

    def _copies_before(self) -> list[LocalStep]:
        kind, slots, block = self.collective.kind, self.collective.slots, self.block
        ranks = range(self.collective.num_ranks)
        if self._copied:
            return [LocalStep(rank, _INPUT, 0, _SCRATCH, 0, slots, _BEFORE) for rank in ranks]
        if self.in_place:
            return []
        if kind is Kind.ALL_TO_ALL:
            return [LocalStep(rank, _INPUT, rank * block, _OUTPUT, rank * block, block, _BEFORE) for rank in ranks]
        if kind is Kind.ALL_GATHER:
            return [LocalStep(rank, _INPUT, 0, _OUTPUT, rank * block, block, _BEFORE) for rank in ranks]
        root = self.collective.root
        if kind is Kind.BROADCAST:
            return [LocalStep(root, _INPUT, 0, _OUTPUT, 0, slots, _BEFORE)]
        if kind is Kind.GATHER:
            return [LocalStep(root, _INPUT, 0, _OUTPUT, root * block, block, _BEFORE)]
        if kind is Kind.SCATTER:
            return [LocalStep(root, _INPUT, root * block, _OUTPUT, 0, block, _BEFORE)]
        everything = np.arange(self.collective.num_ranks, dtype=np.int32)
        homes, _ = self.home(everything, np.zeros_like(everything))
        return [LocalStep(rank, _INPUT, 0, int(homes[rank]), 0, slots, _BEFORE) for rank in ranks]

    def _copies_after(self) -> list[LocalStep]:
        if self.in_place or self.collective.kind is not Kind.REDUCE_SCATTER:
            return []
        block, ranks = self.block, range(self.collective.num_ranks)
        return [LocalStep(rank, _SCRATCH, rank * block, _OUTPUT, 0, block, _AFTER) for rank in ranks]
