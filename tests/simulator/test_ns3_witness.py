"""The packet model beside ns-3, and what is said where ns-3 is not there."""

import random
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import hocket
from hocket.api.doctor.findings import PartState
from hocket.api.doctor.native_parts import ns3
from hocket.api.progress import SILENT
from hocket.base.errors import SimulationError
from hocket.bench.peers.figures import PeerPrograms
from hocket.bench.peers.overview import figures_of
from hocket.bench.peers.simulators import simulator_problems
from hocket.chakra import TraceBuilder, TraceSet
from hocket.schedule import Collective, Kind
from hocket.simulator import Fidelity, Packets, Prediction, simulate_collective, simulate_traces
from hocket.simulator.ns3 import HOW_TO_GET, found
from hocket.topology import load

LINKS = "bandwidth=50GB/s,latency=500ns"  # a packet of 4178 bytes takes 83.56 ns: whole picoseconds
# As ns-3's devices are: queues that never fill, first come, first served.
AS_NS3 = Fidelity(
    "packet", switching="store_and_forward", packets=Packets(arbitration="fifo", buffer=2**30, mtu=4096, header=82)
)
NS3 = Fidelity("ns3")
needs_ns3 = pytest.mark.skipif(found() is None, reason=f"ns-3 is not installed: {HOW_TO_GET}")


@pytest.fixture(scope="module", autouse=True)
def _cache(tmp_path_factory: pytest.TempPathFactory) -> None:
    """One build for all tests, of this source."""
    patch = pytest.MonkeyPatch()
    patch.setenv("HOCKET_CACHE", str(tmp_path_factory.mktemp("cache")))


def both(spec: str, algorithm: str, size: int, routing: str | None = None) -> tuple[Prediction, Prediction]:
    topology = load(f"{spec},{LINKS}")
    collective = Collective(Kind.ALL_REDUCE, topology.num_ranks, size)
    own, theirs = (
        simulate_collective(collective, topology, algorithm, fidelity=replace(each, routing=routing))
        for each in (AS_NS3, NS3)
    )
    return own, theirs


@needs_ns3
@pytest.mark.parametrize(
    ("spec", "algorithm", "size", "routing"),
    [
        ("switch:16", "ring", 2**20, None),
        ("switch:16", "direct", 2**20, None),
        ("switch:16", "halving_doubling", 2**20, None),
        ("ring:16", "ring", 2**20, None),
        ("torus:4x4", "hierarchical", 2**20, None),
        ("torus:4x4", "direct", 2**18, None),
        ("fat_tree:4x8,spines=4", "direct", 2**18, "d_mod_k"),
        ("fat_tree:4x8,spines=4", "direct", 2**18, "spray"),
        ("fat_tree:4x8,spines=4", "ring", 2**18, "ecmp:seed=3"),
    ],
)
def test_deterministic_cases_take_as_long_as_in_ns3(spec: str, algorithm: str, size: int, routing: str | None) -> None:
    own, theirs = both(spec, algorithm, size, routing)
    assert abs(own.time_ps - theirs.time_ps) <= 1000
    assert np.array_equal(own.link_bytes, theirs.link_bytes)
    assert np.array_equal(own.link_messages, theirs.link_messages)
    assert np.array_equal(own.link_busy_ps, theirs.link_busy_ps)


@needs_ns3
def test_nothing_is_built_or_run_where_others_may_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tmp_path.chmod(0o777)
    monkeypatch.setenv("HOCKET_CACHE", str(tmp_path))
    with pytest.raises(SimulationError, match="others may write there, so it is not run"):
        both("ring:2", "ring", 2**10)
    assert [path for path in tmp_path.iterdir() if path.suffix != ".lock"] == []


def random_job(seed: int, ranks: int, messages: int) -> TraceSet:
    """Each rank sends its messages one after the other to random ranks, of 1 to 16 packets, with pauses."""
    draw = random.Random(seed)
    builders = [TraceBuilder() for _ in range(ranks)]
    before: list[tuple[int, ...]] = [()] * ranks
    for tag in range(messages):
        for src in range(ranks):
            dst = draw.choice([rank for rank in range(ranks) if rank != src])
            size = draw.randint(1, 65536)
            pause = builders[src].add_comp("pause", duration_ns=draw.randint(1, 2000), deps=before[src])
            number = tag * ranks + src
            before[src] = (builders[src].add_send("send", size, src=src, dst=dst, tag=number, deps=(pause,)),)
            builders[dst].add_recv("recv", size, src=src, dst=dst, tag=number)
    return TraceSet(tuple(builder.build() for builder in builders))


@needs_ns3
@pytest.mark.parametrize(
    ("spec", "routing"), [("fat_tree:4x8,spines=4", "ecmp"), ("fat_tree:4x8,spines=4", "spray"), ("torus:4x8", None)]
)
def test_random_traffic_takes_as_long_as_in_ns3_in_the_mean(spec: str, routing: str | None) -> None:
    topology, traces = load(f"{spec},{LINKS}"), random_job(7, 32, 12)
    taken = []
    for each in (AS_NS3, NS3):
        prediction = simulate_traces(traces, topology, fidelity=replace(each, routing=routing))
        sends = np.flatnonzero(prediction.workload.kind == 3)
        taken.append((prediction.node_finish_ps - prediction.node_start_ps)[sends])
    assert len(taken[0]) == 32 * 12
    # Parts of a message that are ready at one instant take turns in another order in each.
    assert taken[0].mean() == pytest.approx(taken[1].mean(), rel=0.005)
    assert routing == "spray" or np.array_equal(*taken)


