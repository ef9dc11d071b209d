"""What a collective must achieve: which rank holds which chunk before, and which must after."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hocket._core.schedule import RankSets
from hocket.base.collectives import NAMED_KINDS, Held, Kind
from hocket.base.enums import assert_never
from hocket.base.errors import ScheduleError
from hocket.schedule.conditions import EVERYONE, Conditions, RankSetTable, rank_sets

__all__ = ["NAMED_KINDS", "Collective", "Kind"]


# Sums over all ranks stay exact in 64 bits.
_MOST_BYTES = 2**55


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

    `block_bytes` are the sizes of blocks that differ (`Collective.uneven`): what each rank contributes to an all_gather
    or gather, or wants from a reduce_scatter or scatter (n), or what rank s has for rank d of an all_to_all (n*n, at
    s*n + d). `size_bytes` is then the largest buffer of a rank. Empty blocks are not sent, as in NCCL's all_to_all_v.

    `cut_whole`: of an all_reduce, f cuts the whole buffer (chunks 0..f-1), as a broadcast's: where n*f chunks would not
    divide what is reduced, such as powers of two on 72 ranks.

    A `custom` collective has `conditions` (`Collective.custom`) and numbers its chunks as these do. Ranks that
    contribute to a chunk or must hold it are sets by number: a rank, -1 every rank, -2 - k the k-th of `sets`.
    Raises ScheduleError when a field is out of range.
    """

    kind: Kind
    num_ranks: int
    size_bytes: int
    chunks_per_rank: int = 1
    root: int = 0
    block_bytes: tuple[int, ...] | None = None
    conditions: Conditions | None = None
    cut_whole: bool = False

    @classmethod
    def uneven(
        cls, kind: Kind, num_ranks: int, block_bytes: Sequence[int], chunks_per_rank: int = 1, root: int = 0
    ) -> "Collective":
        """A collective whose blocks differ in size. Raises ScheduleError for a kind without blocks, or a wrong number
        of them."""
        blocks = tuple(block_bytes)
        return cls(kind, num_ranks, _largest_buffer(kind, num_ranks, blocks), chunks_per_rank, root, blocks)

    @classmethod
    def custom(cls, num_ranks: int, conditions: Conditions) -> "Collective":
        """A collective with conditions of its own; its size is the largest input or output of a rank."""
        num_chunks, size_bytes = conditions.shape(num_ranks)
        return cls(Kind.CUSTOM, num_ranks, size_bytes, num_chunks, conditions=conditions)

    def __post_init__(self) -> None:
        if self.num_ranks < 1:
            raise ScheduleError(f"{self.kind}: num_ranks must be at least 1, got {self.num_ranks}")
        if self.chunks_per_rank < 1:
            raise ScheduleError(f"{self.kind}: chunks_per_rank must be at least 1, got {self.chunks_per_rank}")
        if self.size_bytes < 0:
            raise ScheduleError(f"{self.kind}: size_bytes must not be negative, got {self.size_bytes}")
        if self.size_bytes >= _MOST_BYTES:
            raise ScheduleError(f"{self.kind}: size_bytes must be below 2^55 (32 PiB), got {self.size_bytes}")
        if not 0 <= self.root < self.num_ranks:
            raise ScheduleError(f"{self.kind}: root {self.root} is not one of the ranks 0..{self.num_ranks - 1}")
        if self.block_bytes is not None:
            largest = _largest_buffer(self.kind, self.num_ranks, self.block_bytes)
            if self.size_bytes != largest:
                raise ScheduleError(f"{self.kind}: size_bytes is {self.size_bytes}, but the blocks make {largest}")
        if self.cut_whole and not (self.kind.cut_by_rank and self.kind.shares_buffer):
            raise ScheduleError(f"{self.kind}: cut_whole is for all_reduce, whose chunks are no rank's own")
        if (self.kind is Kind.CUSTOM) != (self.conditions is not None):
            raise ScheduleError(f"{self.kind}: conditions belong to custom collectives, and these need some")
        if self.conditions is not None and self.conditions.shape(self.num_ranks) != (self.num_chunks, self.size_bytes):
            raise ScheduleError(f"{self.kind}: chunks_per_rank or size_bytes are not those of its conditions")
        if self.num_chunks >= 2**31:
            raise ScheduleError(f"{self.kind}: {self.num_chunks} chunks are too many (limit 2^31); use larger chunks")

    def without_bytes(self) -> "Collective":
        """The same chunks, all empty."""
        if self.conditions is None:
            return replace(self, size_bytes=0, block_bytes=None)
        return Collective.custom(self.num_ranks, replace(self.conditions, chunk_bytes=0 * self.conditions.chunk_bytes))

    @property
    def reducing(self) -> bool:
        """Whether the ranks' contributions to a chunk are summed (except in `custom`, of every rank to every chunk)."""
        if self.conditions is not None:
            return bool((self.conditions.origin < 0).any())
        return self.kind.reduces

    @cached_property
    def sets(self) -> RankSets:
        """The engine's view of the sets of ranks."""
        return rank_sets(self.num_ranks, () if self.conditions is None else self.conditions.sets)

    def members(self, number: int) -> tuple[int, ...]:
        """The ranks that a set's number stands for, ascending."""
        if number >= 0:
            return (number,)
        if self.conditions is None or number == EVERYONE:
            return tuple(range(self.num_ranks))
        return self.conditions.sets[-2 - number]

    def renumbered(
        self, numbers: NDArray[np.int32], ranks: NDArray[np.integer[Any]], table: RankSetTable
    ) -> NDArray[np.int32]:
        """Sets by number as those of `table`, where rank i is called `ranks[i]`."""
        known, inverse = np.unique(numbers, return_inverse=True)
        new = [table.number(ranks[list(self.members(number))].tolist()) for number in known.tolist()]
        return np.array(new, np.int32)[inverse]

    @property
    def rooted(self) -> bool:
        return self.kind.rooted

    @property
    def slots(self) -> int:
        """Number of chunks that `size_bytes` is cut into: MSCCL's nchunksperloop."""
        by_rank = self.kind.cut_by_rank and not self.cut_whole
        return self.num_ranks * self.chunks_per_rank if by_rank else self.chunks_per_rank

    @property
    def num_chunks(self) -> int:
        return self.slots * self.num_ranks if self.kind.in_pairs else self.slots

    @property
    def spreads(self) -> bool:
        """Whether some chunks must get to several ranks."""
        if self.conditions is not None:
            return bool((self.conditions.destination < 0).any())
        return self.kind.spreads

    @property
    def num_deliveries(self) -> int:
        """Messages of one chunk each that it takes at least, when no message brings what is not needed."""
        if self.conditions is not None:
            return self.num_chunks
        return self.num_chunks * max(1, (self.num_ranks - 1) * (self.reducing + self.spreads))

    @property
    def bus_factor(self) -> float:
        """busbw / algbw (nccl-tests' PERFORMANCE.md): the share of the buffer that each rank must move."""
        return self.kind.bus_factor(self.num_ranks)

    @cached_property
    def chunk_bytes(self) -> NDArray[np.int64]:
        """Bytes of each chunk (length num_chunks): exact, remainders spread evenly, their sum per slot set is exact."""
        if self.conditions is not None:
            return self.conditions.chunk_bytes
        if self.block_bytes is not None:
            # Python's own numbers, where products of blocks and chunks would not fit into 64 bits.
            fits = max(self.block_bytes) * self.chunks_per_rank < 2**63
            blocks = np.array(self.block_bytes, np.int64 if fits else object)[:, None]
            edges = blocks * np.arange(self.chunks_per_rank + 1) // self.chunks_per_rank
            return np.diff(edges).astype(np.int64).ravel()
        return np.tile(self.slot_bytes, self.num_ranks) if self.kind.in_pairs else self.slot_bytes

    @cached_property
    def slot_bytes(self) -> NDArray[np.int64]:
        """Of each slot of a rank's buffer (length slots) where blocks are even."""
        edges = np.arange(self.slots + 1, dtype=object) * self.size_bytes // self.slots
        return np.diff(edges).astype(np.int64)

    @property
    def even(self) -> bool:
        """Whether the chunks' sizes differ by a byte at most, and all are sent."""
        return self.block_bytes is None and self.conditions is None

    @property
    def even_exchange(self) -> bool:
        """Whether it is an all_to_all whose chunks, some for each pair of ranks, need not be looked at one by one."""
        return self.kind.in_pairs and self.even

    @cached_property
    def smallest_chunk_bytes(self) -> int:
        """Of the chunks that are sent; there must be one."""
        return self.size_bytes // self.slots if self.even else int(self.chunk_bytes[self.sent].min())

    @cached_property
    def largest_chunk_bytes(self) -> int:
        """Of all chunks."""
        return -(-self.size_bytes // self.slots) if self.even else int(self.chunk_bytes.max())

    @cached_property
    def sent(self) -> NDArray[np.bool_]:
        """Which chunks travel: all, but for the empty ones of uneven blocks."""
        return self.chunk_bytes > 0 if self.block_bytes is not None else np.ones(self.num_chunks, np.bool_)

    @cached_property
    def origin(self) -> NDArray[np.int32]:
        """The rank that holds each chunk before (length num_chunks); -1 where every rank contributes."""
        if self.conditions is not None:
            return self.conditions.origin
        chunk = np.arange(self.num_chunks)
        return self._held_by(self.kind.before, chunk // (self.slots if self.kind.in_pairs else self.chunks_per_rank))

    @cached_property
    def destination(self) -> NDArray[np.int32]:
        """The one rank that must hold each chunk after (length num_chunks); -1 where every rank must."""
        if self.conditions is not None:
            return self.conditions.destination
        return self._held_by(self.kind.after, np.arange(self.num_chunks) % self.slots // self.chunks_per_rank)

    def _held_by(self, held: Held, owner: NDArray[np.int64]) -> NDArray[np.int32]:
        """The rank that holds each chunk, which is a part of the block of rank `owner`; -1: all do."""
        match held:
            case Held.EVERYONE:
                return np.full(self.num_chunks, EVERYONE, np.int32)
            case Held.ROOT:
                return np.full(self.num_chunks, self.root, np.int32)
            case Held.OWNER:
                return owner.astype(np.int32)
            case Held.CONDITIONS:
                raise ScheduleError(f"{self.kind} has no conditions")
            case _:
                assert_never(held)

    @property
    def name(self) -> str:
        """For people: the kind, or `barrier` where that is what the conditions are."""
        barrier = self.conditions is not None and self.conditions.is_barrier(self.num_ranks)
        return "barrier" if barrier else str(self.kind)

    def describe(self) -> str:
        return f"{self.name} over {self.num_ranks} ranks"


def _largest_buffer(kind: Kind, num_ranks: int, block_bytes: tuple[int, ...]) -> int:
    """The largest input or output of a rank. Raises ScheduleError where these are no blocks of the kind."""
    wanted = num_ranks**2 if kind.in_pairs else num_ranks if kind.in_blocks else 0
    if not wanted:
        raise ScheduleError(f"{kind}: its ranks' sizes cannot differ")
    if len(block_bytes) != wanted:
        raise ScheduleError(f"{kind} of {num_ranks} ranks has {wanted} blocks, got the sizes of {len(block_bytes)}")
    if min(block_bytes) < 0:
        raise ScheduleError(f"{kind}: the size of a block must not be negative, got {min(block_bytes)}")
    if not kind.in_pairs:
        return sum(block_bytes)
    blocks = np.array(block_bytes, object).reshape(num_ranks, num_ranks)
    return int(max(blocks.sum(axis=0).max(), blocks.sum(axis=1).max()))
