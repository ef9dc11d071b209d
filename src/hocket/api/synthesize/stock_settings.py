"""Settings of stock NCCL that are quicker than its own choice, as a table for its tuner plugin."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from math import ceil, log

from hocket.api.stock_times import LibraryTimes
from hocket.base.collectives import nccl_name
from hocket.nccl import NcclModel
from hocket.nccl.choice import NcclChoice
from hocket.nccl.tuning import Timing, TunerRule, Winners, find_winners, rules_of, rules_text
from hocket.translator import DEVICE_RUNTIME
from hocket.translator.bundle.manifest import SettingTime, StockSetting
from hocket.translator.bundle.stock_table import StockTable
from hocket.translator.mscclpp import PLAN_RUNTIME

__all__ = ["stock_table"]

#: The runtimes beside which NCCL reads a tuner's table: stock NCCL, and a fork of 2.23. Tuners came with 2.19, after
#: the fork that msccl is; of RCCL no times of other settings are known.
_LOADS_TUNERS = (DEVICE_RUNTIME.name, PLAN_RUNTIME, "executor")
_MARGIN_PPM = 10_000
_APART, _APART_SIMULATED = 2**0.25, 4.0  # times: the most between two sizes that are compared
_PPM = 10**6


def stock_table(
    runtime: str, stock: LibraryTimes, sizes: Sequence[int], left: Sequence[tuple[int, int]]
) -> StockTable | None:
    """For the ranges (least, most bytes) that are left to NCCL beside the programs of a runtime, compared at the
    `sizes` in them, their ends and between; None where no setting is quicker by more than a hundredth, or what the fit
    of what was measured leaves open."""
    nccl = stock.machine.nccl
    if nccl is None or runtime not in _LOADS_TUNERS or stock.is_by_model:
        return None
    apart = _APART if stock.sound is None else _APART_SIMULATED
    found = [winners for ends in left for winners in _winners(stock, nccl, _compared(sizes, *ends, apart))]
    rules = [rule for winners in found for rule in rules_of([winners]) if rule.choice is not None]
    if not rules:
        return None
    settings = tuple(_setting(stock, rule, _sizes_in(found, rule)) for rule in rules)
    note = f"by hocket synthesize --for {runtime}: quicker than NCCL's own choice on {stock.machine.topology.name}"
    return StockTable(rules_text(rules, [note]), settings)


def _compared(sizes: Sequence[int], least: int, most: int, apart: float) -> list[int]:
    """The sizes of a range, its ends, and as many between that no two are farther apart."""
    known = sorted({max(least, 1), *(size for size in sizes if least <= size <= most), most})
    found = {*known}
    for low, high in pairwise(known):
        parts = ceil(log(high / low) / log(apart))
        found |= {round(low * (high / low) ** (part / parts)) for part in range(1, parts)}
    return sorted(found)


def _winners(stock: LibraryTimes, nccl: NcclModel, sizes: Sequence[int]) -> Iterator[Winners]:
    """One, less what gains too little at a size; none where no setting is quicker at any."""
    timed = [timing for size in sizes for timing in _timings(stock, nccl, size)]
    if all(timing.own for timing in timed):
        return
    for winners in find_winners(timed, _MARGIN_PPM, _noise(nccl, stock)):
        pairs = zip(winners.chosen, winners.time_ps, winners.other_ps, strict=True)
        gains = [(choice, _PPM * (own_ps - time_ps) // own_ps if own_ps else 0) for choice, time_ps, own_ps in pairs]
        yield replace(winners, chosen=tuple(choice if gain > _MARGIN_PPM else None for choice, gain in gains))


def _timings(stock: LibraryTimes, nccl: NcclModel, size: int) -> Iterator[Timing]:
    own = stock.at(size)
    if own is None:
        return
    where = nccl_name(stock.collective.kind), nccl.ranks, nccl.nodes, size, False
    for is_own, one in [(True, own), *((False, other) for other in stock.quicker(size))]:
        algorithm, _, protocol = one.algorithm.partition("/")
        choice = NcclChoice(algorithm, protocol)
        yield Timing(*where, one.time_ps, choice, own=is_own, place=stock.machine.topology.name)


def _noise(nccl: NcclModel, stock: LibraryTimes) -> dict[tuple[str, int, int], int]:
    """Of times that were fitted to what was measured (ppm)."""
    name, nodes, ranks = nccl_name(stock.collective.kind), nccl.nodes, nccl.ranks
    noise = 0.0 if nccl.measured is None else nccl.measured.noise(str(stock.collective.kind), ranks, nodes)
    return {(name, nodes, ranks): round(noise * _PPM)}


def _sizes_in(found: Sequence[Winners], rule: TunerRule) -> list[int]:
    assert rule.most is not None  # rules end with what was compared
    return [size for winners in found for size in winners.sizes if rule.least <= size <= rule.most]


def _setting(stock: LibraryTimes, rule: TunerRule, sizes: Sequence[int]) -> StockSetting:
    assert rule.choice is not None and rule.most is not None
    predicted = []
    for size in sizes:
        own = stock.at(size)
        times = {one.algorithm: one.time_ps for one in stock.quicker(size)}
        if own is not None and rule.choice.name in times:
            predicted.append(SettingTime(size, times[rule.choice.name], own.algorithm, own.time_ps))
    return StockSetting(
        algorithm=rule.choice.name, min_bytes=rule.least, max_bytes=rule.most, predicted=tuple(predicted)
    )
