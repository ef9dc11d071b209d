"""Models, disciplines, classes of links, priorities and overlap, by numbers that fit in a line."""

from fractions import Fraction
from pathlib import Path

import pytest

from hocket.base.errors import SimulationError
from hocket.chakra import NodeType, TraceBuilder, TraceSet
from hocket.schedule import Collective, Kind
from hocket.schedule import load as load_schedule
from hocket.schedule import save as save_schedule
from hocket.schedule.algorithms import build
from hocket.simulator import Fidelity, Prediction, simulate_collective, simulate_schedule, simulate_traces
from hocket.simulator.analysis import prediction_json
from hocket.simulator.models import NETWORK_MODELS, Model
from hocket.simulator.ns3 import found
from hocket.topology import load, save

NS = 1000  # picoseconds
# 50 GiB/s: 8 MiB take 8 / (50 * 1024) s = 156250 ns exactly.
BLOCK, SERIALIZATION, LATENCY = 8 * 2**20, 156_250 * NS, 500 * NS


def gather(ranks: int, shape: str, **options: str) -> int:
    """Picoseconds of an all_gather of one block per rank, everybody sending to everybody."""
    machine = load(f"{shape}:{ranks},bandwidth=50GiB/s,latency=500ns")
    return simulate_collective(
        Collective(Kind.ALL_GATHER, ranks, ranks * BLOCK), machine, "direct", fidelity=Fidelity(**options)
    ).time_ps


@pytest.mark.parametrize("ranks", [3, 4, 7])
def test_the_ladder_on_a_switch(ranks: int) -> None:
    # A link of its own for each: one block up and down.
    assert gather(ranks, "switch", model="uncontended") == SERIALIZATION + 2 * LATENCY
    # Each link up and down has n-1 blocks to carry, one after the other or all at once.
    busy = (ranks - 1) * SERIALIZATION + 2 * LATENCY
    assert gather(ranks, "switch", model="analytical") == busy
    assert gather(ranks, "switch", model="congestion") == busy
    assert gather(ranks, "switch", model="flow") == busy
    # The last block is stored once more.
    assert gather(ranks, "switch", model="congestion", switching="store_and_forward") == busy + SERIALIZATION


def test_flows_that_leave_give_room_to_the_others() -> None:
    # Ranks 1, 2, 3 send 1000, 2000, 3000 bytes to rank 0 through its port of 1 GB/s = 1 byte/ns: at a third each the
    # first is through at 3000 ns; the others have 1000 and 2000 left, at half each: 5000; the last has 1000 left: 6000.
    builders = [TraceBuilder() for _ in range(4)]
    sends = [builders[src].add(NodeType.COMM_SEND, "s", comm_bytes=1000 * src, comm_dst=0) for src in (1, 2, 3)]
    prediction = predict(builders, "switch:4,bandwidth=1GB/s,latency=0ns", model="flow")
    assert sends == [0, 0, 0]
    assert prediction.finish_ps.tolist() == [0, 3000 * NS, 5000 * NS, 6000 * NS]


@pytest.mark.parametrize("model", ["analytical", "congestion", "flow"])
def test_messages_of_a_pair_follow_one_another(model: str) -> None:
    # Four messages of 1000 bytes go down a line of four ranks at 1 byte/ns, each sent on when it has come: the last is
    # through its first link at 4000 ns, its second at 5000 and its third at 6000.
    builders = [TraceBuilder() for _ in range(4)]
    for rank, builder in enumerate(builders):
        for tag in range(4):
            deps: tuple[int, ...] = ()
            if rank:
                deps = (builder.add(NodeType.COMM_RECV, "r", comm_bytes=1000, comm_src=rank - 1, comm_tag=tag),)
            if rank < 3:
                builder.add(NodeType.COMM_SEND, "s", deps=deps, comm_bytes=1000, comm_dst=rank + 1, comm_tag=tag)
    prediction = predict(builders, "mesh:4,bandwidth=1GB/s,latency=0ns", model=model)
    assert prediction.finish_ps.tolist() == [4000 * NS, 5000 * NS, 6000 * NS, 6000 * NS]


def predict(builders: list[TraceBuilder], topology: str, **options: str) -> Prediction:
    traces = TraceSet(tuple(builder.build() for builder in builders))
    return simulate_traces(traces, load(topology), fidelity=Fidelity(**options))


@pytest.mark.parametrize("queueing", ["fifo", "priority"])
def test_the_higher_priority_leaves_first(queueing: str) -> None:
    # 1 byte/ns. By priority: 2000 bytes, then 3000, then 1000.
    builders = [TraceBuilder(), TraceBuilder()]
    for size, priority in ((1000, 0), (2000, 2), (3000, 1)):
        builders[0].add(NodeType.COMM_SEND, "s", comm_bytes=size, comm_dst=1, comm_tag=size, comm_priority=priority)
    prediction = predict(builders, "ring:2,bandwidth=1GB/s,latency=1ns", queueing=queueing)
    assert prediction.node_finish_ps.tolist() == [6001 * NS, 2001 * NS, 5001 * NS]


