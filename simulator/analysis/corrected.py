"""A job simulated again, its collectives in the times that a part of them recorded."""

import numpy as np
from numpy.typing import NDArray

from hocket.simulator.analysis.compared_calls import ComparedCalls
from hocket.simulator.fidelity import Fidelity
from hocket.simulator.measured_calls import CallLayout, MeasuredCalls
from hocket.simulator.prediction import Prediction
from hocket.simulator.simulation import simulate
from hocket.simulator.workload import CollectiveCall

__all__ = ["corrected_by"]


def corrected_by(
    calls: ComparedCalls, known: NDArray[np.bool_], prediction: Prediction, fidelity: Fidelity
) -> Prediction:
    """The prediction in which every collective takes the median that was predicted of it, times the median factor by
    which the `known` calls of its kind, layout of ranks and size took longer than predicted. They share no links any
    more: what sharing did to those that were recorded is in the factor. Messages are as they were."""
    workload = prediction.workload
    placed = workload.placed().calls
    factors: dict[CallLayout, dict[int, list[float]]] = {}
    predicted: dict[CollectiveCall, list[int]] = {}
    for at, number in enumerate(workload.call_of.tolist()):
        call = placed[number]
        predicted.setdefault(call, []).append(int(calls.predicted_ps[at]))
        if known[at] and calls.recorded_ps[at] > 0 and calls.predicted_ps[at] > 0:
            by_size = factors.setdefault(CallLayout.of(call), {})
            by_size.setdefault(call.size_bytes, []).append(float(calls.recorded_ps[at] / calls.predicted_ps[at]))
    curves = {
        place: (sorted(by_size), [float(np.median(by_size[size])) for size in sorted(by_size)])
        for place, by_size in factors.items()
    }
    measured = MeasuredCalls(curves, {call: int(np.median(times)) for call, times in predicted.items()})
    return simulate(workload, prediction.topology, fidelity, measured.candidates, prediction.message_launch_ps)
