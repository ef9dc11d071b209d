"""Who works longer a step than those it goes step by step with, which wait for it that much.

Compared are the ranks of a pipeline (that messages join, if only by way of others), and of the other ranks those that
collectives join. What one works longer than the next, who works longer than the third, is shared as the cost of a
runway is among airlines (Shapley's value of the maximum): the first step by the first alone, the next by both. So two
slow ranks are both named, each for its half of what they cost together; nobody has a share of what the middle one works
itself. Whether a rank is slow or was given more to do (layers, an embedding, a head) its work does not tell.

Ranks at one place of several pipelines are a stage, named in place of its ranks, as is a machine, where no rank owes
most of what it does.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hocket.base.rank_names import format_ranks
from hocket.recording.chance import CostTable
from hocket.recording.onset import Onset, since_onset
from hocket.recording.own_work import OwnWork, work_table
from hocket.recording.straggler import CHANCE, SHARE, Straggler, machine_members, machine_name, share_of

__all__ = ["LongerWork", "judge_work", "shares"]

Numbers = NDArray[np.int64]

_ALONE = 0.75  # of what several ranks owe: who owes more is named itself
_WHEN = {1: "", 2: "in the last half of the steps, ", 4: "in the last quarter of the steps, "}


@dataclass(frozen=True)
class LongerWork:
    """Who was named; who would be, of too few steps or for one long while; which ranks were judged, and whether there
    were steps enough to name anybody."""

    found: tuple[Straggler, ...]
    too_few: tuple[str, ...]
    unsettled: tuple[str, ...]
    judged: frozenset[int]
    can_tell: bool


@dataclass(frozen=True)
class _Units:
    """What is compared: `units` of ranks, in tables of those that are alike (places in `units`, spans of their work),
    and of each unit the ranks that it is compared with."""

    kind: str
    units: Sequence[tuple[int, ...]]
    tables: Sequence[tuple[list[int], Numbers]]
    among: Sequence[tuple[int, ...]]


def judge_work(
    works: Mapping[int, OwnWork], together: Sequence[tuple[int, ...]], machine: Mapping[int, int], elapsed_ns: int
) -> LongerWork:
    """The verdict on the ranks that go step by step `together`, each rank in one such set at most; `machine` is each
    rank's."""
    told = [tuple(rank for rank in ranks if rank in works and works[rank].spans) for ranks in together]
    told = [ranks for ranks in told if len(ranks) > 1]
    tables = {ranks: work_table([works[rank] for rank in ranks]) for ranks in told}
    found: list[Straggler] = []
    covered: set[int] = set()
    for units in (_stages(tables), _machines(works, told, machine)):
        onset = _onset(units, elapsed_ns)
        for place in _named(onset, elapsed_ns):
            if _as_a_whole(units.units[place], units.among[place], works, covered):
                found.append(_straggler(units, place, onset, elapsed_ns))
        covered.update(rank for straggler in found for rank in straggler.ranks)
    ranks = _ranks(tables)
    onset = _onset(ranks, elapsed_ns)
    alone = [_straggler(ranks, place, onset, elapsed_ns) for place in _named(onset, elapsed_ns)]
    return LongerWork(
        found=(*found, *(straggler for straggler in alone if straggler.ranks[0] not in covered)),
        too_few=_names(ranks, onset.chance.too_few, covered),
        unsettled=_names(ranks, onset.chance.unsettled, covered),
        judged=frozenset(rank for among, table in tables.items() if table.shape[1] for rank in among),
        can_tell=onset.chance.can_tell,
    )


