"""Critical path, waits, slack and tables of a job small enough to work out by hand."""

import pytest

from hocket.base.errors import SimulationError
from hocket.chakra import CollectiveType, TraceBuilder, TraceSet
from hocket.simulator import Fidelity, Prediction, simulate_traces
from hocket.simulator.analysis import (
    caused_waits,
    collective_table,
    critical_path,
    group_table,
    link_use_table,
    rank_table,
    slack,
    sort_table,
    step_table,
)
from hocket.topology import load

US = 10**6
PAIR = load("ring:2,bandwidth=1GB/s,latency=1us")


def job(model: str = "congestion", link_bins: int = 0) -> Prediction:
    """Rank 0 computes 2 us, rank 1 5 us; they all_reduce 2000 B in 2 steps of 1 us latency and 1 us for 1000 B, from
    5 us to 9 us; then rank 0 computes 3 us, rank 1 1 us."""
    builders = []
    for before, after in ((2_000, 3_000), (5_000, 1_000)):
        builder = TraceBuilder()
        first = builder.add_comp("forward", duration_ns=before)
        call = builder.add_collective("gradients", CollectiveType.ALL_REDUCE, 2_000, deps=[first])
        builder.add_comp("update", duration_ns=after, deps=[call])
        builders.append(builder)
    traces = TraceSet(tuple(builder.build() for builder in builders))
    return simulate_traces(traces, PAIR, fidelity=Fidelity(model, link_bins=link_bins))


def test_critical_path_goes_through_the_late_rank_and_the_collective() -> None:
    path = critical_path(job())
    assert path.what == ["compute", "all_reduce", "compute"]
    assert path.start_ps.tolist() == [0, 5 * US, 9 * US]
    assert path.finish_ps.tolist() == [5 * US, 9 * US, 12 * US]
    assert path.from_rank.tolist() == [1, 1, 0]
    assert path.rank.tolist() == [1, 0, 0]
    assert path.parts() == {"compute": 8 * US, "all_reduce": 4 * US}
    assert path.table()["name"].tolist() == ["forward", "gradients", "update"]


def test_the_bound_has_no_critical_path() -> None:
    with pytest.raises(SimulationError, match="model bound"):
        critical_path(job("bound"))


def test_slack_is_what_a_node_may_be_late() -> None:
    # Rank 0 came 3 us before rank 1; its last computation ends the job, 2 us after that of rank 1.
    assert slack(job()).tolist() == [3 * US, 0, 0, 0, 2 * US, 2 * US]


def test_who_kept_others_waiting_is_named_with_what_it_cost() -> None:
    table = {name: column.tolist() for name, column in caused_waits(job()).items()}
    assert table == {"rank": [1], "caused_wait_ps": [3 * US], "waits": [1], "ranks_kept_waiting": [1]}


def test_each_rank_says_what_it_did() -> None:
    table = {name: column.tolist() for name, column in rank_table(job()).items()}
    assert table["compute_ps"] == [5 * US, 6 * US]
    assert table["communication_ps"] == [7 * US, 4 * US]  # rank 0 is in the collective from 2 us, rank 1 from 5 us on
    assert table["overlapped_ps"] == [0, 0]
    assert table["exposed_ps"] == [7 * US, 4 * US]
    assert table["exposed_wait_ps"] == [3 * US, 0]  # the other 4 us of each are the all_reduce
    assert table["waited_ps"] == [3 * US, 0]
    assert table["caused_wait_ps"] == [0, 3 * US]
    assert table["slack_ps"] == [0, 0]


def test_bandwidths_are_those_of_nccl_tests() -> None:
    table = collective_table(job())
    assert table["wait_ps"].tolist() == [3 * US]
    assert table["time_ps"].tolist() == [4 * US]
    # 2000 B in 4 us; an all_reduce of two ranks moves 2 * (2 - 1) / 2 = 1 times its size.
    assert table["algbw"].tolist() == [0.5e9]
    assert table["busbw"].tolist() == [0.5e9]
    for summary in (sort_table(job()), group_table(job())):
        assert summary["count"].tolist() == [1]
        assert summary["busbw"].tolist() == [0.5e9]


def test_rates_under_model_bound_are_those_of_the_bound() -> None:
    """Four ranks, one of them late, all_reduce 4000 B over a switch: 6000 B must come to each, 3000 of them behind a
    second latency, in 8 us; the late one alone is done after its own 1 us and 4000 B."""
    builders = [TraceBuilder() for _ in range(4)]
    for rank, builder in enumerate(builders):
        work = builder.add_comp("forward", duration_ns=100_000 if rank == 0 else 0)
        builder.add_collective("gradients", CollectiveType.ALL_REDUCE, 4_000, deps=[work])
    traces = TraceSet(tuple(builder.build() for builder in builders))
    prediction = simulate_traces(traces, load("switch:4,bandwidth=1GB/s,latency=1us"), fidelity=Fidelity("bound"))
    (collective,) = prediction.collectives
    assert (collective.time_ps, collective.bound_ps) == (5 * US, pytest.approx(8 * US, rel=1e-6))
    for table in (collective_table(prediction), sort_table(prediction), group_table(prediction)):
        assert table["busbw"].tolist() == [pytest.approx(6_000 / 8e-6)]


def test_links_are_busy_when_they_carry_something() -> None:
    # Either link carries 1000 B for 1 us from 5 us and from 7 us on; 8 bins of 1024 ns cover the last of it.
    table = link_use_table(job(link_bins=8))
    assert table["link"].tolist() == [0] * 4 + [1] * 4
    starts = table["start_ps"].tolist()[:4]
    assert starts == [4 * 1_024_000, 5 * 1_024_000, 6 * 1_024_000, 7 * 1_024_000]
    # 5 us is 904 ns into the fifth bin (4096 ns to 5120 ns), 7 us 856 ns into the seventh (6144 ns to 7168 ns).
    assert table["busy_ps"].tolist()[:4] == [120_000, 880_000, 168_000, 832_000]


def test_link_use_must_have_been_recorded() -> None:
    with pytest.raises(SimulationError, match="link_bins=256"):
        link_use_table(job())


def test_marks_cut_the_job_into_steps() -> None:
    # Two steps of 2 us and 3 us of computation on rank 0; all of rank 1's 9 us are part of its only mark's step.
    builders = [TraceBuilder(), TraceBuilder()]
    last: tuple[int, ...] = ()
    for number, duration in ((7, 2_000), (8, 3_000)):
        mark = builders[0].add_comp(f"ProfilerStep#{number}", deps=last)
        last = (builders[0].add_comp("work", duration_ns=duration, deps=(mark,)),)
    builders[1].add_comp("work", duration_ns=9_000)
    builders[1].add_comp("step 8")
    traces = TraceSet(tuple(builder.build() for builder in builders))
    table = step_table(simulate_traces(traces, PAIR))
    assert table["step"].tolist() == [7, 8]
    assert table["start_ps"].tolist() == [0, 0]
    assert table["finish_ps"].tolist() == [2 * US, 9 * US]
    assert table["time_ps"].tolist() == [2 * US, 9 * US]


def test_without_marks_there_are_no_steps() -> None:
    assert len(step_table(job())["step"]) == 0
