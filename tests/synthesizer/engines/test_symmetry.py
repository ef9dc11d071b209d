"""The engine `symmetry`: one rank's part, translated, on topologies whose ranks are all alike."""

import csv
import json
import math
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from in_process import hocket

from hocket.base.errors import ScheduleError
from hocket.schedule import AnySchedule, Collective, FoldedSchedule, Kind, Schedule, load_expanded, verify
from hocket.synthesizer import Problem, Progress, Search, synthesize
from hocket.synthesizer import solve as solve_problem
from hocket.synthesizer.engines import symmetry
from hocket.topology import Topology, load

GIB = 2**30
LATENCY_US = 0.5


def solve(
    spec: str, chunks: int = 1, size: int = GIB, blocking: bool = True, kind: Kind = Kind.ALL_GATHER
) -> AnySchedule:
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
    spec = f"ring:2xfully_connected:4xswitch:{nodes},bandwidth=200GiB/s/100GiB/s/50GiB/s,latency=500ns/500ns/250ns"
    assert solve(spec, chunks).time_ps <= prototype_us * 1e6


@pytest.mark.shared
def test_not_slower_than_the_prototypes_on_ring_fully_connected_switch(shared: Path) -> None:
    with (shared / "tacos" / "compare_allgather.csv").open() as lines:
        rows = [row for row in csv.DictReader(lines) if re.fullmatch(r"rfs:2x4x\d+:bw=200,100,50", row["spec"])]
    rows = [row for row in rows if int(row["npus"]) > 8 and int(row["npus"]) * int(row["K"]) <= 1024]
    assert len(rows) == 16
    for row in rows:
        nodes = row["spec"].split(":")[1].split("x")[2]
        shape = f"ring:2xfully_connected:4xunwound_switch:{nodes},degree=1"
        chunks, chunk_bytes = int(row["K"]), int(row["chunk_bytes"])
        size = int(row["npus"]) * chunks * chunk_bytes
        schedule = solve(f"{shape},bandwidth=200GiB/s/100GiB/s/50GiB/s,latency=500ns", chunks, size)
        # recorded to four digits of a microsecond
        assert schedule.time_ps <= float(row["ours_us"]) * 1e6 + 50, row


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


