"""How far predictions of a job's collectives are from what was recorded, sort by sort, and what explains it."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hocket.simulator.analysis.compared_calls import ComparedCalls, Sort
from hocket.simulator.recorded_times import CLOCK_GRAIN_PS

__all__ = ["CollectiveErrors", "errors_by_sort", "errors_of_near_sizes"]

_ENOUGH = 5  # calls that tell how much a recording scatters
_OVERLAPPED = 1.2  # how much longer those that overlap others take, to be named
_NEAR = 2  # from the smallest to the largest size of what is taken together
_TO_SIGMA = 1.4826  # a median absolute deviation of a normal distribution in standard deviations
_OF_MEDIAN = 1.253  # standard error of a median of n of these, times the square root of n: sqrt(pi / 2)
_FEW = "too few calls to know the noise"

_Members = dict[tuple[Sort, str], list[int]]


@dataclass(frozen=True, slots=True)
class CollectiveErrors:
    """Collectives of one sort, or of sorts alike but for their sizes, from the sort's to `largest_bytes`: medians of
    what was recorded and predicted, picoseconds; `error`, predicted over recorded, less 1; `noise`, the standard
    deviation of what was recorded (from the median absolute deviation), as a share of its median, NaN for a single
    call, of several sizes that of recorded over predicted; `because`: what explains the error, in words."""

    sort: Sort
    largest_bytes: int
    algorithm: str
    count: int
    recorded_ps: int
    predicted_ps: int
    noise: float
    because: str

    @property
    def error(self) -> float:
        return self.predicted_ps / max(self.recorded_ps, 1) - 1


def errors_by_sort(calls: ComparedCalls, chosen: Iterable[int]) -> tuple[CollectiveErrors, ...]:
    """Those of the chosen calls that were recorded, by sort and algorithm, the longest in all first."""
    return _in_order(_errors(calls, *key, np.array(rows)) for key, rows in _members(calls, chosen).items())


def errors_of_near_sizes(calls: ComparedCalls, chosen: Iterable[int]) -> tuple[CollectiveErrors, ...]:
    """The same, but sorts of too few calls to tell their noise taken together where they differ in their sizes alone,
    and the largest is at most twice the smallest: jobs whose experts are sent what they are chosen for have a size of
    its own a call."""
    members = _members(calls, chosen)
    few = [key for key, rows in members.items() if len(rows) < _ENOUGH]
    together: list[tuple[Sort, str]] = []
    for sort, algorithm in sorted(few, key=lambda key: (key[0]._replace(size_bytes=0), key[1], key[0].size_bytes)):
        smallest = together[-1][0] if together else sort
        near = smallest.size_bytes <= sort.size_bytes <= _NEAR * smallest.size_bytes
        if together and near and (smallest._replace(size_bytes=sort.size_bytes), algorithm) == (sort, together[-1][1]):
            members[together[-1]].extend(members.pop((sort, algorithm)))
        else:
            together.append((sort, algorithm))
    return _in_order(_errors(calls, *key, np.array(rows)) for key, rows in members.items())


def _in_order(found: Iterable[CollectiveErrors]) -> tuple[CollectiveErrors, ...]:
    return tuple(sorted(found, key=lambda each: -each.count * each.recorded_ps))


def _members(calls: ComparedCalls, chosen: Iterable[int]) -> _Members:
    """The calls of each sort and algorithm."""
    members: _Members = {}
    for at in chosen:
        if calls.recorded_ps[at] >= 0:
            members.setdefault((calls.sorts[at], calls.algorithm[at]), []).append(at)
    return members


def _errors(calls: ComparedCalls, sort: Sort, algorithm: str, rows: NDArray[np.int64]) -> CollectiveErrors:
    recorded, predicted = (float(np.median(column[rows])) for column in (calls.recorded_ps, calls.predicted_ps))
    sizes = [calls.sorts[at].size_bytes for at in rows.tolist()]
    noise = _noise(calls, rows, several=len({*sizes}) > 1)
    because = _explained(calls, rows, predicted - recorded, noise * recorded)
    return CollectiveErrors(sort, max(sizes), algorithm, len(rows), int(recorded), int(predicted), noise, because)


def _noise(calls: ComparedCalls, rows: NDArray[np.int64], several: bool) -> float:
    """One standard deviation as a share of the median; of `several` sizes after what is predicted of each."""
    if len(rows) < 2:
        return float("nan")
    values = calls.recorded_ps[rows] / (np.maximum(calls.predicted_ps[rows], 1) if several else 1)
    median = float(np.median(values))
    return _TO_SIGMA * float(np.median(np.abs(values - median))) / median if median else 0.0


def _explained(calls: ComparedCalls, rows: NDArray[np.int64], off_ps: float, sigma_ps: float) -> str:
    """What tells most of an error: noise, waits, other communication at the same time, or the model."""
    few = len(rows) < _ENOUGH
    within_ps = 0.0 if few else 2 * _OF_MEDIAN * sigma_ps / len(rows) ** 0.5 + CLOCK_GRAIN_PS
    is_within, is_wide = not few and abs(off_ps) <= within_ps, within_ps >= np.median(calls.recorded_ps[rows])
    if is_within and not is_wide:
        return "within the recording's noise"
    if off_ps < 0 and not calls.seen_by_all[rows].all():
        cause = "waits for ranks that nobody saw are in what was recorded"
    elif is_within:
        return "the recording scatters too much to tell"
    else:
        cause = _beside_others(calls, rows, off_ps)
    return "; ".join(filter(None, (cause, _FEW if few else ""))) or "the time that the model has for it"


def _beside_others(calls: ComparedCalls, rows: NDArray[np.int64], off_ps: float) -> str:
    """What other communication at the same time did; empty: nothing that is seen."""
    beside = calls.overlapped[rows]
    if beside.all():
        return "all beside other communication" + ("" if off_ps < 0 else ": the model shares links with it")
    if beside.any():
        slower, told = (_ratio(column[rows], beside) for column in (calls.recorded_ps, calls.predicted_ps))
        if max(slower / told, told / slower) > _OVERLAPPED:
            return f"beside other communication {slower:.2f} times as long, predicted {told:.2f} times"
    return ""


def _ratio(times_ps: NDArray[np.int64], beside: NDArray[np.bool_]) -> float:
    """How much longer those beside others take."""
    return max(float(np.median(times_ps[beside])), 1.0) / max(float(np.median(times_ps[~beside])), 1.0)
