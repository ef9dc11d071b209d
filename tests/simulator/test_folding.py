"""One rank stands for all where all do alike: to the picosecond on every rank and every link, and nowhere else."""

from dataclasses import replace

import numpy as np
import pytest
from homes import LINK
from hypothesis import given, settings
from hypothesis import strategies as st

from hocket.base.errors import ScheduleError
from hocket.schedule import Collective, Kind
from hocket.schedule.algorithms import ALGORITHMS, pattern
from hocket.simulator import Fidelity, simulate_collective
from hocket.simulator.analysis import prediction_json
from hocket.simulator.collective_plan import CollectivePlan
from hocket.simulator.models import Model, Queueing, Switching
from hocket.simulator.prediction import Prediction
from hocket.simulator.simulation import simulate
from hocket.simulator.workload import CollectiveCall, single_call
from hocket.topology import Topology, load

SPECS = [
    "ring:5",
    "ring:8",
    "torus:4x4",
    "torus:4x3",
    "torus:4x2x2",
    "switch:8",
    "switch:4xring:4",
    "fully_connected:6",
]
SPECS += ["hypercube:3", "switch:3xswitch:4", "mesh:4x2", "dgx-h100:nodes=2,gpus=4"]
COLUMNS = ("finish_ps", "link_busy_ps", "link_bytes", "link_messages", "node_start_ps", "node_finish_ps", "events")
COLUMNS += ("node_cause",)
FOLDS = {
    ("ring", "ring:8"),
    ("ring", "switch:8"),
    ("bruck", "ring:5"),
    ("torus_ring", "torus:4x3"),
    ("direct", "torus:4x2x2"),
    ("hierarchical", "dgx-h100:nodes=2,gpus=4"),
    ("halving_doubling", "hypercube:3"),
    ("swing", "torus:4x4"),
    ("themis", "switch:4xring:4"),
}


def topology_of(spec: str) -> Topology:
    return load(spec if spec.startswith("dgx") else f"{spec},{LINK}")


def simulated(planned: CollectivePlan, fidelity: Fidelity) -> Prediction:
    topology, ranks = planned.source.topology, range(planned.collective.num_ranks)
    workload = single_call(CollectiveCall.of(planned.collective, list(ranks)), topology.num_ranks)
    return simulate(workload, topology, fidelity, lambda _: [planned])


@settings(max_examples=150)
@given(st.data())
def test_folded_is_what_all_ranks_do(data: st.DataObject) -> None:
    topology = topology_of(data.draw(st.sampled_from(SPECS)))
    name = data.draw(st.sampled_from(sorted(ALGORITHMS)))
    kind = data.draw(st.sampled_from(ALGORITHMS[name].kinds))
    size = data.draw(st.sampled_from([0, 1, 999, 5040])) * topology.num_ranks**2
    collective = Collective(kind, topology.num_ranks, size, data.draw(st.integers(1, 4)))
    try:
        alike = CollectivePlan(pattern(name, collective, topology), name)
    except ScheduleError:
        return  # not for this number of ranks, or not here
    model = data.draw(st.sampled_from([Model.UNCONTENDED, Model.ANALYTICAL, Model.CONGESTION, Model.FLOW]))
    switching, queueing = data.draw(st.sampled_from(Switching)), data.draw(st.sampled_from(Queueing))
    # Other models have no queues, and Fidelity refuses disciplines of them.
    fidelity = Fidelity(model, switching, queueing if model is Model.CONGESTION else Queueing.FIFO, link_bins=4)
    one, copies, spelled_out = (
        simulated(alike, fidelity),
        simulated(alike, replace(fidelity, fold=False)),
        simulated(CollectivePlan(alike.schedule, name), fidelity),
    )
    assert (copies.folded, spelled_out.folded) == (1, 1)
    assert one.folded == (1 if alike.folded is None else topology.num_ranks)
    for column in COLUMNS:
        assert np.array_equal(getattr(one, column), getattr(spelled_out, column)), column
        assert np.array_equal(getattr(copies, column), getattr(spelled_out, column)), column
    assert one.link_use is not None and spelled_out.link_use is not None
    assert np.array_equal(one.link_use.busy_ps, spelled_out.link_use.busy_ps)
    assert abs(alike.busiest_link_ps - alike.schedule.busiest_link_ps) <= 1  # it is rounded


