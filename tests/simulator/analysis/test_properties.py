"""What holds for the analysis of any job."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from random_jobs import jobs

from hocket.chakra import TraceSet
from hocket.simulator import Fidelity, Prediction, simulate_traces
from hocket.simulator.analysis import (
    caused_waits,
    critical_path,
    group_table,
    link_use_table,
    rank_table,
    slack,
    sort_table,
    tables,
)
from hocket.simulator.intervals import covered_ps
from hocket.topology import load

TOPOLOGY = load("switch:3,bandwidth=1GB/s,latency=1us")


def predict(job: TraceSet, model: str) -> Prediction:
    return simulate_traces(job, TOPOLOGY, fidelity=Fidelity(model, record_links=True, link_bins=8))


models = st.sampled_from(["uncontended", "analytical", "congestion"])


@settings(max_examples=150)
@given(jobs(), models)
def test_the_critical_path_is_the_time_without_a_gap(job: TraceSet, model: str) -> None:
    prediction = predict(job, model)
    path = critical_path(prediction)
    assert int(path.duration_ps.sum()) == prediction.time_ps
    assert sum(path.parts().values()) == prediction.time_ps
    ends = [0, *path.finish_ps.tolist()]
    assert path.start_ps.tolist() == ends[:-1]
    assert (path.from_rank[1:] == path.rank[:-1]).all()
    assert (slack(prediction)[path.node] == 0).all()


@settings(max_examples=100)
@given(jobs(), models)
def test_slack_waits_and_parts_add_up(job: TraceSet, model: str) -> None:
    prediction = predict(job, model)
    assert (slack(prediction) >= 0).all()
    ranks = rank_table(prediction)
    assert ranks["waited_ps"].sum() == ranks["caused_wait_ps"].sum() == caused_waits(prediction)["caused_wait_ps"].sum()
    assert (ranks["compute_ps"] == prediction.compute_ps).all()
    active = ranks["compute_ps"] + ranks["communication_ps"] - ranks["overlapped_ps"]
    assert (active + ranks["idle_ps"] == ranks["finish_ps"]).all()
    assert (ranks["exposed_wait_ps"] + ranks["idle_ps"] <= ranks["exposed_ps"]).all()
    assert (ranks["exposed_wait_ps"] <= ranks["waited_ps"]).all()
    for name in ("exposed_wait_ps", "overlapped_ps", "exposed_ps", "idle_ps", "slack_ps"):
        assert (ranks[name] >= 0).all()
    assert (ranks["overlapped_ps"] <= np.minimum(ranks["compute_ps"], ranks["communication_ps"])).all()


@settings(max_examples=100)
@given(jobs(), models)
def test_bins_hold_exactly_what_the_links_did(job: TraceSet, model: str) -> None:
    prediction = predict(job, model)
    use, record = prediction.link_use, prediction.occupancy
    assert use is not None and record is not None
    assert (use.busy_ps.sum(axis=1) == prediction.link_busy_ps).all()
    expected = np.zeros_like(use.busy_ps)
    for link, start, finish in zip(record.link, record.start_ps, record.finish_ps, strict=True):
        for at in range(expected.shape[1]):
            low, high = at * use.bin_ps, (at + 1) * use.bin_ps
            expected[link, at] += max(0, min(finish, high) - max(start, low))
    assert (use.busy_ps == expected).all()
    assert link_use_table(prediction)["busy_ps"].sum() == prediction.link_busy_ps.sum()


@settings(max_examples=50)
@given(jobs(), models)
def test_every_collective_is_counted_once(job: TraceSet, model: str) -> None:
    prediction = predict(job, model)
    assert sort_table(prediction)["count"].sum() == len(prediction.collectives)
    assert group_table(prediction)["count"].sum() == len(prediction.collectives)
    for table in tables(prediction).values():
        assert len({len(column) for column in table.values()}) == 1


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 12), st.integers(0, 6))))
def test_covered_time_counts_each_instant_once(rows: list[tuple[int, int, int]]) -> None:
    owner, start, length = (np.array([row[at] for row in rows], np.int64) for at in range(3))
    covered = covered_ps(owner, start, start + length, 3)
    for each in range(3):
        instants = {t for o, s, n in rows if o == each for t in range(s, s + n)}
        assert covered[each] == len(instants)