@pytest.mark.parametrize(
    "spec, slots",
    [
        # A hop takes one of the 4 or 6 links of a rank; the distances of n ranks on a ring sum up to n^2/4.
        ("torus:8x8", 2 * 8 * (8 * 8 // 4) // 4),
        ("torus:4x4x4", 3 * 16 * (4 * 4 // 4) // 6),
        ("torus:12x12", 2 * 12 * (12 * 12 // 4) // 4),
        ("hypercube:6", 2**5),  # half of the ranks are across each link
        ("switch:16", 15),
        # Shifts 1..5 by links of 1 and 2 in 1, 1, 2, 2, 3 hops: 9 hops over 2 links, one after the other.
        ("unwound_switch:6,degree=2", 5),
    ],
)
def test_all_to_all_takes_as_long_as_its_most_loaded_link(spec: str, slots: int) -> None:
    schedule = solve(f"{spec},bandwidth=50GiB/s,latency=500ns", kind=Kind.ALL_TO_ALL, size=2**24)
    ranks, ports = schedule.collective.num_ranks, schedule.topology.dimensions[0]
    hops = 2 if ports.kind == "switch" else 1
    slot_ps = hops * 500_000 + 2**24 * 10**12 / ranks / ports.link_bandwidth
    assert schedule.time_ps == pytest.approx(slots * slot_ps, rel=1e-5)


def test_all_to_all_on_a_heterogeneous_product_waits_for_its_slowest_dimension() -> None:
    """7 of 8 blocks of each rank leave by a port of 50 GiB/s."""
    schedule = solve(
        "ring:2xfully_connected:4xswitch:8,bandwidth=200GiB/s/100GiB/s/50GiB/s,latency=0ns", kind=Kind.ALL_TO_ALL
    )
    assert schedule.time_ps == pytest.approx(1e12 * 7 / 8 / 50, rel=1e-6)


def test_the_order_of_links_changes_nothing() -> None:
    torus = load("torus:4x3,bandwidth=50GiB/s/20GiB/s,latency=500ns")
    columns = (torus.src, torus.dst, torus.latency_ps, torus.bandwidth)
    turned = Topology.from_links("turned", 12, zip(*(column[::-1].tolist() for column in columns), strict=True))
    for kind in (Kind.ALL_GATHER, Kind.ALL_TO_ALL):
        collective = Collective(kind, 12, GIB)
        one, other = (synthesize(collective, topology, engine="symmetry") for topology in (torus, turned))
        assert one.time_ps == other.time_ps


SIZES = st.integers(2, 5)
TURNING = st.one_of(st.tuples(st.sampled_from(["ring", "fully_connected", "switch"]), SIZES), st.just(("mesh", 2)))


@st.composite
def products(draw: st.DrawFn, any_dimension: st.SearchStrategy[tuple[str, int]]) -> str:
    """At least one dimension turns."""
    sides = [draw(TURNING), *draw(st.lists(any_dimension, max_size=2))]
    bandwidths = draw(st.lists(st.sampled_from([25, 50, 100, 200]), min_size=len(sides), max_size=len(sides)))
    latencies = draw(st.lists(st.sampled_from([0, 500, 5000]), min_size=len(sides), max_size=len(sides)))
    shape = "x".join(f"{kind}:{size}" for kind, size in sides)
    bandwidth, latency = (
        "/".join(f"{value}GiB/s" for value in bandwidths),
        "/".join(f"{value}ns" for value in latencies),
    )
    return f"{shape},bandwidth={bandwidth},latency={latency}"


ANY = st.one_of(TURNING, st.tuples(st.just("mesh"), SIZES))


@settings(max_examples=40)
@given(products(ANY), st.integers(1, 3), st.integers(1, 10**7), st.booleans(), st.integers(0, 3))
def test_all_gather_on_any_product_with_a_dimension_that_turns(
    spec: str, chunks: int, size: int, blocking: bool, seed: int
) -> None:
    topology = load(spec)
    collective = Collective(Kind.ALL_GATHER, topology.num_ranks, size, chunks)
    # from the tenth attempt on some vary the best
    few, many = (
        synthesize(collective, topology, engine="symmetry", blocking=blocking, seed=seed, attempts=attempts)
        for attempts in (3, 25)
    )
    assert few.time_ps >= many.time_ps
    for schedule in (few, many):
        assert schedule.bound is not None and schedule.time_ps >= schedule.bound.time_ps
        # Every chunk gets to every rank exactly once: what reversal in time needs.
        assert verify(schedule).num_transfers == collective.num_chunks * (topology.num_ranks - 1)


@settings(max_examples=40)
@given(products(TURNING), st.integers(1, 2), st.integers(1, 10**7), st.booleans())
def test_all_to_all_on_any_product_whose_dimensions_turn(spec: str, chunks: int, size: int, blocking: bool) -> None:
    topology = load(spec)
    collective = Collective(Kind.ALL_TO_ALL, topology.num_ranks, size, chunks)
    schedule = synthesize(collective, topology, engine="symmetry", blocking=blocking)
    assert schedule.bound is not None and schedule.time_ps >= schedule.bound.time_ps
    # The busiest link is idle for no longer than a chunk takes on the longest way.
    way_ps = sum(side.size * (2 * side.latency_ps + size * 10**12 // side.bandwidth) for side in topology.dimensions)
    assert schedule.time_ps <= verify(schedule).link_busy_ps.max() + way_ps


def sends(schedule: Schedule) -> list[tuple[int, int, int, bool]]:
    """Which chunks go from where to where: sorted."""
    first, last = schedule.route_offset[:-1], schedule.route_offset[1:] - 1
    src = schedule.topology.src[schedule.route_links[first]][schedule.route]
    dst = schedule.topology.dst[schedule.route_links[last]][schedule.route]
    return sorted(zip(schedule.chunk.tolist(), src.tolist(), dst.tolist(), schedule.reduce.tolist(), strict=True))


KINDS = st.sampled_from([Kind.ALL_GATHER, Kind.REDUCE_SCATTER, Kind.ALL_REDUCE, Kind.ALL_TO_ALL])


@settings(max_examples=40)
@given(products(TURNING), KINDS, st.integers(1, 2), st.integers(1, 10**7), st.booleans())
def test_folded_it_is_the_same(spec: str, kind: Kind, chunks: int, size: int, blocking: bool) -> None:
    topology = load(spec)
    collective = Collective(kind, topology.num_ranks, size, chunks)
    plain = synthesize(collective, topology, engine="symmetry", blocking=blocking, attempts=1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(symmetry, "_MOST_SPELLED_OUT", 0)
        folded = synthesize(collective, topology, engine="symmetry", blocking=blocking, attempts=1)
    assert isinstance(plain, Schedule) and isinstance(folded, FoldedSchedule)
    assert folded.num_representatives * topology.num_ranks == plain.num_transfers
    assert folded.time_ps >= plain.time_ps  # which is retimed, and overlaps the halves of an all_reduce
    again = folded.expand()
    assert verify(again).num_transfers == verify(folded).num_transfers
    assert sends(again) == sends(plain)


def run_hocket(*arguments: str) -> str:
    done = hocket(*arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout


def synthesized(*arguments: str) -> dict[str, Any]:
    numbers = json.loads(run_hocket("synthesize", *arguments, "--blocking", "--chunks", "1", "--json", "-"))
    assert isinstance(numbers, dict)
    return numbers


def test_all_to_all_of_ten_thousand_ranks_is_optimal_and_small() -> None:
    topology, size = "torus:100x100,bandwidth=50GiB/s,latency=500ns", str(10**4 * 2**16)
    asked = ["synthesize", "all_to_all", "--topology", topology, "--size", size, "--blocking", "--chunks", "1"]
    # In a process of its own: the peak of this one is that of other tests too.
    command = [sys.executable, "-m", "hocket", *asked, "--json", "-"]
    numbers = json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)
    # 2 x 2500 hops on average over 100, for 10^8 chunks; 5000 x 5000 of them cross the middle each way over 200 links,
    # in slots of 64 KiB and a latency.
    assert numbers["transfers"] == 10**8 * 2 * 2500 // 100
    slot_ps = 500_000 + math.ceil(2**16 * 10**12 / (50 * GIB))
    assert numbers["time_ps"] == numbers["bound_ps"] == 5000 * 5000 // 200 * slot_ps
    assert numbers["peak_rss_bytes"] < 500_000_000


def test_a_folded_schedule_is_saved_verified_expanded_and_resized(tmp_path: Path) -> None:
    path, link = tmp_path / "a2a.schedule", "bandwidth=50GiB/s,latency=500ns"
    arguments = ("all_to_all", "--topology", f"torus:16x16,{link}", "--size", "1MiB", "-o", str(path))
    numbers = synthesized(*arguments)
    assert numbers["transfers"] == 256 * 256 * 8 > 500_000  # 2 x 4 hops on average
    assert str(numbers["transfers"]) in run_hocket("verify", str(path))
    assert load_expanded(path).num_transfers == numbers["transfers"]
    small = synthesized(*arguments, "--objective", "latency")
    assert small["time_ps"] >= numbers["bound_ps"]


@pytest.mark.parametrize("kind", [Kind.ALL_GATHER, Kind.ALL_TO_ALL, Kind.ALL_REDUCE])
def test_a_search_that_is_asked_to_stop_at_once_finishes_what_is_quick(kind: Kind) -> None:
    topology = load("torus:4x4,bandwidth=50GiB/s,latency=500ns")
    progress = Progress()
    progress.stop.ask()
    problem = Problem(Collective(kind, 16, GIB), topology)
    found = solve_problem(problem, Search(progress=progress), engine="symmetry")
    assert found.schedule.time_ps >= problem.bound.time_ps > 0


def test_forty_thousand_ranks() -> None:
    """A torus of 200x200: 39,999 chunks enter each rank over 4 links, the farthest in 200 hops."""
    schedule = solve("torus:200x200,bandwidth=50GiB/s,latency=500ns", size=40_000 * 2**14)
    assert isinstance(schedule, FoldedSchedule)
    assert schedule.num_transfers == 40_000 * 39_999
    slot_ps = 500_000 + math.ceil(2**14 * 10**12 / (50 * GIB))
    assert 10_000 * slot_ps <= schedule.time_ps <= 10_001 * slot_ps
