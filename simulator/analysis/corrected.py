"""A job simulated again, its collectives in the times that a part of them recorded."""

import numpy as np
from numpy.typing import NDArray

from hocket.simulator.analysis.validation import ComparedCalls
from hocket.simulator.fidelity import Fidelity
from hocket.simulator.measured_calls import MeasuredCalls
from hocket.simulator.prediction import Prediction
from hocket.simulator.simulation import simulate

__all__ = ["corrected_by"]


def corrected_by(
    calls: ComparedCalls, known: NDArray[np.bool_], prediction: Prediction, fidelity: Fidelity
) -> Prediction:
    """The prediction in which every collective takes the median that was predicted of it, times the median factor by
    which the `known` calls of its kind, ranks and size took longer than predicted. They share no links any more: what
    sharing did to those that were recorded is in the factor."""
    workload = prediction.workload
    factors: dict[tuple[str, int], dict[int, list[float]]] = {}
    alone: dict[tuple[str, tuple[int, ...], int], list[int]] = {}
    for at, sort in enumerate(calls.sorts):
        call = workload.calls[workload.call_of[at]]
        alone.setdefault((call.kind, call.group, call.size_bytes), []).append(int(calls.predicted_ps[at]))
        if known[at] and calls.recorded_ps[at] > 0 and calls.predicted_ps[at] > 0:
            by_size = factors.setdefault((sort.kind, sort.ranks), {})
            by_size.setdefault(sort.size_bytes, []).append(float(calls.recorded_ps[at] / calls.predicted_ps[at]))
    curves = {
        key: (sorted(by_size), [float(np.median(by_size[size])) for size in sorted(by_size)])
        for key, by_size in factors.items()
    }
    measured = MeasuredCalls(curves, {key: int(np.median(times)) for key, times in alone.items()})
    return simulate(workload, prediction.topology, fidelity, measured.candidates)
