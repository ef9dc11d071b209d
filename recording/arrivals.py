"""Who arrives last at collectives, and how long all others then wait for it by its own doing.

Two measures. The *delay* of who comes last runs from the arrival of the last but one to its own. Its *own* part is at
most what it worked longer, since its last wait, than any other had: who was let go late by the collective before, or
waited for a third, is late by none of its doing; and what it is late by until it waits again counts once
(`counted_once`), as do successive delays that overlap in time; also over several groups (`lateness`). Both count what
computation beside an asynchronous collective hides.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hocket.recording.alignment import Clock
from hocket.recording.blocks import BlockSums
from hocket.recording.chance import CostTable
from hocket.recording.counted_once import CountedOnce
from hocket.recording.lateness import GroupLateness, Owed, owed_once, waited_once
from hocket.recording.matching import ABSENT, Matched
from hocket.recording.waits import NONE

__all__ = ["Arrivals", "GroupArrivals", "Machines", "arrivals"]

Numbers = NDArray[np.int64]

_BINS = 64  # of own delays, by their binary logarithm


@dataclass(frozen=True)
class Arrivals:
    """Of the `of` collectives that no rank leaves before all have come, the rank came last to `last`.

    All others then waited for it alone: `delay_ns` in all, `own_ns` of it by its own work, what several groups waited
    at one time counted once; at worst `worst_ns`, in the collective `worst`. Half of what it owes by its own work comes
    from about `few` collectives.
    """

    rank: int
    of: int
    last: int
    delay_ns: int
    own_ns: int
    worst_ns: int
    worst: str
    few: int


class Machines:
    """Which ranks share a clock, and how far clocks may be apart."""

    def __init__(self, clocks: Sequence[Clock], boots: Mapping[int, str]) -> None:
        names = {boot: number for number, boot in enumerate(dict.fromkeys(boots.values()))}
        self.of = {rank: names[boot] for rank, boot in boots.items()}
        # Of wall clocks nothing is known: no delay between such machines counts.
        self.uncertainty = {
            clock.rank: NONE if clock.uncertainty_ns is None else clock.uncertainty_ns for clock in clocks
        }


class GroupArrivals:
    """The arrivals at a group's collectives, counted as they come: `add` them in order, in pieces of any size."""

    def __init__(self, ranks: Sequence[int], machines: Machines) -> None:
        count = len(ranks)
        self.ranks = tuple(ranks)
        self.of, self.last, self.worst = (np.zeros(count, np.int64) for _ in range(3))
        self.late = GroupLateness(count)
        self.places = [""] * count
        self.own = BlockSums(count)
        self._once_a_work = CountedOnce(count)
        self._machine = np.array([machines.of[rank] for rank in ranks])
        self._slack = np.array([machines.uncertainty[rank] for rank in ranks])
        self._until = np.full(count, NONE)  # when each rank's latest delay ended
        self._bins = np.zeros((count, _BINS), np.int64)  # how many
        self._in_bins = np.zeros((count, _BINS), np.int64)  # their sum in ns
        self.machines, sizes = np.unique(self._machine, return_counts=True)
        several = len(sizes) > 1 and sizes[0] > 1 and (sizes == sizes[0]).all()
        self.of_machines = BlockSums(len(self.machines)) if several else None  # of machines of one size
        self._once_a_machines_work = CountedOnce(len(self.machines))
        self._late_machines = GroupLateness(len(self.machines))

    def add(self, group: Matched) -> None:
        """Counts the next collectives; `group` has them, its rows being the same ranks as ever."""
        there = group.rows != ABSENT
        columns = np.flatnonzero(group.synchronizing & (there.sum(axis=0) > 1))
        if len(columns) == 0:
            return
        start, own, step = group.start[:, columns], group.own[:, columns], group.step[columns]
        self.of += there[:, columns].sum(axis=1)
        latest = len(self.ranks) - 1 - start[::-1].argmax(axis=0)  # the last of those that come at one time
        arrived = start.max(axis=0)
        alone = self._alone(start, latest, arrived)
        delay = self._once(latest, arrived, alone)
        blamed = np.minimum(delay, _beyond_others(own, latest))
        since = arrived - own[latest, np.arange(len(latest))]
        blamed = self._once_a_work.take(latest, since, blamed)
        self.late.add(latest, arrived, delay, since, blamed)
        costs = _spread(blamed, latest, len(self.ranks))
        self.own.add(costs, step)
        self._count(group, columns, latest, alone, blamed)
        if self.of_machines is not None:
            self.of_machines.add(self._by_machine(start, own), step)

    def table(self, places: Mapping[int, int]) -> CostTable:
        """What the ranks owe by their own work, by blocks; `places` of ranks among all units."""
        return CostTable(np.array([places[rank] for rank in self.ranks]), self.own.sums)

    def table_of_machines(self, machines: Sequence[int]) -> CostTable:
        """The same of machines, where the group has as many ranks on each; `machines` are all units."""
        assert self.of_machines is not None
        return CostTable(np.searchsorted(machines, self.machines), self.of_machines.sums)

    def owed_by_machines(self) -> dict[int, Owed]:
        """Of each machine since when it worked and what it owes of that, where it is counted."""
        return dict(zip(self.machines.tolist(), self._late_machines.owed(), strict=True))

    def rows(self) -> list[tuple[int, Numbers, str, Numbers]]:
        """Of each rank: itself, [of, last, worst], the worst's place, its bins."""
        numbers = np.stack([self.of, self.last, self.worst], axis=1)
        return [
            (rank, numbers[member], self.places[member], np.stack([self._bins[member], self._in_bins[member]]))
            for member, rank in enumerate(self.ranks)
        ]

    def _alone(self, start: Numbers, latest: Numbers, arrived: Numbers) -> Numbers:
        """How long all others had surely been there, clocks being as uncertain as they are, when the last came."""
        columns = np.arange(start.shape[1])
        others = start.copy()
        others[latest, columns] = NONE
        if len(self.machines) > 1:
            unknown = self._slack == NONE
            between = self._machine[:, None] != self._machine[latest]
            slack = np.where(between, self._slack[:, None] + self._slack[latest], 0)
            slack[between & (unknown[:, None] | unknown[latest])] = np.iinfo(np.int64).max // 4
            others = np.where(others == NONE, NONE, others + slack)
        last_but_one = others.max(axis=0)
        delays: Numbers = np.where(last_but_one == NONE, 0, np.maximum(0, arrived - last_but_one))
        return delays

    def _once(self, latest: Numbers, arrived: Numbers, alone: Numbers) -> Numbers:
        """The delays without what of each lies before the end of that rank's one before."""
        delay = alone.copy()
        for member in np.unique(latest).tolist():
            own = np.flatnonzero(latest == member)
            ends = np.maximum.accumulate(np.concatenate([self._until[member : member + 1], arrived[own]]))
            begins = np.maximum(arrived[own] - alone[own], ends[:-1])
            delay[own] = np.maximum(0, arrived[own] - begins)
            self._until[member] = ends[-1]
        return delay

    def _count(self, group: Matched, columns: Numbers, latest: Numbers, alone: Numbers, blamed: Numbers) -> None:
        np.add.at(self.last, latest, 1)
        bins = np.frexp(blamed)[1].astype(np.int64)
        np.add.at(self._bins, (latest, bins), 1)
        np.add.at(self._in_bins, (latest, bins), blamed)
        for member in np.unique(latest).tolist():
            own = np.flatnonzero(latest == member)
            most = own[alone[own].argmax()]
            if alone[most] > self.worst[member]:
                self.worst[member], self.places[member] = alone[most], group.place(int(columns[most]))

    def _by_machine(self, start: Numbers, own: Numbers) -> Numbers:
        """What each machine owes as a whole: its last rank's arrival after the last of all others."""
        members = [self._machine == machine for machine in self.machines]
        arrived = np.stack([start[ranks].max(axis=0) for ranks in members])
        worked = np.stack([own[ranks].max(axis=0) for ranks in members])
        slack = np.array([self._slack[ranks].max() for ranks in members])
        latest = arrived.argmax(axis=0)
        others = arrived + (slack[:, None] + slack[latest])
        others[latest, np.arange(len(latest))] = NONE
        alone = np.maximum(0, arrived.max(axis=0) - others.max(axis=0))
        blamed = np.minimum(alone, _beyond_others(worked, latest))
        if (self._slack == NONE).any():
            blamed[:] = 0
        last = arrived.max(axis=0)
        since = last - worked[latest, np.arange(len(latest))]
        blamed = self._once_a_machines_work.take(latest, since, blamed)
        self._late_machines.add(latest, last, alone, since, blamed)
        return _spread(blamed, latest, len(members))