@needs_ns3
def test_a_job_computes_waits_and_communicates_as_in_the_engine() -> None:
    """Without packets that meet, all times of all nodes are those of the packet model."""
    topology = load(f"switch:4,{LINKS}")
    builders = [TraceBuilder() for _ in range(4)]
    for rank, builder in enumerate(builders):
        first = builder.add_comp("first", duration_ns=1000 * (rank + 1))
        builder.add_comp("beside", duration_ns=700)
        reduced = builder.add_collective("all_reduce", 1, 2**16, deps=(first,))
        if rank == 0:
            builder.add_send("send", 10_000, src=0, dst=3, tag=1, deps=(reduced,))
        if rank == 3:
            got = builder.add_recv("recv", 10_000, src=0, dst=3, tag=1)
            builder.add_comp("last", duration_ns=50, deps=(got,))
    traces = TraceSet(tuple(builder.build() for builder in builders))
    own, theirs = (
        simulate_traces(traces, topology, fidelity=each, algorithms={"all_reduce": "ring"}) for each in (AS_NS3, NS3)
    )
    assert np.array_equal(own.node_start_ps, theirs.node_start_ps)
    assert np.array_equal(own.node_finish_ps, theirs.node_finish_ps)


@pytest.mark.parametrize(
    ("fidelity", "said"),
    [
        (Fidelity("ns3", packets=Packets(buffer=2**20)), "mtu, header and seed"),
        (Fidelity("ns3", packets=Packets(header=4)), "header has 6 or more"),
        (Fidelity("ns3", packets=Packets(mtu=65536)), "at most 65537 bytes"),
        (Fidelity("ns3", routing="adaptive"), "static"),
        (Fidelity("ns3", overlap_slowdown=2), "slowed"),  # type: ignore[arg-type]
    ],
)
def test_what_ns3_has_not_is_refused(fidelity: Fidelity, said: str) -> None:
    topology = load(f"fat_tree:2x2,spines=2,{LINKS}")
    with pytest.raises(SimulationError, match=said):
        simulate_collective(Collective(Kind.ALL_REDUCE, 4, 1024), topology, "ring", fidelity=fidelity)


def test_a_job_too_large_for_ns3_is_refused_before_it_is_begun() -> None:
    topology = load(f"switch:64,{LINKS}")
    with pytest.raises(SimulationError, match="packets on links, more than"):
        simulate_collective(Collective(Kind.ALL_REDUCE, 64, 2**34), topology, "ring", fidelity=NS3)


def test_without_ns3_the_error_says_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOCKET_NS3", str(tmp_path))
    assert found() is None
    topology = load(f"switch:4,{LINKS}")
    with pytest.raises(SimulationError, match=re.escape(HOW_TO_GET)):
        simulate_collective(Collective(Kind.ALL_REDUCE, 4, 1024), topology, "ring", fidelity=NS3)


def test_an_ns3_that_does_not_compile_is_told_with_the_compilers_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOCKET_NS3", str(tmp_path))
    (tmp_path / "include/ns3").mkdir(parents=True)
    (tmp_path / "include/ns3/point-to-point-module.h").write_text("#error no such thing\n")
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib/libns3.99-core-optimized.so").write_bytes(b"")
    ns3 = found()
    assert ns3 is not None
    assert (ns3.version, ns3.before, ns3.behind) == ("3.99", ".99", "-optimized")
    topology = load(f"switch:4,{LINKS}")
    with pytest.raises(SimulationError, match="could not be built by"):
        simulate_collective(Collective(Kind.ALL_REDUCE, 4, 1024), topology, "ring", fidelity=NS3)


@needs_ns3
def test_the_command_writes_all_outputs_of_ns3(tmp_path: Path) -> None:
    outputs = {name: str(tmp_path / f"{name}.{end}") for name, end in (("json", "json"), ("report", "html"))}
    topology = f"fat_tree:2x2,spines=2,{LINKS}"
    result = hocket.simulate("all_reduce", topology, "64KiB", model="ns3", algorithm="all_reduce=ring", **outputs)
    assert result.prediction.switching == "store_and_forward"
    assert all(Path(path).stat().st_size > 0 for path in outputs.values())


def test_the_doctor_says_how_to_get_ns3(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOCKET_NS3", str(tmp_path))
    (part,) = ns3(SILENT)
    assert (part.part, part.state, part.remedy) == ("ns-3", PartState.ABSENT, HOW_TO_GET)


@needs_ns3
def test_peers_are_compared_with_ns3_itself_where_it_is_here() -> None:
    (problem,) = (each for each in simulator_problems() if each.peer == "ns-3")
    seconds, time = figures_of(problem, PeerPrograms())
    assert (seconds.state, time.state, time.ratio) == ("measured", "measured", 1.0)
    assert seconds.ratio is not None and seconds.ratio > 2
