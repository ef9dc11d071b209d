"""Whether some units (ranks, machines, links) cost more than chance would have it, if all were alike.

If they are, whose cost is whose in a block of time is a matter of names. So the names are dealt anew in each block,
many times, and a unit is beyond chance where its sum is above the greatest of all units' in nearly all deals: a
permutation test on the maximum statistic, which holds the chance that anybody is named wrongly, however many units
there are (Westfall and Young, Resampling-Based Multiple Testing, 1993).

Blocks must not depend on one another. A process that shares its core with another for seconds is late for all of them,
and of no account for the next. So blocks are long, and of a unit of which what is above or below its own mean goes on
from block to block, neighbours become one (batch means); unless it costs so evenly that its mean is beyond chance over
time too (Student's t). What is late all the time, or now and then, keeps its blocks; what was late for one long while
is left with few, of which nothing can be told.

Tables that share a unit depend on one another: who is late in a block is so in all its groups. So tables of the same
units and as many blocks are added up, and the rest parted into classes of tables that share none. Each class is held
against chance by itself, at its part of the level (Bonferroni), and only what is beyond chance in its class counts as
cost. Classes in which less is lost in all than anybody is to cost are left out: no deal changes what is lost in all.

One long stall of one rank is somebody's in every deal, and hides who costs less in all, in however many blocks. So each
class is held against chance twice, as it is and with what is unusual cut off (`capped`), as two classes are. Neither
names who would not cost enough without its costliest block.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hocket.recording.capped import capped

__all__ = ["Chance", "CostTable", "against_chance"]

Numbers = NDArray[np.int64]
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

# Few blocks are long ones. Two units need 11 of them to be told apart at a chance of 0.001, four units 6.
_BLOCKS = 12
_LEAST_BLOCKS = 5  # of which something may be told
_GOES_ON = 0.45  # correlation of a block with the next from which on they are no two
_EVENLY = 4.5  # standard errors of its mean: one-sided 0.0005 at 11 degrees of freedom
_DEALS = 999  # of one class
_CELLS = 1 << 16  # costs that are dealt at a time
_SEED = 0  # the same recording has the same verdict


class CostTable(NamedTuple):
    """What units that may be compared cost: `units` by blocks of time, ns. `units` are places in the list of all."""

    units: Numbers
    sums: Numbers


class Chance(NamedTuple):
    """Of each unit: `excess` is how much more it cost, ns, than the median of those that it is compared with, where
    that is beyond chance, else in all that could be judged; `chance` how often chance gives some unit as much, 1 where
    nothing can be told; `too_few` whether it cost enough, in too few blocks to tell, and `unsettled` whether what it
    cost goes on from block to block, however long they are. `can_tell`: there are blocks enough to name anybody."""

    excess: Numbers
    chance: Floats
    too_few: Flags
    unsettled: Flags
    can_tell: bool


def against_chance(
    tables: Sequence[CostTable], units: int, worth_ns: float, level: float, blocks: int = _BLOCKS
) -> Chance:
    """Holds the units' sums over all tables, in which units are alike, and these sums without stalls (`capped`) against
    chance: of those only whose excess is `worth_ns` without the block in which they cost most, at the chance `level` of
    naming anybody wrongly, in at most so many `blocks`."""
    tables = [table for table in tables if len(table.units) > 1]
    judged = _classes([table for table in tables if table.sums.shape[1] >= _LEAST_BLOCKS])
    short = _excess([table for table in tables if table.sums.shape[1] < _LEAST_BLOCKS], units)
    in_all = short + sum((_excess(of_class, units) for of_class in judged), np.zeros(units, np.int64))
    least_of_any = min((_least_of_any(of_class, units, blocks) for of_class in judged), default=1.0)
    judged = [of_class for of_class in judged if sum(int(table.sums.sum()) for table in of_class) >= max(worth_ns, 1)]
    cut = [[CostTable(of, capped(sums)) for of, sums in of_class] for of_class in judged]
    cut = [few for few, of_class in zip(cut, judged, strict=True) if _are_less(few, of_class)]
    count = len(judged) + len(cut)
    whole, steady = (_held(classes, units, worth_ns, level, count, blocks) for classes in (judged, cut))
    chance, least = np.minimum(whole.chance, steady.chance), np.minimum(whole.least, steady.least)
    told = chance <= level
    excess = np.where(told, np.maximum(whole.beyond, steady.beyond), whole.excess)
    enough = whole.enough | steady.enough
    too_few = ~told & ((enough & (least > level)) | ((in_all >= worth_ns) & (short > 0)))
    unsettled = (whole.unsettled | steady.unsettled) & ~told & ~too_few
    can_tell = max(1, count) * least_of_any <= level
    return Chance(excess, np.minimum(1.0, chance), too_few, unsettled, can_tell)


class _Held(NamedTuple):
    """Of each unit, over some classes: its excess, whether that is enough to name it, the excess of the classes in
    which it is beyond chance, its least chance, below what that could not come, and whether its blocks go on."""

    excess: Numbers
    enough: Flags
    beyond: Numbers
    chance: Floats
    least: Floats
    unsettled: Flags


def _held(
    classes: Sequence[Sequence[CostTable]], units: int, worth_ns: float, level: float, count: int, blocks: int
) -> _Held:
    """Holds each class against chance at its part, of `count`, of the level: those units whose excess is `worth_ns`
    without the block in which they cost most."""
    costs = [_excess(tables, units) for tables in classes]
    excess = sum(costs, np.zeros(units, np.int64))
    chance, least, unsettled = np.ones(units), np.ones(units), np.zeros(units, dtype=bool)
    beyond, enough = np.zeros(units, np.int64), excess - _greatest(classes, units) >= worth_ns
    for tables, cost in zip(classes, costs, strict=True):
        found, possible, goes_on = _class_chance(tables, units, enough & (cost > 0), count, blocks)
        told = count * found <= level
        beyond[told] += cost[told]
        chance, least = np.minimum(chance, count * found), np.minimum(least, count * possible)
        unsettled |= goes_on
    return _Held(excess, enough, beyond, chance, least, unsettled)


def _greatest(classes: Sequence[Sequence[CostTable]], units: int) -> Numbers:
    """Of each unit what it cost in the block in which it cost most."""
    most = np.zeros(units, np.int64)
    for table in (table for tables in classes for table in tables):
        most[table.units] = np.maximum(most[table.units], table.sums.max(axis=1))
    return most


def _are_less(tables: Sequence[CostTable], than: Sequence[CostTable]) -> bool:
    return any((table.sums < other.sums).any() for table, other in zip(tables, than, strict=True))


def _excess(tables: Sequence[CostTable], units: int) -> Numbers:
    """What each unit cost more, over all tables, than the median of the others."""
    excess = np.zeros(units, np.int64)
    for table in tables:
        excess[table.units] += _above_others(table.sums.sum(axis=1))
    return excess


def _classes(tables: Sequence[CostTable]) -> list[list[CostTable]]:
    """The tables, those of the same units and blocks added up, in few classes in which none share a unit."""
    same: dict[tuple[int, ...], CostTable] = {}
    for table in tables:
        order = np.argsort(table.units)
        units, sums = table.units[order], table.sums[order]
        key = (sums.shape[1], *units.tolist())
        same[key] = CostTable(units, same[key].sums + sums if key in same else sums)
    classes: list[tuple[set[int], list[CostTable]]] = []
    for table in same.values():
        members = set(table.units.tolist())
        fitting = [one for one in classes if one[0].isdisjoint(members)]
        if not fitting:
            fitting = [(set(), [])]
            classes += fitting
        fitting[0][0].update(members)
        fitting[0][1].append(table)
    return [tables for _, tables in classes]


def _least_of_any(tables: Sequence[CostTable], units: int, blocks: int) -> float:
    """Below what chance nobody could come, were something lost in every block."""
    return float(min(units * len(table.units) ** -float(min(blocks, table.sums.shape[1])) for table in tables))


def _class_chance(
    tables: Sequence[CostTable], units: int, candidates: Flags, classes: int, most_blocks: int
) -> tuple[Floats, Floats, Flags]:
    """Of each unit its chance in a class, below what it could not have come, and whether its blocks go on."""
    chance, least = np.ones(units), np.ones(units)
    tables = [table for table in tables if table.sums.any()]
    unsettled = np.zeros(units, dtype=bool)  # of what units there is something to tell, and nothing told yet
    for table in tables:
        unsettled[table.units] = candidates[table.units]
    blocks = min([most_blocks, *(table.sums.shape[1] for table in tables)])
    deals = (_DEALS + 1) * classes - 1  # the least chance that they tell is the same at any number of classes
    while blocks >= _LEAST_BLOCKS and unsettled.any():
        tables = [CostTable(table.units, _in_blocks(table.sums, blocks)) for table in tables]
        settled = unsettled & _is_independent(tables, units, blocks)
        found, possible = _dealt(tables, units, deals)
        chance[settled] = found[settled]
        least = np.minimum(least, possible)
        unsettled &= ~settled
        blocks //= 2
    return chance, least, unsettled


def _above_others(sums: Numbers) -> Numbers:
    """Of each unit the sum less the median of all others'."""
    ordered, count = np.sort(sums), len(sums)
    place = np.searchsorted(ordered, sums)
    low, high = (count - 2) // 2, (count - 1) // 2  # of the count - 1 others
    above: Numbers = sums - (ordered[low + (place <= low)] + ordered[high + (place <= high)]) // 2
    return above


