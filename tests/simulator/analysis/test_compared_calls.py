"""Recorded collectives beside predicted ones: what goes on at the same time, and which errors are noise."""

from dataclasses import replace

import numpy as np
import pytest
from recorded_jobs import steps_of_two

from hocket.chakra import CollectiveType, TraceBuilder, TraceSet
from hocket.simulator import simulate_traces
from hocket.simulator.analysis import ComparedCalls, calls_of, validation
from hocket.simulator.recorded_times import NodeTimes
from hocket.topology import load

PAIR = load("ring:2,bandwidth=1GB/s,latency=1us")
US = 10**6
BOTH = np.ones(2, np.bool_)


def test_a_collective_overlaps_one_that_began_long_before_its_neighbour() -> None:
    builder = TraceBuilder()
    for at in range(4):
        builder.add_collective(f"call {at}", CollectiveType.ALL_REDUCE, 1_000 + at)
    prediction = simulate_traces(TraceSet((builder.build(),) * 2), PAIR)
    start, finish = np.array([0, 10, 50, 100]) * US, np.array([100, 20, 60, 110]) * US
    calls = calls_of(prediction, NodeTimes(np.tile(start, 2), np.tile(finish, 2)), BOTH)
    assert calls.overlapped.tolist() == [True, True, True, False]


def recorded_as(recorded_us: list[float], predicted_us: float) -> ComparedCalls:
    """Calls of one sort that were recorded and predicted so."""
    prediction = simulate_traces(steps_of_two(len(recorded_us), sizes=[1_000]), PAIR)
    calls = calls_of(prediction, NodeTimes(prediction.node_start_ps, prediction.node_finish_ps), BOTH)
    recorded = (np.array(recorded_us) * US).astype(np.int64)
    return replace(calls, recorded_ps=recorded, predicted_ps=np.full(len(recorded), int(predicted_us * US)))


@pytest.mark.parametrize(
    ("count", "predicted_us", "because"),
    [
        # 30 % of noise; of a median of 5 the error may be 2 x 1.253 x 296.5 us / sqrt(5) + 1 us = 333 us
        (5, 1_330, "within the recording's noise"),
        (5, 1_340, "the time that the model has for it"),
        # of a median of 45 it may be a third as much
        (45, 1_110, "within the recording's noise"),
        (45, 1_115, "the time that the model has for it"),
        (3, 1_001, "too few calls to know the noise"),
    ],
)
def test_an_error_is_noise_by_the_standard_error_of_the_median(count: int, predicted_us: float, because: str) -> None:
    scattered = [1_000 + (0, -200, 200, -400, 400)[at % 5] for at in range(count)]
    (found,) = validation(recorded_as(scattered, predicted_us), []).collectives
    assert found.recorded_ps == 1_000 * US and found.because == because
    if count >= 5:
        assert found.noise == pytest.approx(1.4826 * 0.2)


def test_a_microsecond_is_the_grain_of_the_clock() -> None:
    (found,) = validation(recorded_as([10.0] * 5, 10.9), []).collectives
    assert found.noise == 0 and found.because == "within the recording's noise"


def test_what_scatters_by_more_than_itself_tells_nothing() -> None:
    (found,) = validation(recorded_as([10, 10, 400, 1_000, 1_000], 20), []).collectives
    assert found.because == "the recording scatters too much to tell"
