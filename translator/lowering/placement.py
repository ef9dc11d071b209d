"""Where each rank keeps each chunk: buffers and offsets of a lowered program, and the local copies around it."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hocket.base.errors import ScheduleError
from hocket.schedule import BUFFERS, Collective, Kind

__all__ = ["BEFORE", "LocalCopy", "Placement"]

BEFORE, _AFTER = -1, 2**63 - 1  # times before and after those of all transfers
_INPUT, _OUTPUT, _SCRATCH = (BUFFERS.index(name) for name in "ios")


@dataclass(frozen=True, slots=True)
class LocalCopy:
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
        return self.in_place and self.collective.kind.in_pairs

    @property
    def block(self) -> int:
        """Chunks of one rank's part of the buffer."""
        return self.collective.slots // self.collective.num_ranks

    def user_chunks(self, rank: int) -> tuple[int, int]:
        """Chunks of the rank's input and output buffer."""
        kind, slots = self.collective.kind, self.collective.slots
        whole = slots if rank == self.collective.root or not (kind.in_blocks and kind.rooted) else 0
        return self.block if kind.input_is_block else whole, self.block if kind.output_is_block else whole

    def home(self, rank: NDArray[np.int32], chunk: NDArray[np.int32]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Buffer (position in BUFFERS) and offset at which each rank keeps each chunk (columns of equal length)."""
        kind = self.collective.kind
        if not (kind.reduces or kind.spreads):  # from one rank's part of the input to one rank's part of the output
            return self._home_in_blocks(rank, chunk)
        buffer = np.full(len(rank), _INPUT if self.in_place and not kind.input_is_block else _OUTPUT, np.int64)
        if not self.in_place and kind.output_is_block:
            buffer[:] = _SCRATCH
        if not self.in_place and kind.reduces and kind.rooted:
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
        sent = chunk % block if kind.input_is_block else chunk % slots
        got = chunk % block if kind.output_is_block else source * block + chunk % block
        scratch += slots * self._copied
        return buffer, np.select([rank == source, rank == wanted], [sent, got], scratch).astype(np.int64)

    def copies(self) -> list[LocalCopy]:
        """Local copies, before every transfer and after."""
        return [*self._copies_before(), *self._copies_after()]

    def _copies_before(self) -> list[LocalCopy]:
        kind, slots, block = self.collective.kind, self.collective.slots, self.block
        ranks = range(self.collective.num_ranks)
        if self._copied:
            return [LocalCopy(rank, _INPUT, 0, _SCRATCH, 0, slots, BEFORE) for rank in ranks]
        if self.in_place:
            return []
        if kind.reduces:
            everything = np.arange(self.collective.num_ranks, dtype=np.int32)
            homes, _ = self.home(everything, np.zeros_like(everything))
            return [LocalCopy(rank, _INPUT, 0, int(homes[rank]), 0, slots, BEFORE) for rank in ranks]
        from_start, to_start = (kind.shares_buffer or whole for whole in (kind.input_is_block, kind.output_is_block))
        count = slots if kind.shares_buffer else block
        return [  # what a rank has for itself
            LocalCopy(rank, _INPUT, 0 if from_start else at, _OUTPUT, 0 if to_start else at, count, BEFORE)
            for rank in ([self.collective.root] if kind.rooted else ranks)
            for at in [rank * block]
        ]

    def _copies_after(self) -> list[LocalCopy]:
        if self.in_place or not (self.collective.kind.reduces and self.collective.kind.output_is_block):
            return []
        block, ranks = self.block, range(self.collective.num_ranks)
        return [LocalCopy(rank, _SCRATCH, rank * block, _OUTPUT, 0, block, _AFTER) for rank in ranks]