def test_a_discipline_serves_one_class_of_links() -> None:
    # All ranks of a column send to rank 0: heads come at 0 ns to its port, in the order of the ranks.
    builders = [TraceBuilder() for _ in range(4)]
    for src, size in ((1, 3000), (2, 2000), (3, 1000)):
        builders[src].add(NodeType.COMM_SEND, "s", comm_bytes=size, comm_dst=0)
    one_dimension = "switch:4,bandwidth=1GB/s,latency=0ns"
    first_come = predict(builders, one_dimension, queueing={"0": "fifo"}).finish_ps.tolist()
    smallest = predict(builders, one_dimension, queueing={"*": "smallest_remaining"}).finish_ps.tolist()
    assert first_come == [0, 3000 * NS, 5000 * NS, 6000 * NS]
    # Nobody is served before all that comes at the same instant is there.
    assert smallest == [0, 6000 * NS, 3000 * NS, 1000 * NS]


def test_switching_is_chosen_per_class() -> None:
    machine = load("switch:2xswitch:2,bandwidth=50GiB/s,latency=500ns")
    # From rank 0 to rank 1 through the switch of dimension 0, to rank 2 through that of dimension 1.
    stored = {"1": "store_and_forward"}
    for dst, stops in ((1, 1), (2, 2)):
        builders = [TraceBuilder() for _ in range(4)]
        builders[0].add(NodeType.COMM_SEND, "s", comm_bytes=BLOCK, comm_dst=dst)
        traces = TraceSet(tuple(builder.build() for builder in builders))
        for model in ("uncontended", "analytical", "congestion", "flow"):
            time_ps = simulate_traces(traces, machine, fidelity=Fidelity(model, switching=stored)).time_ps
            assert time_ps == stops * SERIALIZATION + 2 * LATENCY


def test_computation_is_slower_while_its_rank_communicates() -> None:
    # 300 bytes at 1 byte/ns: until 300 ns the computation does 300 / 1.5 = 200 ns of its 1000, the rest by 1100.
    builders = [TraceBuilder(), TraceBuilder()]
    builders[0].add_comp("c", duration_ns=1000)
    builders[0].add(NodeType.COMM_SEND, "s", comm_bytes=300, comm_dst=1)
    builders[1].add_comp("c", duration_ns=1000)
    prediction = predict(builders, "ring:2,bandwidth=1GB/s,latency=0ns", overlap_slowdown=Fraction("1.5"))
    assert prediction.finish_ps.tolist() == [1100 * NS, 1000 * NS]
    assert prediction.slowed_ps.tolist() == [100 * NS, 0]
    assert prediction_json(prediction)["slowed_ns"] == {"0": 100, "1": 0}


def test_unknown_values_and_classes_are_refused() -> None:
    with pytest.raises(SimulationError, match="unknown queueing 'random'; there are fifo, lifo"):
        gather(4, "switch", queueing="random")
    with pytest.raises(SimulationError, match=r"unknown class of links of .* 'nvlink'; there are 0"):
        simulate_collective(
            Collective(Kind.ALL_GATHER, 4, 4),
            load("ring:4,bandwidth=1GB/s,latency=0ns"),
            fidelity=Fidelity(queueing={"nvlink": "fifo"}),
        )


@pytest.mark.parametrize("model", ["flow", "analytical", "uncontended", "bound"])
def test_disciplines_are_refused_where_there_are_no_queues(model: str) -> None:
    ring, collective = load("ring:4,bandwidth=1GB/s,latency=0ns"), Collective(Kind.ALL_GATHER, 4, 4)
    with pytest.raises(SimulationError, match=f"queueing 0=lifo: disciplines are for congestion, {model} has no"):
        simulate_collective(collective, ring, fidelity=Fidelity(model, queueing={"0": "lifo"}))
    assert simulate_collective(collective, ring, fidelity=Fidelity(model, queueing={"0": "fifo"})).time_ps > 0


def test_classes_survive_files(tmp_path: Path) -> None:
    machine = load("dgx-h100:nodes=2,gpus=2")
    save(machine, tmp_path / "dgx.yaml")
    again = load(str(tmp_path / "dgx.yaml"))
    assert again.classes == machine.classes == ("nvlink", "pcie", "fabric")
    assert again.link_class.tolist() == machine.link_class.tolist()
    schedule = build("ring", Collective(Kind.ALL_REDUCE, 4, BLOCK), machine)
    save_schedule(schedule, tmp_path / "ar.schedule")
    stored = simulate_schedule(
        load_schedule(tmp_path / "ar.schedule"), fidelity=Fidelity(switching={"fabric": "store_and_forward"})
    )
    assert stored.time_ps > simulate_schedule(schedule).time_ps


def test_the_ladder_is_what_the_engine_runs() -> None:
    assert list(NETWORK_MODELS) == list(Model)
    collective, ring = Collective(Kind.ALL_REDUCE, 4, 4000), load("ring:4,bandwidth=1GB/s,latency=1ns")
    for name in NETWORK_MODELS:
        if name == Model.NS3 and found() is None:
            continue  # another program's, which is not everywhere
        prediction = simulate_collective(collective, ring, "ring", fidelity=Fidelity(name))
        # six steps of 1000 B: 1 us and 1 ns each, of packets 82 ns more; what must come in at each rank takes half of
        # that
        in_packets = 6_006_000 + 6 * 82 * NS
        expected = {Model.BOUND: 3_001_000, Model.PACKET: in_packets, Model.NS3: in_packets}
        assert prediction.time_ps == expected.get(name, 6_006_000), name
        assert prediction.model == name