def arrivals(ranks: Sequence[int], groups: Sequence[GroupArrivals]) -> list[Arrivals]:
    """Of each rank, in their order, how it arrived at the collectives of all groups."""
    numbers = {rank: np.zeros(2, np.int64) for rank in ranks}
    bins = {rank: np.zeros((2, _BINS), np.int64) for rank in ranks}
    worst: dict[int, tuple[int, str]] = dict.fromkeys(ranks, (0, ""))
    waited: dict[int, list[Numbers]] = {rank: [] for rank in ranks}
    owed: dict[int, list[Owed]] = {rank: [] for rank in ranks}
    for group in groups:
        late = zip(group.rows(), group.late.waited(), group.late.owed(), strict=True)
        for (rank, own, place, of_rank), waits, owes in late:
            numbers[rank] += own[:2]
            bins[rank] += of_rank
            worst[rank] = max(worst[rank], (int(own[2]), place))
            waited[rank].append(waits)
            owed[rank].append(owes)
    found = []
    for rank in ranks:
        of, last = numbers[rank].tolist()
        worst_ns, place = worst[rank]
        delay_ns, own_ns = waited_once(waited[rank]), owed_once(owed[rank])
        found.append(Arrivals(rank, of, last, delay_ns, own_ns, worst_ns, place, _few_make_half(bins[rank])))
    return found


def _few_make_half(bins: Numbers) -> int:
    """How many of the largest delays make up half of their sum, as far as bins (count, sum) of a factor of two tell."""
    count, sums = bins[:, ::-1]
    half = sums.sum() / 2
    last = int((np.cumsum(sums) >= half).argmax())
    rest = half - sums[:last].sum()
    return int(count[:last].sum() + np.ceil(rest / sums[last] * count[last])) if half else 0


def _beyond_others(own: Numbers, latest: Numbers) -> Numbers:
    """By how much the latest of each column worked longer than any other; 0 where that is not known of all."""
    columns = np.arange(own.shape[1])
    mine, others = own[latest, columns], own.copy()
    others[latest, columns] = NONE
    most = others.max(axis=0)
    beyond: Numbers = np.where((mine == NONE) | (most == NONE), 0, np.maximum(0, mine - np.maximum(most, 0)))
    return beyond


def _spread(costs: Numbers, owner: Numbers, units: int) -> Numbers:
    """A table, units by columns, with each cost in its owner's row."""
    table = np.zeros((units, len(costs)), np.int64)
    table[owner, np.arange(len(costs))] = costs
    return table