def test_events_are_those_of_messages_however_often_links_wake_up() -> None:
    # 16 ranks send 15 messages over 2 links on average (without latency, many at one instant), each an event a link.
    topology = load("torus:4x4,bandwidth=333GB/s,latency=0ns")
    collective = Collective(Kind.REDUCE_SCATTER, 16, 2**20)
    planned = CollectivePlan(pattern("pairwise", collective, topology), "pairwise")
    fidelity = Fidelity(Model.CONGESTION, {"0": "store_and_forward", "1": "cut_through"}, Queueing.PRIORITY)
    one, each = simulated(planned, fidelity), simulated(planned, replace(fidelity, fold=False))
    assert (one.folded, each.folded) == (16, 1)
    assert one.events == each.events == each.link_messages.sum()


def test_ties_of_messages_without_bytes_break_alike() -> None:
    # 16 pieces of 5 chunks per rank hold a byte each or none; last in, first out on one class of links.
    topology = load("switch:4xswitch:4,bandwidth=1GB/s,latency=0ns")
    collective = Collective(Kind.ALL_GATHER, 16, 16, 5)
    planned = CollectivePlan(pattern("swing", collective, topology), "swing")
    fidelity = Fidelity(Model.CONGESTION, queueing={"0": "lifo", "1": "priority"})
    one, each = simulated(planned, fidelity), simulated(planned, replace(fidelity, fold=False))
    assert (one.folded, each.folded) == (16, 1)
    for column in COLUMNS:
        assert np.array_equal(getattr(one, column), getattr(each, column)), column


@pytest.mark.parametrize(("name", "spec"), sorted(FOLDS))
def test_folds(name: str, spec: str) -> None:
    topology = topology_of(spec)
    kind = Kind.ALL_GATHER if name == "bruck" else Kind.ALL_REDUCE
    n = topology.num_ranks
    prediction = simulate_collective(Collective(kind, n, n * 1000), topology, name)
    assert prediction.folded == n
    assert prediction_json(prediction)["folded"] == n


def test_does_not_fold_what_is_not_alike() -> None:
    ring = load(f"ring:8,{LINK}")
    even = Collective(Kind.ALL_REDUCE, 8, 8000)
    assert simulate_collective(even, ring, "ring").folded == 8
    slow = ring.bandwidth.copy()
    slow[3] //= 2
    late = ring.latency_ps.copy()
    late[3] += 1
    for other in (
        (replace(even, size_bytes=8001), ring),  # a chunk of 1001 bytes
        (even, replace(ring, bandwidth=slow)),
        (even, replace(ring, latency_ps=late)),
        (even, load(f"mesh:8,{LINK}")),
        (even, load(f"ring:9,{LINK}")),  # of a part of the ring
    ):
        assert simulate_collective(*other, "ring").folded == 1
    assert simulate_collective(even, ring, "double_binary_tree").folded == 1
    assert simulate_collective(even, ring, "ring", fidelity=Fidelity(record_links=True)).folded == 1


def test_one_rank_of_a_ring_by_hand() -> None:
    """16 KiB chunks at 50 GB/s take 327,680 ps, and 500 ns to the next rank. 16 chunks of a rank leave back to back, so
    a round of them takes 16 x 327,680 = 5,242,880 ps, longer than a chunk's way of 827,680 ps: the link never idles.
    2 x 4,095 rounds, then the last chunk's latency."""
    topology = load("ring:4096,bandwidth=50GB/s,latency=500ns")
    prediction = simulate_collective(Collective(Kind.ALL_REDUCE, 4096, 2**30, 16), topology, "ring")
    assert prediction.time_ps == 2 * 4095 * 16 * 327_680 + 500_000
    assert prediction.folded == 4096
    assert prediction.events == 4096 * 2 * 4095 * 16
    assert set(prediction.link_bytes.tolist()) == {0, 2 * 4095 * 16 * 16384}
