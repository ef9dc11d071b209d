"""The engine `symmetry`: one rank's part, translated, on topologies whose ranks are all alike."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hocket.core.errors import ScheduleError
from hocket.schedule import Collective, Kind, Schedule, verify
from hocket.synthesizer import synthesize
from hocket.topology import Topology, load

GIB = 2**30
LATENCY_US = 0.5


def solve(spec: str, chunks: int = 1, size: int = GIB, blocking: bool = True, kind: Kind = Kind.ALL_GATHER) -> Schedule:
    topology = load(spec)
    collective = Collective(kind, topology.num_ranks, size, chunks)
    return synthesize(collective, topology, engine="symmetry", blocking=blocking)


def slot_us(ranks: int, chunks: int, gib_per_s: int) -> float:
    """Time of one chunk of a GiB on a blocking link."""
    return LATENCY_US + 1e6 / (ranks * chunks * gib_per_s)


@pytest.mark.parametrize("chunks", [1, 4])
@pytest.mark.parametrize(
    "shape, links",
    [
        ("torus:8x8", 4),
        ("torus:4x4x4", 6),
        ("ring:64", 2),
        ("fully_connected:8", 7),
        ("hypercube:6", 6),
        ("torus:8x8x8", 6),
    ],
)
def test_where_all_links_are_alike_it_is_as_quick_as_links_into_a_rank_allow(
    shape: str, links: int, chunks: int
) -> None:
    schedule = solve(f"{shape},bandwidth=50GiB/s,latency=500ns", chunks)
    ranks = schedule.collective.num_ranks
    # Each rank lacks chunks * (ranks - 1), and its links bring one each in a slot.
    slots = math.ceil(chunks * (ranks - 1) / links)
    assert schedule.time_ps == pytest.approx(slots * slot_us(ranks, chunks, 50) * 1e6, rel=1e-6)
    assert schedule.generator == "symmetry"


@pytest.mark.parametrize(
    "nodes, chunks, prototype_us", [(2, 1, 2502.0), (4, 4, 2038.75), (8, 1, 2508.0), (8, 16, 2264.54)]
)
def test_switches_are_used_as_rings_and_not_slower_than_the_prototype(
    nodes: int, chunks: int, prototype_us: float
) -> None:
    """A switch passes on in two links of 250 ns: 500 ns, as the ring that it stands for."""
    spec = f"ring:2xfully_connected:4xswitch:{nodes},bandwidth=200GiB/s+100GiB/s+50GiB/s,latency=500ns+500ns+250ns"
    assert solve(spec, chunks).time_ps <= prototype_us * 1e6


def test_a_switch_without_blocking_is_never_idle() -> None:
    """7 blocks of 1/8 GiB enter each rank at 50 GiB/s, one after the other; the last one's latency follows."""
    schedule = solve("switch:8,bandwidth=50GiB/s,latency=500ns", blocking=False)
    assert schedule.time_ps == pytest.approx(7 * 1e12 / (8 * 50) + 2 * 500_000, rel=1e-9)


def test_reduce_scatter_and_all_reduce_are_composed() -> None:
    gather = solve("torus:4x4,bandwidth=50GiB/s,latency=500ns")
    scatter = solve("torus:4x4,bandwidth=50GiB/s,latency=500ns", kind=Kind.REDUCE_SCATTER)
    both = solve("torus:4x4,bandwidth=50GiB/s,latency=500ns", kind=Kind.ALL_REDUCE)
    assert scatter.time_ps == gather.time_ps
    assert both.time_ps == 2 * gather.time_ps


def test_a_topology_that_does_not_turn_is_refused() -> None:
    with pytest.raises(ScheduleError, match="turns into itself"):
        solve("mesh:3,bandwidth=50GiB/s,latency=500ns")


def test_a_box_is_seen_in_the_numbers_of_the_ranks() -> None:
    """Where a file says nothing about dimensions: the ranks that rank 0 has links to."""
    torus = load("torus:4x4,bandwidth=50GiB/s,latency=500ns")
    links = zip(
        torus.src.tolist(), torus.dst.tolist(), torus.latency_ps.tolist(), torus.bandwidth.tolist(), strict=True
    )
    plain = Topology.from_links("plain", 16, links)
    collective = Collective(Kind.ALL_GATHER, 16, GIB)
    found = [synthesize(collective, topology, engine="symmetry", blocking=True) for topology in (torus, plain)]
    assert found[0].time_ps == found[1].time_ps


KINDS = st.sampled_from(["ring", "fully_connected", "switch", "mesh"])


@st.composite
def products(draw: st.DrawFn) -> str:
    sides = draw(st.lists(st.tuples(KINDS, st.integers(2, 5)), min_size=1, max_size=3))
    # One dimension at least turns.
    sides = [(kind if at or size == 2 else kind.replace("mesh", "ring"), size) for at, (kind, size) in enumerate(sides)]
    bandwidths = draw(st.lists(st.sampled_from([25, 50, 100, 200]), min_size=len(sides), max_size=len(sides)))
    latencies = draw(st.lists(st.sampled_from([0, 500, 5000]), min_size=len(sides), max_size=len(sides)))
    shape = "x".join(f"{kind}:{size}" for kind, size in sides)
    bandwidth, latency = (
        "+".join(f"{value}GiB/s" for value in bandwidths),
        "+".join(f"{value}ns" for value in latencies),
    )
    return f"{shape},bandwidth={bandwidth},latency={latency}"


@given(products(), st.integers(1, 3), st.integers(1, 10**7), st.booleans(), st.integers(0, 3))
def test_any_product_with_a_dimension_that_turns(spec: str, chunks: int, size: int, blocking: bool, seed: int) -> None:
    topology = load(spec)
    collective = Collective(Kind.ALL_GATHER, topology.num_ranks, size, chunks)
    schedule = synthesize(collective, topology, engine="symmetry", blocking=blocking, seed=seed, attempts=3)
    assert schedule.bound is not None and schedule.time_ps >= schedule.bound.time_ps
    # Every chunk gets to every rank exactly once: what reversal in time needs.
    assert verify(schedule).num_transfers == collective.num_chunks * (topology.num_ranks - 1)