def _in_blocks(sums: Numbers, blocks: int) -> Numbers:
    """The sums in so many blocks, each of neighbours."""
    begins = -(-np.arange(blocks) * sums.shape[1] // blocks)
    added: Numbers = np.add.reduceat(sums, begins, axis=1)
    return added


def _is_independent(tables: Sequence[CostTable], units: int, blocks: int) -> Flags:
    """Of each unit whether its blocks may be taken as independent, by what it costs above the mean of the like."""
    series = np.zeros((units, blocks))
    for table in tables:
        series[table.units] += table.sums - table.sums.mean(axis=0)
    mean = series.mean(axis=1)
    series -= mean[:, None]
    products, squares = (series[:, 1:] * series[:, :-1]).sum(axis=1), (series**2).sum(axis=1)
    error = np.sqrt(squares / (blocks * (blocks - 1)))
    # Of independent blocks the correlation is -1 / blocks in the mean.
    is_independent = products + squares / blocks <= _GOES_ON * squares
    # One long while is no more even in more blocks.
    evenly = _EVENLY * max(1.0, np.sqrt((blocks - 1) / (_BLOCKS - 1)))
    independent: Flags = is_independent | (mean >= evenly * error)
    return independent


def _dealt(tables: Sequence[CostTable], units: int, deals: int) -> tuple[Floats, Floats]:
    """`chance` and `least` of each unit, its blocks being what they are."""
    sums, variance, least = np.zeros(units), np.zeros(units), np.zeros(units)
    for table in tables:
        sums[table.units] += (table.sums - table.sums.mean(axis=0)).sum(axis=1)
        variance[table.units] += table.sums.var(axis=0).sum()
        least[table.units] -= np.log(len(table.units)) * np.count_nonzero(table.sums.any(axis=0))
    scale = np.where(variance > 0, np.sqrt(np.where(variance > 0, variance, 1)), np.inf)
    most = _greatest_of_deals(tables, units, scale, deals)
    reached = (most[None, :] >= (sums / scale)[:, None] * (1 - 1e-12)).sum(axis=1)
    chance = np.where(np.isinf(scale), 1.0, (1 + reached) / (1 + deals))
    return chance, np.minimum(1.0, units * np.exp(least))


def _greatest_of_deals(tables: Sequence[CostTable], units: int, scale: Floats, deals: int) -> Floats:
    """Of each deal the greatest standardized sum. A deal turns the names of each block round by a random number."""
    random = np.random.default_rng(_SEED)
    counts = sorted({len(table.units) for table in tables})
    alike = [[table for table in tables if len(table.units) == count] for count in counts]
    costs = [np.stack([table.sums - table.sums.mean(axis=0) for table in some]) for some in alike]
    owners = [np.stack([table.units for table in some]) for some in alike]
    at_once = max(1, _CELLS // sum(cost.size for cost in costs))
    most: list[float] = []
    while deals > len(most):
        number = min(at_once, deals - len(most))
        sums = np.zeros((number, units))
        for of, cost in zip(owners, costs, strict=True):  # each unit is in one table
            count = cost.shape[1]
            shift = random.integers(count, size=(number, len(cost), 1, cost.shape[2]))
            renamed = np.take_along_axis(cost[None], (np.arange(count)[:, None] + shift) % count, axis=2)
            sums[:, of.ravel()] = renamed.sum(axis=3).reshape(number, -1)
        most += (sums / scale).max(axis=1).tolist()
    return np.array(most)
