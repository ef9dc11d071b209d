"""What a job asks of its groups: sorts of collectives, their sizes, and how often."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from hocket.base.collectives import BARRIER
from hocket.schedule import NAMED_KINDS, Kind
from hocket.simulator import Prediction

__all__ = ["CallsOfGroup", "CollectiveSort", "sorts_of"]

_MOST_SIZES = 3
_APART = 16  # times a size, from which on another is worth a search of its own


@dataclass(eq=False)
class CallsOfGroup:
    """A group's collectives of one sort: its ranks in the job and in the topology; calls and picoseconds (from the last
    member's start) by bytes."""

    name: str
    ranks: tuple[int, ...]
    placed: tuple[int, ...]
    calls: Counter[int] = field(default_factory=Counter)
    times_ps: Counter[int] = field(default_factory=Counter)


@dataclass(frozen=True)
class CollectiveSort:
    """Collectives of a kind and root (a position in the group) by groups of so many members, of the same sizes."""

    kind: Kind
    root: int
    groups: Sequence[CallsOfGroup]

    @property
    def members(self) -> int:
        return len(self.groups[0].ranks)

    @property
    def sizes(self) -> list[int]:
        return sorted(self.groups[0].calls)

    @property
    def num_calls(self) -> int:
        """Of a group that calls the most."""
        return max(sum(group.calls.values()) for group in self.groups)

    @property
    def time_ps(self) -> int:
        """Predicted for a group in which they take the most."""
        return max(sum(group.times_ps.values()) for group in self.groups)

    @property
    def searched(self) -> list[int]:
        """Sizes for which programs are made, ascending: those that take the most time, far enough apart."""
        time_ps = sum((group.times_ps for group in self.groups), Counter[int]())
        chosen: list[int] = []
        for size in sorted(self.sizes, key=lambda size: (-time_ps[size], -size)):
            if len(chosen) < _MOST_SIZES and all(max(size, one) >= _APART * min(size, one) for one in chosen):
                chosen.append(size)
        return sorted(chosen)


def sorts_of(prediction: Prediction) -> tuple[list[CollectiveSort], Counter[str]]:
    """The sorts of a job, those that take the most time first; and how often what no program can be for is called, by
    what it is."""
    workload = prediction.workload
    placed = workload.placed().calls
    found: dict[tuple[Kind, int, tuple[int, ...]], CallsOfGroup] = {}
    without: Counter[str] = Counter()
    numbers = zip(workload.call_of.tolist(), workload.group_of.tolist(), prediction.collectives, strict=True)
    for call_at, group_at, time in numbers:
        call, name = workload.calls[call_at], workload.groups[group_at] or "world"
        if len(call.group) < 2 or (not call.size_bytes and call.kind != BARRIER):
            continue
        if call.kind not in NAMED_KINDS or call.block_bytes is not None:
            uneven = " with blocks that differ" if call.block_bytes is not None else ""
            without[f"{call.kind}{uneven} of {name}"] += 1
            continue
        key = Kind(call.kind), call.root, call.group
        group = found.setdefault(key, CallsOfGroup(name, call.group, placed[call_at].group))
        group.calls[call.size_bytes] += 1
        group.times_ps[call.size_bytes] += max(0, time.time_ps)
    alike: dict[tuple[Kind, int, int, frozenset[int]], list[CallsOfGroup]] = {}
    for (kind, root, ranks), group in found.items():
        alike.setdefault((kind, root, len(ranks), frozenset(group.calls)), []).append(group)
    sorts = [
        CollectiveSort(kind, root, sorted(groups, key=lambda one: one.ranks))
        for (kind, root, *_), groups in alike.items()
    ]
    return sorted(sorts, key=lambda sort: (-sort.time_ps, sort.kind, sort.root, sort.groups[0].ranks)), without
