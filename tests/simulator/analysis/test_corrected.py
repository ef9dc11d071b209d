"""A prediction corrected by recorded calls: factors of one change nothing, each layout of ranks has its own."""

from dataclasses import replace

import numpy as np
import pytest

from hocket.chakra import CollectiveType, TraceBuilder, TraceSet
from hocket.simulator import Fidelity, Prediction, simulate_traces
from hocket.simulator.analysis import ComparedCalls, calls_of, corrected_by
from hocket.simulator.recorded_times import NodeTimes
from hocket.topology import load

FIDELITY = Fidelity("congestion")


def as_predicted(prediction: Prediction) -> ComparedCalls:
    """The calls of a job that was recorded as it was predicted."""
    times = NodeTimes(prediction.node_start_ps, prediction.node_finish_ps)
    calls = calls_of(prediction, times, np.ones(prediction.workload.num_ranks, np.bool_))
    return replace(calls, recorded_ps=calls.predicted_ps.copy())


def stages_with_messages(steps: int) -> TraceSet:
    """Two ranks: a message there and back in each step, then an all_reduce."""
    builders = []
    for rank in range(2):
        builder, last = TraceBuilder(), ()
        for step in range(steps):
            builder.begin_step(step)
            work = builder.add_comp("forward", duration_ns=30_000 + 10_000 * rank, deps=last)
            for src in range(2):
                add = builder.add_send if src == rank else builder.add_recv
                work = add("activations", 300_000, src=src, dst=1 - src, tag=2 * step + src, deps=[work])
            last = (builder.add_collective("gradients", CollectiveType.ALL_REDUCE, 100_000, deps=[work]),)
        builders.append(builder)
    return TraceSet(tuple(builder.build() for builder in builders))


@pytest.mark.parametrize("launch_ps", [0, 6_600_000])
def test_factors_of_one_change_nothing_of_a_job_with_messages(launch_ps: int) -> None:
    topology = load("ring:2,bandwidth=1GB/s,latency=1us")
    plain = simulate_traces(stages_with_messages(4), topology, algorithms="auto", launch_ps=launch_ps)
    calls = as_predicted(plain)
    corrected = corrected_by(calls, np.ones(len(calls.step), np.bool_), plain, FIDELITY)
    assert corrected.time_ps == plain.time_ps
    np.testing.assert_array_equal(corrected.node_start_ps, plain.node_start_ps)
    np.testing.assert_array_equal(corrected.node_finish_ps, plain.node_finish_ps)


def test_factors_of_one_change_nothing_of_a_job_of_the_stock_library() -> None:
    plain = simulate_traces(stages_with_messages(3), load("dgx-h100:nodes=1"), algorithms="library")
    calls = as_predicted(plain)
    corrected = corrected_by(calls, np.ones(len(calls.step), np.bool_), plain, FIDELITY)
    np.testing.assert_array_equal(corrected.node_finish_ps, plain.node_finish_ps)


GROUPS = {"row.0": (0, 1), "row.1": (2, 3), "column.0": (0, 2), "column.1": (1, 3)}


def rows_and_columns() -> TraceSet:
    """Four ranks: all_reduces of one size with the rank beside and with the one across, twice."""
    builders = []
    for rank in range(4):
        builder, last = TraceBuilder(), ()
        for step in range(2):
            builder.begin_step(step)
            for group in (f"row.{rank // 2}", f"column.{rank % 2}"):
                last = (builder.add_collective("sum", CollectiveType.ALL_REDUCE, 100_000, group=group, deps=last),)
        builders.append(builder)
    return TraceSet(tuple(builder.build() for builder in builders), GROUPS)


@pytest.mark.parametrize("placement", [None, (3, 1, 2, 0)])
def test_groups_laid_out_otherwise_have_factors_of_their_own(placement: tuple[int, ...] | None) -> None:
    topology = load("ring:4,bandwidth=1GB/s,latency=1us")
    plain = simulate_traces(rows_and_columns(), topology, placement=placement)
    calls = as_predicted(plain)
    names = [plain.workload.groups[at] for at in plain.workload.group_of.tolist()]
    factor = np.array([2 if name.startswith("row") else 5 for name in names])
    calls = replace(calls, recorded_ps=calls.predicted_ps * factor)
    corrected = corrected_by(calls, calls.step == 0, plain, FIDELITY)
    found = np.array([each.time_ps for each in corrected.collectives])
    np.testing.assert_allclose(found / calls.predicted_ps, factor, rtol=1e-6)
