"""Bounds by flows: closed forms, recorded optima of linear programs, and never above what a schedule takes."""

import csv
from pathlib import Path

import homes
import machines
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hocket.base.errors import ScheduleError
from hocket.schedule import Collective, Kind, certificate, lower_bound, retime
from hocket.topology import Topology, load

RFS_LINKS = "bandwidth=200/100/50GiB/s,latency=500ns"
DRAGONFLY_LINKS = "bandwidth=400/200GiB/s,latency=500ns"
GIB = 2**30
US = 10**6
LINK = "bandwidth=50GiB/s,latency=500ns"


def test_the_middle_of_a_mesh() -> None:
    # 32 x 32 chunks of 16 MiB cross the middle of a mesh 8x8 each way over 8 links: 128 slots of 312.5 + 0.5 us.
    bound = lower_bound(Collective(Kind.ALL_TO_ALL, 64, GIB), load(f"mesh:8x8,{LINK}"), blocking=True)
    assert (bound.time_ps, bound.reason) == (128 * 313 * US, "ingress of half 0 of dimension 0")


def test_all_links_of_a_torus() -> None:
    # 64 ranks send 63 chunks 8 * 2 * (1+2+3+4+3+2+1) / 2 = 256 hops in all; 4 links each: 64 slots of 313 us.
    bound = lower_bound(Collective(Kind.ALL_TO_ALL, 64, GIB), load(f"torus:8x8,{LINK}"), blocking=True)
    assert bound.time_ps == 64 * 313 * US


def test_links_between_groups() -> None:
    # Dragonfly of 8 groups of 7: 49 chunks for each ordered pair of groups over its one link of 200 GiB/s.
    chunk = GIB // 56
    bound = lower_bound(
        Collective(Kind.ALL_TO_ALL, 56, 56 * chunk), load(f"dragonfly:7x8,{DRAGONFLY_LINKS}"), blocking=True
    )
    slot = 500_000 + -(-chunk * 10**12 // (200 * GIB))
    # As much as the traffic over all links of 200 GiB/s: every group has as many of them, all busy at once.
    assert (bound.time_ps, bound.reason) == (49 * slot, "ingress of node 0")


def test_links_that_block_are_held_for_whole_routes_and_trunks_shared() -> None:
    # Of 4 leaves with 8 ranks each, two uplinks of 100 GB/s: 8 x 24 chunks of 32 MiB go up, 96 over each. Two at a time
    # come over the ranks' 50 GB/s; if links block, one by one, and each holds the uplink for the route's 2 us as well.
    topology, slot = (
        load("fat_tree:8x4,spines=2,bandwidth=50/100GB/s,latency=500ns"),
        -(-GIB // 32 * 10**12 // (50 * 10**9)),
    )
    exchange = Collective(Kind.ALL_TO_ALL, 32, GIB)
    assert lower_bound(exchange, topology).time_ps == pytest.approx(48 * slot, rel=1e-4)
    assert lower_bound(exchange, topology, blocking=True).time_ps == 96 * (slot + 2_000_000)


@pytest.mark.parametrize(("ranks", "degree", "blocking"), [(32, 4, True), (64, 4, False), (64, 6, True)])
def test_an_equilibrium_nearly_proves_the_optimum(ranks: int, degree: int, blocking: bool) -> None:
    topology = load(f"random:{ranks},degree={degree},seed=1,bandwidth=50/100GiB/s,latency=500ns")
    exchange = Collective(Kind.ALL_TO_ALL, ranks, GIB)
    optimum_ps = certificate(exchange, topology, blocking).time_ps
    assert optimum_ps * 0.998 <= lower_bound(exchange, topology, blocking).time_ps <= optimum_ps


def test_latency_follows_the_last_chunk() -> None:
    # 3 chunks of 1000 B at 1 B/ns over the one link, whose 500 ns overlap with the next chunk.
    pair = Topology.from_links("pair", 2, [(0, 1, 500_000, 10**9), (1, 0, 500_000, 10**9)])
    assert lower_bound(Collective(Kind.ALL_TO_ALL, 2, 6000, 3), pair).time_ps == 3 * 1000_000 + 500_000


@pytest.mark.parametrize(("kind", "chunks"), [(Kind.GATHER, 2), (Kind.SCATTER, 2), (Kind.BROADCAST, 1)])
def test_a_thin_link_far_from_the_root(kind: Kind, chunks: int) -> None:
    # 0 - 1 - 2 - 3, where 1 - 2 is ten times thinner: blocks of ranks 2 and 3 pass it one by one.
    widths = [10**10, 10**9, 10**10]
    links = [(a, b, 0, width) for at, width in enumerate(widths) for a, b in ((at, at + 1), (at + 1, at))]
    collective = Collective(kind, 4, 1000 if kind is Kind.BROADCAST else 4000)
    bound = lower_bound(collective, Topology.from_links("line", 4, links))
    assert bound.time_ps >= chunks * 1000_000
    if kind is not Kind.BROADCAST:  # where latency, hop by hop, is more
        assert bound.time_ps == chunks * 1000_000 and bound.reason == "flow between rank 0 and all others"


PEERS = {
    "mesh:4x4": f"mesh:4x4,{LINK}",
    "torus:4x4": f"torus:4x4,{LINK}",
    "mesh:8x8": f"mesh:8x8,{LINK}",
    "dragonfly:4x5:bw=400,200": f"dragonfly:4x5,{DRAGONFLY_LINKS}",
    "rfs:2x4x8:bw=200,100,50": f"ring:2xfully_connected:4xunwound_switch:8,{RFS_LINKS}",
}


@pytest.mark.shared
@pytest.mark.parametrize("peer", PEERS)
def test_certificate_proves_the_optimum(shared: Path, peer: str) -> None:
    pytest.importorskip("highspy")
    with open(shared / "tacos" / "a2a_lp.csv", newline="") as file:
        optimum_us = {row["spec"]: float(row["a2a_lp_opt_us"]) for row in csv.DictReader(file)}[peer]
    topology = load(PEERS[peer])
    bound = certificate(Collective(Kind.ALL_TO_ALL, topology.num_ranks, GIB), topology, blocking=True)
    assert bound.time_ps / US == pytest.approx(optimum_us, rel=1e-4)


@settings(max_examples=60)
@given(data=st.data(), kind=st.sampled_from([Kind.ALL_TO_ALL, Kind.GATHER, Kind.SCATTER]), blocking=st.booleans())
def test_certificate_lies_between_the_bound_and_any_schedule(data: st.DataObject, kind: Kind, blocking: bool) -> None:
    pytest.importorskip("highspy")
    n = data.draw(st.integers(2, 6))
    topology = data.draw(machines.topologies(n))
    collective = data.draw(homes.collectives(kind, n, most_bytes=10_000))
    proved = certificate(collective, topology, blocking)
    assert lower_bound(collective, topology, blocking).time_ps <= proved.time_ps
    group = np.arange(n, dtype=np.int32)
    assert proved.time_ps <= retime(data.draw(homes.natives(collective, topology, group)), blocking).time_ps


def test_only_chunks_that_stay_whole_are_a_flow() -> None:
    with pytest.raises(ScheduleError, match="all_gather over 4 ranks is no flow"):
        certificate(Collective(Kind.ALL_GATHER, 4, 4000), machines.ring(4))
