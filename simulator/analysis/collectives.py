"""Collectives one by one, by sort and by process group, with the bandwidths of nccl-tests."""

import numpy as np
from numpy.typing import NDArray

from hocket.base.text import clipped
from hocket.simulator.analysis.columns import Columns
from hocket.simulator.models import Model
from hocket.simulator.prediction import Prediction

__all__ = ["bandwidths", "collective_table", "group_table", "sort_table"]

_PICOSECONDS_PER_SECOND = 1e12


def collective_table(prediction: Prediction) -> Columns:
    """A row per collective, in the order of the traces.

    `kind`; `group`, the name of its process group; `ranks`, how many; `size_bytes` as in `Collective`; `algorithm`;
    `start_ps`, when the first member came; `ready_ps`, when the last did; `finish_ps`; `wait_ps` = ready - start;
    `time_ps` = finish - ready; `algbw` = size / time (under model `bound`, whose members do not meet: bound) and
    `busbw` = algbw * bus_factor in bytes/s (nccl-tests' PERFORMANCE.md); `bound_ps` and `ratio` = time / bound,
    `regime` (empty unless predicted with `latencies`), as in CollectiveTime.
    """
    workload, times = prediction.workload, prediction.collectives
    calls = [workload.calls[at] for at in workload.call_of.tolist()]
    size = np.array([call.size_bytes for call in calls], np.int64)
    start, ready, finish, bound = (
        np.array([getattr(each, name) for each in times], np.int64)
        for name in ("start_ps", "ready_ps", "finish_ps", "bound_ps")
    )
    algbw, busbw = bandwidths(prediction)
    return {
        "kind": np.array([call.kind for call in calls], np.str_),
        "group": np.array([clipped(name) for name in workload.groups], np.str_)[workload.group_of],
        "ranks": np.array([len(call.group) for call in calls], np.int64),
        "size_bytes": size,
        "algorithm": np.array([each.algorithm for each in times], np.str_),
        "start_ps": start,
        "ready_ps": ready,
        "finish_ps": finish,
        "wait_ps": ready - start,
        "time_ps": finish - ready,
        "algbw": algbw,
        "busbw": busbw,
        "bound_ps": bound,
        "ratio": np.array([each.ratio for each in times], np.float64),
        "regime": np.array([each.regime for each in times], np.str_),
    }


def bandwidths(prediction: Prediction) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """`algbw` and `busbw` of `collective_table` alone."""
    workload, is_bound = prediction.workload, prediction.model == Model.BOUND
    size = np.array([call.size_bytes for call in workload.calls], np.int64)[workload.call_of]
    factor = np.array([call.collective.bus_factor for call in workload.calls], np.float64)[workload.call_of]
    time = [each.bound_ps if is_bound else each.time_ps for each in prediction.collectives]
    algbw = _rate(size, np.array(time, np.int64))
    return algbw, algbw * factor


def sort_table(prediction: Prediction) -> Columns:
    """A row for all collectives of one kind, number of ranks, size and algorithm; those that ran the longest first.

    `count`; `mean_wait_ps`, `mean_time_ps`, `mean_bound_ps` (rounded down) and `total_time_ps`; `algbw` and `busbw` in
    bytes/s of their mean time (under model `bound`: bound); `ratio` = sum of times over sum of bounds (1 without a
    bound).
    """
    keys = ("kind", "ranks", "size_bytes", "algorithm")
    return _summed(prediction, keys, prediction.workload.calls_alike)


def group_table(prediction: Prediction) -> Columns:
    """A row per process group and kind of collective, with the columns of `sort_table` (`size_bytes`: mean, rounded
    down); one of the groups that do alike, where it stands for them."""
    return _summed(prediction, ("group", "kind", "ranks"), np.ones(len(prediction.collectives), np.int64))


def _summed(prediction: Prediction, keys: tuple[str, ...], times: NDArray[np.int64]) -> Columns:
    """A row for all collectives with equal `keys`, each counted so many `times`; those that ran the longest first."""
    table = collective_table(prediction)
    rows = list(zip(*(table[key].tolist() for key in keys), strict=True))
    distinct = list(dict.fromkeys(rows))
    number = {key: at for at, key in enumerate(distinct)}
    of = np.array([number[row] for row in rows], np.int64)

    def total(values: NDArray[np.int64]) -> NDArray[np.int64]:
        sums = np.zeros(len(distinct), np.int64)
        np.add.at(sums, of, values * times)
        return sums

    count = total(np.ones(len(of), np.int64))
    size, time, bound = total(table["size_bytes"]), total(table["time_ps"]), total(table["bound_ps"])
    rated = "bound_ps" if prediction.model == Model.BOUND else "time_ps"
    bus_bytes = np.zeros(len(distinct))
    np.add.at(bus_bytes, of, times * table["busbw"] * table[rated] / _PICOSECONDS_PER_SECOND)
    result: Columns = {key: np.array([row[at] for row in distinct], table[key].dtype) for at, key in enumerate(keys)}
    result |= {
        "count": count,
        "size_bytes": size // np.maximum(count, 1),
        "mean_wait_ps": total(table["wait_ps"]) // np.maximum(count, 1),
        "mean_time_ps": time // np.maximum(count, 1),
        "total_time_ps": time,
        "algbw": _rate(size, total(table[rated])),
        "busbw": _rate(bus_bytes, total(table[rated])),
        "mean_bound_ps": bound // np.maximum(count, 1),
        "ratio": np.where(bound > 0, time / np.maximum(bound, 1), 1.0),
    }
    ranked = np.argsort(-time, kind="stable")
    return {name: column[ranked] for name, column in result.items()}


def _rate(size: NDArray[np.int64] | NDArray[np.float64], time_ps: NDArray[np.int64]) -> NDArray[np.float64]:
    """Bytes/s; 0 for what takes no time."""
    return np.where(time_ps > 0, size / np.maximum(time_ps, 1) * _PICOSECONDS_PER_SECOND, 0.0)