def shares(work: Numbers) -> Numbers:
    """Units by spans: what each unit's work costs in each span, of what the longest work is above the middle one."""
    middle = np.sort(work, axis=0)[(len(work) - 1) // 2]
    work = np.maximum(work, middle)
    order = np.argsort(-work, axis=0, kind="stable")
    ordered = np.take_along_axis(work, order, axis=0)
    beyond_next = ordered - np.concatenate([ordered[1:], ordered[-1:]])
    each = beyond_next // np.arange(1, len(work) + 1)[:, None]
    of_ordered = np.cumsum(each[::-1], axis=0)[::-1]
    costs = np.empty_like(work)
    np.put_along_axis(costs, order, of_ordered, axis=0)
    return costs


def _ranks(tables: Mapping[tuple[int, ...], Numbers]) -> _Units:
    units: list[tuple[int, ...]] = []
    among: list[tuple[int, ...]] = []
    places = []
    for ranks, table in tables.items():
        places.append((list(range(len(units), len(units) + len(ranks))), table))
        units += [(rank,) for rank in ranks]
        among += [ranks] * len(ranks)
    return _Units("rank", units, places, among)


def _stages(tables: Mapping[tuple[int, ...], Numbers]) -> _Units:
    """The ranks at each place of pipelines of one length, where there are several."""
    alike: dict[tuple[int, int], list[tuple[int, ...]]] = {}
    for ranks, table in tables.items():
        alike.setdefault((len(ranks), table.shape[1]), []).append(ranks)
    units: list[tuple[int, ...]] = []
    among: list[tuple[int, ...]] = []
    places = []
    for pipelines in alike.values():
        if len(pipelines) > 1:
            stages: list[tuple[int, ...]] = list(zip(*pipelines, strict=True))
            work = np.sum([tables[ranks] for ranks in pipelines], axis=0) // len(pipelines)
            places.append((list(range(len(units), len(units) + len(stages))), work))
            units += stages
            among += [tuple(rank for ranks in pipelines for rank in ranks)] * len(stages)
    return _Units("stage", units, places, among)


def _machines(works: Mapping[int, OwnWork], together: Sequence[tuple[int, ...]], machine: Mapping[int, int]) -> _Units:
    """Machines with as many ranks each."""
    ranks = tuple(sorted(rank for ranks in together for rank in ranks))
    units = [machine_members(machine, number) for number in sorted(set(machine.values()))]
    members = len(units[0]) if units else 0
    if len(units) < 2 or members < 2 or any(len(unit) != members or set(unit) - set(ranks) for unit in units):
        return _Units("machine", [], [], [])
    table = dict(zip(ranks, work_table([works[rank] for rank in ranks]), strict=True))
    work = np.stack([np.sum([table[rank] for rank in unit], axis=0) // members for unit in units])
    return _Units("machine", units, [(list(range(len(units))), work)], [ranks] * len(units))


def _onset(units: _Units, elapsed_ns: int) -> Onset:
    tables = [CostTable(np.array(places), shares(work)) for places, work in units.tables]
    return since_onset(tables, len(units.units), SHARE * elapsed_ns, CHANCE)


def _named(onset: Onset, elapsed_ns: int) -> Iterator[int]:
    worth = max(1.0, SHARE * elapsed_ns)
    yield from np.flatnonzero((onset.chance.chance <= CHANCE) & (onset.chance.excess >= worth)).tolist()


def _names(units: _Units, those: NDArray[np.bool_], covered: set[int]) -> tuple[str, ...]:
    ranks = [units.units[place][0] for place in np.flatnonzero(those).tolist()]
    return tuple(f"rank {rank}" for rank in ranks if rank not in covered)


def _as_a_whole(unit: tuple[int, ...], among: tuple[int, ...], works: Mapping[int, OwnWork], covered: set[int]) -> bool:
    """Whether what the ranks of a unit work longer than the middle one of the others is no single rank's, and most of
    it of ranks that nobody is named for yet."""
    total = {rank: sum(works[rank].spans) for rank in among}
    middle = float(np.median([total[rank] for rank in among if rank not in unit]))
    longer = {rank: max(0.0, total[rank] - middle) for rank in unit}
    untold = sum(value for rank, value in longer.items() if rank not in covered)
    return max(longer.values()) <= _ALONE * sum(longer.values()) <= 2 * _ALONE * untold


def _straggler(units: _Units, place: int, onset: Onset, elapsed_ns: int) -> Straggler:
    ranks, among, part = units.units[place], units.among[place], int(onset.part[place])
    (work, row) = next((work, places.index(place)) for places, work in units.tables if place in places)
    sums = work[:, work.shape[1] - work.shape[1] // part :].sum(axis=1)
    longer = share_of(int(sums[row]), int(np.median(sums))) - 1
    names = {"rank": f"rank {ranks[0]}", "machine": machine_name(ranks)}
    return Straggler(
        kind=units.kind,
        name=names.get(units.kind, f"the stage of ranks {format_ranks(ranks)}"),
        ranks=ranks,
        pattern="recent" if part > 1 else "",
        cost_ns=int(onset.chance.excess[place]),
        share=share_of(int(onset.chance.excess[place]), elapsed_ns),
        chance=float(onset.chance.chance[place]),
        detail=f"{_WHEN[part]}{longer:.1%} longer than the middle of ranks {format_ranks(among)}: slow, or given more",
        by="own work",
    )
