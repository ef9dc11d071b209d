"""What a custom collective asks for: who has each chunk before, and who must have it after."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hocket._core.schedule import RankSets
from hocket.base.errors import ScheduleError

__all__ = ["EVERYONE", "Chunk", "Conditions", "RankSetTable", "rank_sets"]

EVERYONE = -1


class Chunk(NamedTuple):
    """A chunk of a custom collective: `bytes` that the ranks `origin` contribute (several are summed), and that those
    of `wanted` must hold in the end."""

    origin: Iterable[int]
    wanted: Iterable[int]
    bytes: int


class RankSetTable:
    """Gives sets of ranks numbers: a rank alone is its own, -1 is every rank, and -2 - k the k-th of `sets`."""

    def __init__(self, num_ranks: int) -> None:
        self._num_ranks = num_ranks
        self._number: dict[tuple[int, ...], int] = {}

    def number(self, ranks: Iterable[int]) -> int:
        """The number of a set. Raises ScheduleError for none at all, or one that leaves the ranks."""
        members = tuple(sorted({int(rank) for rank in ranks}))
        if not members or members[0] < 0 or members[-1] >= self._num_ranks:
            raise ScheduleError(f"{list(members)} is no set of ranks of 0..{self._num_ranks - 1}")
        if len(members) == 1:
            return members[0]
        if len(members) == self._num_ranks:
            return EVERYONE
        return self._number.setdefault(members, -2 - len(self._number))

    @property
    def sets(self) -> tuple[tuple[int, ...], ...]:
        return tuple(self._number)


@dataclass(frozen=True, eq=False)
class Conditions:
    """Columns over the chunks: `origin` and `destination` (int32) are the sets of ranks that contribute to the chunk
    before and must hold it after, by number (a rank, -1 every rank, -2 - k those of `sets[k]`, which ascend);
    `chunk_bytes` int64."""

    origin: NDArray[np.int32]
    destination: NDArray[np.int32]
    chunk_bytes: NDArray[np.int64]
    sets: tuple[tuple[int, ...], ...] = ()

    @classmethod
    def of(cls, num_ranks: int, chunks: Iterable[Chunk]) -> "Conditions":
        """Raises ScheduleError for ranks beyond 0..num_ranks-1, a chunk without ranks, or negative bytes."""
        table, rows = RankSetTable(num_ranks), []
        for at, chunk in enumerate(chunks):
            if not 0 <= chunk.bytes < 2**63:
                raise ScheduleError(f"chunk {at}: {chunk.bytes} is no number of bytes from 0 to 2^63 - 1")
            rows.append((table.number(chunk.origin), table.number(chunk.wanted), chunk.bytes))
        if not rows:
            raise ScheduleError("a custom collective needs one chunk or more")
        columns = np.array(rows, np.int64)
        return cls(columns[:, 0].astype(np.int32), columns[:, 1].astype(np.int32), columns[:, 2].copy(), table.sets)

    def is_barrier(self, num_ranks: int) -> bool:
        """Whether the chunks are but words, without bytes, and everybody hears from everybody."""
        heard = {rank for number in set(self.origin.tolist()) for rank in self.members(number, num_ranks)}
        told = all(number == EVERYONE for number in self.destination.tolist())
        return told and not self.chunk_bytes.any() and len(heard) == num_ranks

    @property
    def mirrored(self) -> "Conditions":
        """With before and after swapped."""
        return replace(self, origin=self.destination, destination=self.origin)

    def shape(self, num_ranks: int) -> tuple[int, int]:
        """The number of chunks, and the most bytes that a rank contributes or must hold.

        Raises ScheduleError when the columns differ in length or point at no ranks.
        """
        sizes, sets = self.chunk_bytes.tolist(), rank_sets(num_ranks, self.sets)
        if not 0 < len(sizes) == len(self.origin) == len(self.destination) or min(sizes) < 0:
            raise ScheduleError("conditions need columns of one length, at least 1, and no chunk of negative bytes")
        totals = [0]
        for what, numbers in (("the origin", self.origin), ("the destination", self.destination)):
            sets.check(numbers, what)
            of_number: dict[int, int] = {}
            for number, size in zip(numbers.tolist(), sizes, strict=True):
                of_number[number] = of_number.get(number, 0) + size
            total = [of_number.get(rank, 0) for rank in range(num_ranks)]
            for number in of_number.keys() - range(num_ranks):
                for rank in self.members(number, num_ranks):
                    total[rank] += of_number[number]
            totals += total
        return len(sizes), max(totals)

    def half(self, order: Sequence[int], first: bool) -> "Conditions":
        """What brings each chunk to one rank that owns it (`first`), or from there to where it is wanted.

        Chunks of one contributor or one destination are owned there; of the others each set of ranks that wants them
        owns one in turn, in the given order of all ranks.
        """
        turns: dict[int, int] = {}
        owner = np.where(self.origin >= 0, self.origin, self.destination)
        for chunk in np.flatnonzero(owner < 0).tolist():
            wanted = int(self.destination[chunk])
            members = order if wanted == EVERYONE else sorted(self.sets[-2 - wanted], key=list(order).index)
            turn = turns.get(wanted, 0)
            owner[chunk], turns[wanted] = members[turn % len(members)], turn + 1
        return replace(self, destination=owner) if first else replace(self, origin=owner)

    def members(self, number: int, num_ranks: int) -> tuple[int, ...]:
        """The ranks that a number stands for."""
        if number >= 0:
            return (number,)
        return tuple(range(num_ranks)) if number == EVERYONE else self.sets[-2 - number]


def rank_sets(num_ranks: int, sets: Iterable[Iterable[int]]) -> RankSets:
    """The engine's view of listed sets. Raises ScheduleError when one is empty, not ascending or leaves the ranks."""
    lists = [list(members) for members in sets]
    offset = np.cumsum([0, *map(len, lists)], dtype=np.int64)
    return RankSets(num_ranks, offset, np.array([rank for members in lists for rank in members], np.int32))
