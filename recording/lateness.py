"""What a rank was late by, once over all its groups: who comes late to the collectives of two groups at one time, or
after one piece of work, is late once."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hocket.recording.intervals import covered

__all__ = ["GroupLateness", "Owed", "owed_once", "waited_once"]

Numbers = NDArray[np.int64]

_NOTHING = np.empty((3, 0), np.int64)
_MOST = 1 << 14  # of a group
_COARSEST = 62  # a grain with which all times are one


class GroupLateness:
    """When each of so many members of a group alone was waited for, and what it owes by its own work: `add` in order,
    in pieces of any size. Beyond `most` times of waiting, or pieces of work, neighbours of a member become one: of as
    much in all, so that a group by itself stays exact, and only what several groups have in common is told less
    finely. Takes at most some 150 bytes for each of `most`, and for each member."""

    def __init__(self, members: int, most: int = _MOST) -> None:
        self._members, self._most = members, most
        self._waited = [_NOTHING]  # member, begin, end
        self._owed = [_NOTHING]  # member, since when it worked, what it owes of that work
        self._grain = 0  # of the times since when somebody worked: powers of two ns

    def add(self, latest: Numbers, arrived: Numbers, delay: Numbers, since: Numbers, owed: Numbers) -> None:
        """Of collectives: the member that came last, when, how long it was waited for, what it owes of what it worked
        `since` a time, beyond what it did at those before."""
        self._waited.append(np.stack([latest, arrived - delay, arrived])[:, delay > 0])
        self._owed.append(np.stack([latest, since, owed])[:, owed > 0])
        if _columns(self._waited) > 2 * self._most:
            self._waited = [_halved(np.concatenate(self._waited, axis=1), self._most)]
        if _columns(self._owed) > 2 * self._most:
            self._coarsen()

    def _coarsen(self) -> None:
        table = np.concatenate(self._owed, axis=1)
        while True:
            table[1] = table[1] >> self._grain << self._grain
            places, which = np.unique(table[:2], axis=1, return_inverse=True)
            if places.shape[1] <= max(self._most, self._members) or self._grain >= _COARSEST:
                break
            self._grain += 1
        sums = np.zeros(places.shape[1], np.int64)
        np.add.at(sums, which.ravel(), table[2])
        self._owed = [np.vstack([places, sums])]

    def waited(self) -> list[Numbers]:
        """Of each member begins and ends of the times in which it was waited for."""
        return self._by_member(np.concatenate(self._waited, axis=1))

    def owed(self) -> "list[Owed]":
        """Of each member since when it worked, and what it owes of that."""
        return [Owed(self._grain, table) for table in self._by_member(np.concatenate(self._owed, axis=1))]

    def _by_member(self, table: Numbers) -> list[Numbers]:
        table = table[:, np.argsort(table[0], kind="stable")]
        return np.split(table[1:], np.searchsorted(table[0], np.arange(1, self._members)), axis=1)


class Owed(NamedTuple):
    """Since when somebody worked, in steps of 2^`grain` ns, and what it owes of that (2 x N)."""

    grain: int
    table: Numbers


def waited_once(of_groups: Sequence[Numbers]) -> int:
    """ns in which any of a rank's groups waited for it alone."""
    begin, end = np.concatenate([_NOTHING[1:], *of_groups], axis=1)
    return covered(begin, end)


def owed_once(of_groups: Sequence[Owed]) -> int:
    """ns that a rank owes: of each piece of work what it owes to the group that it owes most."""
    grain = max((owed.grain for owed in of_groups), default=0)
    tables = [_summed(owed.table[0] >> grain, owed.table[1]) for owed in of_groups]
    since, owes = np.concatenate([_NOTHING[1:], *tables], axis=1)
    works, which = np.unique(since, return_inverse=True)
    most = np.zeros(len(works), np.int64)
    np.maximum.at(most, which, owes)
    return int(most.sum())


def _summed(since: Numbers, owed: Numbers) -> Numbers:
    works, which = np.unique(since, return_inverse=True)
    sums = np.zeros(len(works), np.int64)
    np.add.at(sums, which, owed)
    return np.stack([works, sums])


def _columns(pieces: Sequence[Numbers]) -> int:
    return sum(piece.shape[1] for piece in pieces)


def _halved(table: Numbers, most: int) -> Numbers:
    """Intervals of members, in order, of which neighbours of a member become one as long as both, until at most `most`
    are left, or one of each member: the one ends with the later, and no interval overlaps another of its member."""
    table = table[:, np.argsort(table[0], kind="stable")]
    while table.shape[1] > most:
        first = np.r_[True, table[0, 1:] != table[0, :-1]]
        within = np.arange(table.shape[1]) - np.maximum.accumulate(np.where(first, np.arange(table.shape[1]), 0))
        leads = np.flatnonzero(within % 2 == 0)
        if len(leads) == table.shape[1]:
            break
        lengths = np.add.reduceat(table[2] - table[1], leads)
        ends = table[2, np.r_[leads[1:], table.shape[1]] - 1]
        table = np.stack([table[0, leads], ends - lengths, ends])
    return table
