"""What a collective must achieve: which rank holds which chunk before, and which must after."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hocket.core.enums import StrEnum
from hocket.core.errors import ScheduleError

__all__ = ["Collective", "Kind"]


class Kind(StrEnum):
    """The collectives with a meaning of their own; `custom` brings its own conditions."""

    ALL_REDUCE = "all_reduce"
    ALL_GATHER = "all_gather"
    REDUCE_SCATTER = "reduce_scatter"
    ALL_TO_ALL = "all_to_all"
    BROADCAST = "broadcast"
    REDUCE = "reduce"
    GATHER = "gather"
    SCATTER = "scatter"
    CUSTOM = "custom"


_REDUCING = {Kind.ALL_REDUCE, Kind.REDUCE_SCATTER, Kind.REDUCE}
_ROOTED = {Kind.BROADCAST, Kind.REDUCE, Kind.GATHER, Kind.SCATTER}


@dataclass(frozen=True, eq=False)
class Collective:
    """A collective of `size_bytes` over ranks 0..num_ranks-1, cut into chunks.

    `size_bytes` is nccl-tests' "size": the whole buffer of a rank, the larger of input and output (all_gather: the
    output, reduce_scatter: the input; all_to_all, gather, scatter: num_ranks blocks). `chunks` cuts it:

    ==============  =======================  ================================================================
    kind            chunk ids                meaning of chunk c
    ==============  =======================  ================================================================
    all_reduce      0..n*f-1                 slot c of the buffer
    all_gather      0..n*f-1                 output slot c, contributed by rank c // f
    reduce_scatter  0..n*f-1                 input slot c, wanted by rank c // f
    broadcast       0..f-1                   slot c of the root's buffer
    reduce          0..f-1                   slot c, wanted by the root
    gather          0..n*f-1                 slot c of the root's output, contributed by rank c // f
    scatter         0..n*f-1                 slot c of the root's input, wanted by rank c // f
    all_to_all      0..n*n*f-1               c = (source*n + destination)*f + k
    ==============  =======================  ================================================================

    with n = num_ranks and f = chunks_per_rank. Numbering follows MSCCL's (chunk c of an `o` or `i` buffer).
    Raises ScheduleError when a field is out of range.
    """

    kind: Kind
    num_ranks: int
    size_bytes: int
    chunks_per_rank: int = 1
    root: int = 0

    def __post_init__(self) -> None:
        if self.num_ranks < 1:
            raise ScheduleError(f"{self.kind}: num_ranks must be at least 1, got {self.num_ranks}")
        if self.chunks_per_rank < 1:
            raise ScheduleError(f"{self.kind}: chunks_per_rank must be at least 1, got {self.chunks_per_rank}")
        if self.size_bytes < 0:
            raise ScheduleError(f"{self.kind}: size_bytes must not be negative, got {self.size_bytes}")
        if not 0 <= self.root < self.num_ranks:
            raise ScheduleError(f"{self.kind}: root {self.root} is not one of the ranks 0..{self.num_ranks - 1}")
        if self.num_chunks >= 2**31:
            raise ScheduleError(f"{self.kind}: {self.num_chunks} chunks are too many (limit 2^31); use larger chunks")

    @property
    def reducing(self) -> bool:
        """Whether the ranks' contributions to a chunk are summed (every rank contributes to every chunk)."""
        return self.kind in _REDUCING

    @property
    def rooted(self) -> bool:
        return self.kind in _ROOTED

    @property
    def slots(self) -> int:
        """Number of chunks that `size_bytes` is cut into: MSCCL's nchunksperloop."""
        if self.kind in (Kind.BROADCAST, Kind.REDUCE):
            return self.chunks_per_rank
        return self.num_ranks * self.chunks_per_rank

    @property
    def num_chunks(self) -> int:
        return self.slots * self.num_ranks if self.kind is Kind.ALL_TO_ALL else self.slots

    @property
    def bus_factor(self) -> float:
        """busbw / algbw (nccl-tests' PERFORMANCE.md): the share of the buffer that each rank must move."""
        if self.kind in (Kind.BROADCAST, Kind.REDUCE):
            return 1.0
        share = (self.num_ranks - 1) / self.num_ranks
        return 2 * share if self.kind is Kind.ALL_REDUCE else share

    @cached_property
    def chunk_bytes(self) -> NDArray[np.int64]:
        """Bytes of each chunk (length num_chunks): exact, remainders spread evenly, their sum per slot set is exact."""
        edges = np.arange(self.slots + 1, dtype=object) * self.size_bytes // self.slots
        slots = np.diff(edges).astype(np.int64)
        return np.tile(slots, self.num_ranks) if self.kind is Kind.ALL_TO_ALL else slots

    @cached_property
    def origin(self) -> NDArray[np.int32]:
        """The rank that holds each chunk before (length num_chunks); -1 where every rank contributes."""
        chunk = np.arange(self.num_chunks)
        if self.reducing:
            rank = np.full(self.num_chunks, -1)
        elif self.kind in (Kind.BROADCAST, Kind.SCATTER):
            rank = np.full(self.num_chunks, self.root)
        elif self.kind is Kind.ALL_TO_ALL:
            rank = chunk // self.slots
        else:
            rank = chunk // self.chunks_per_rank
        return rank.astype(np.int32)

    @cached_property
    def destination(self) -> NDArray[np.int32]:
        """The one rank that must hold each chunk after (length num_chunks); -1 where every rank must."""
        chunk = np.arange(self.num_chunks)
        if self.kind in (Kind.ALL_REDUCE, Kind.ALL_GATHER, Kind.BROADCAST):
            rank = np.full(self.num_chunks, -1)
        elif self.kind in (Kind.REDUCE, Kind.GATHER):
            rank = np.full(self.num_chunks, self.root)
        elif self.kind is Kind.ALL_TO_ALL:
            rank = chunk % self.slots // self.chunks_per_rank
        else:
            rank = chunk // self.chunks_per_rank
        return rank.astype(np.int32)

    def describe(self) -> str:
        return f"{self.kind} over {self.num_ranks} ranks"
