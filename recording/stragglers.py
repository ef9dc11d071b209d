"""Who arrives last: how often, by how much, and whether always or now and then."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hocket.base.units import format_time
from hocket.recording.matching import ABSENT, Matched
from hocket.recording.waits import NONE

__all__ = ["Arrivals", "arrivals"]

Numbers = NDArray[np.int64]

# A rank that comes last to so much of its collectives is late as a rule.
_OFTEN = 0.5
# Half of a rank's delay comes from so small a part of its collectives: now and then.
_FEW = 0.02


@dataclass(frozen=True)
class Arrivals:
    """Of the `of` collectives that no rank leaves before all have come, the rank came last to `last`.

    All others then waited for it alone, from the arrival of the second-last on: `delay_ns` in all, at worst `worst_ns`,
    in the collective `worst`. `pattern` is "persistent" for a rank that is last in half of its collectives and in no
    few of them by far, "sporadic" for one that owes half of its delay to at most 2 % of its collectives, else "".
    """

    rank: int
    of: int
    last: int
    delay_ns: int
    worst_ns: int
    worst: str
    pattern: str

    def text(self) -> str:
        """A line for people."""
        share = f"rank {self.rank} came last to {self.last} of {self.of} collectives"
        delay = f"the others waited {_time(self.delay_ns)} for it alone, at worst {_time(self.worst_ns)}: {self.worst}"
        return f"straggler ({self.pattern}): {share}; {delay}"


def arrivals(ranks: Sequence[int], groups: Sequence[Matched]) -> list[Arrivals]:
    """Of each rank, in their order, how it arrived."""
    joined = dict.fromkeys(ranks, 0)
    delays: dict[int, list[Numbers]] = {rank: [] for rank in ranks}
    worst: dict[int, tuple[int, str]] = dict.fromkeys(ranks, (0, ""))
    for group in groups:
        there = group.rows != ABSENT
        columns = np.flatnonzero(group.synchronizing & (there.sum(axis=0) > 1))
        if len(columns) == 0:
            continue
        start = group.start[:, columns]
        latest = len(group.ranks) - 1 - start[::-1].argmax(axis=0)  # the last of those that come at one time
        before = start.copy()
        before[latest, np.arange(len(columns))] = NONE
        delay = start.max(axis=0) - before.max(axis=0)
        for member, rank in enumerate(group.ranks):
            joined[rank] += int(there[member, columns].sum())
            own = np.flatnonzero(latest == member)
            if len(own):
                delays[rank].append(delay[own])
                most = own[delay[own].argmax()]
                worst[rank] = max(worst[rank], (int(delay[most]), group.place(int(columns[most]))))
    none = np.empty(0, np.int64)
    return [_summed(rank, joined[rank], np.concatenate([none, *delays[rank]]), *worst[rank]) for rank in ranks]


def _time(nanoseconds: int) -> str:
    return format_time(nanoseconds * 1000)


def _summed(rank: int, of: int, delays: Numbers, worst_ns: int, worst: str) -> Arrivals:
    total = int(delays.sum())
    ordered = np.cumsum(np.sort(delays)[::-1])
    half = int(np.searchsorted(2 * ordered, total)) + 1  # so many make up half of it
    pattern = ""
    if total and half <= _FEW * of:
        pattern = "sporadic"
    elif len(delays) >= _OFTEN * of > 0:
        pattern = "persistent"
    return Arrivals(rank, of, len(delays), total, worst_ns, worst, pattern)
