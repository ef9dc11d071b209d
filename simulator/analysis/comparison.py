"""What differs between two predictions."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from hocket.simulator.analysis.stored import StoredPrediction
from hocket.topology import link_name

__all__ = ["Change", "PredictionComparison", "compare"]


@dataclass(frozen=True, slots=True)
class Change:
    """A time in the first and in the second prediction, picoseconds; 0 where one has no such thing."""

    name: str
    first_ps: int
    second_ps: int

    @property
    def delta_ps(self) -> int:
        return self.second_ps - self.first_ps


@dataclass(frozen=True, slots=True)
class PredictionComparison:
    """Changes by subject, the largest first but for `whole`: time, bound, exposed communication of the last rank,
    the part of it that it waited, and the waits summed over all ranks.

    `kinds` and `groups` of collectives: the sum of their times from the last member's start on, where `groups` of a
    dimension (`tp.0`, `tp.1`) are one; `ranks`: the end of each, of those that end alike the first; `links`: how long
    each works. `ranks` is empty where their number differs, `links` where the topologies do.
    """

    whole: tuple[Change, ...]
    kinds: tuple[Change, ...]
    groups: tuple[Change, ...]
    ranks: tuple[Change, ...]
    links: tuple[Change, ...]

    @property
    def slower_by(self) -> float:
        """How much longer the second takes, as a share of the first: 0.05 is 5 % slower, negative is faster."""
        time = self.whole[0]
        return time.delta_ps / max(time.first_ps, 1)


def compare(first: StoredPrediction, second: StoredPrediction) -> PredictionComparison:
    """The second prediction against the first."""
    both = (first, second)
    whole = [
        Change("time", first.time_ps, second.time_ps),
        Change("bound", first.bound_ps, second.bound_ps),
        Change("exposed communication", *(_of_last(each, each.ranks.exposed_ps) for each in both)),
        Change("  of it waiting for other ranks", *(_of_last(each, each.ranks.exposed_wait_ps) for each in both)),
        Change("waits, summed over ranks", *(sum(each.ranks.waited_ps) for each in both)),
    ]
    same_ranks = len(first.ranks.finish_ps) == len(second.ranks.finish_ps)
    same_links = first.topology.fingerprint == second.topology.fingerprint
    return PredictionComparison(
        tuple(whole),
        _changes(*(_kinds(each) for each in both)),
        _changes(*(_groups(each) for each in both)),
        _ranks(first, second) if same_ranks else (),
        _changes(*(_links(each) for each in both)) if same_links else (),
    )


def _changes(first: Mapping[str, int], second: Mapping[str, int]) -> tuple[Change, ...]:
    names = dict.fromkeys([*first, *second])
    return _largest_first(Change(name, first.get(name, 0), second.get(name, 0)) for name in names)


def _largest_first(changes: Iterable[Change]) -> tuple[Change, ...]:
    return tuple(sorted(changes, key=lambda change: (-abs(change.delta_ps), change.name)))


def _summed(items: Iterable[tuple[str, int]]) -> dict[str, int]:
    total: dict[str, int] = {}
    for name, time in items:
        total[name] = total.get(name, 0) + time
    return total


def _of_last(prediction: StoredPrediction, times_ps: Sequence[int]) -> int:
    """The time of the last rank to end, the first of several."""
    finish = prediction.ranks.finish_ps
    return times_ps[finish.index(max(finish))] if finish else 0


def _kinds(prediction: StoredPrediction) -> dict[str, int]:
    return _summed((each.kind, each.finish_ps - each.ready_ps) for each in prediction.collectives)


def _groups(prediction: StoredPrediction) -> dict[str, int]:
    groups = prediction.groups
    rows = zip(groups.group, groups.kind, groups.ranks, groups.total_time_ps, strict=False)
    return _summed((_group_name(kind, name, ranks), time) for name, kind, ranks, time in rows)


def _group_name(kind: str, group: str, ranks: int) -> str:
    """Groups of a dimension (`tp.0`, `tp1`) are alike and go by its name, however many and large they are."""
    dimension = re.match(r"([A-Za-z_]+?)[._-]?[0-9]", group)
    return f"{kind} of {dimension.group(1)} groups" if dimension else f"{kind} of {group or 'all'} ({ranks} ranks)"


def _ranks(first: StoredPrediction, second: StoredPrediction) -> tuple[Change, ...]:
    """The end of each rank; those that end alike in both are one line."""
    alike: dict[tuple[int, int], list[int]] = {}
    for rank, ends in enumerate(zip(first.ranks.finish_ps, second.ranks.finish_ps, strict=True)):
        alike.setdefault(ends, []).append(rank)
    changes = [
        Change(f"rank {ranks[0]}" + f" and {len(ranks) - 1} more" * (len(ranks) > 1), *ends)
        for ends, ranks in alike.items()
    ]
    return _largest_first(changes)


def _links(prediction: StoredPrediction) -> dict[str, int]:
    links, ranks = prediction.links, prediction.topology.ranks
    rows = enumerate(zip(links.src, links.dst, links.class_name, links.busy_ps, strict=False))
    return {f"link {link}: {link_name(src, dst, ranks, name)}": busy for link, (src, dst, name, busy) in rows}
