"""Exact packing of spanning trees: the period is the worst cut's, the trees span and fit, schedules come near it."""

import json
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from in_process import hocket
from random_networks import networks

from hocket._core import synthesizer as core
from hocket.base.errors import Infeasible
from hocket.schedule import Collective, Kind
from hocket.synthesizer import synthesize
from hocket.topology import Topology, load

GIB = 2**30
NO_STOP = core.Stop()


@st.composite
def switched(draw: st.DrawFn) -> Topology:
    """Up to six ranks on up to three switches that are joined in a row, all links 1 GB/s each way, some of them double:
    as much enters every switch as leaves it."""
    switches, ranks = draw(st.integers(1, 3)), draw(st.integers(2, 6))
    pairs = [(rank, ranks + draw(st.integers(0, switches - 1))) for rank in range(ranks)]
    pairs += [(ranks + at, ranks + at + 1) for at in range(switches - 1)]
    node = st.integers(0, ranks + switches - 1)
    pairs += draw(st.lists(st.tuples(node, node).filter(lambda pair: pair[0] != pair[1]), max_size=6))
    links = [(*ends, 1000, 10**9) for a, b in pairs for ends in ((a, b), (b, a))]
    return Topology.from_links("drawn", ranks, links, num_switches=switches)


def least_period(topology: Topology, held: np.ndarray, chunks: list[int], guess: int) -> bool:
    """Whether `guess` is the least period for which every set of nodes that lacks a rank lets out what its ranks have,
    tried on all sets."""
    every = range(topology.num_ranks)
    enough, too_few = True, False
    for inside in product([False, True], repeat=topology.num_nodes):
        wanted = sum(chunks[rank] for rank in every if inside[rank])
        if wanted == 0 or all(inside[rank] for rank in every):
            continue
        member = np.array(inside)
        leaving = held[member[topology.src] & ~member[topology.dst]]
        enough &= bool((guess // leaving).sum() >= wanted)
        too_few |= bool(((guess - 1) // leaving).sum() < wanted)
    return enough and too_few


def check_packing(topology: Topology, held: np.ndarray, roots: list[int], chunk_bytes: int, grain: int) -> None:
    root, ranks = np.array(roots, np.int32), topology.num_ranks
    period_ps, cut = core.packing_period(topology.graph, root, chunk_bytes, False, NO_STOP)
    assert least_period(topology, held, [roots.count(rank) for rank in range(ranks)], period_ps)
    assert set(cut.tolist()) < set(range(ranks))
    offset, links, down = core.pack_spanning_trees(topology.graph, root, chunk_bytes, False, grain, NO_STOP)
    load = np.zeros(topology.num_links, np.int64)
    for chunk, row in enumerate(down.reshape(len(roots), ranks).tolist()):
        reached = {roots[chunk]}
        assert row[roots[chunk]] == -1
        for _ in range(ranks):
            for rank in set(range(ranks)) - reached:
                route = links[offset[row[rank]] : offset[row[rank] + 1]]
                assert topology.dst[route[-1]] == rank and (topology.dst[route[:-1]] == topology.src[route[1:]]).all()
                if int(topology.src[route[0]]) in reached:
                    reached.add(rank)
        assert len(reached) == ranks
        for rank in set(range(ranks)) - {roots[chunk]}:
            load[links[offset[row[rank]] : offset[row[rank] + 1]]] += 1
    assert (load <= period_ps // held).all()


@settings(max_examples=150)
@given(topology=networks(), chunk_bytes=st.integers(1, 10**5), data=st.data())
def test_any_connected_network(topology: Topology, chunk_bytes: int, data: st.DataObject) -> None:
    # Every rank has as many chunks as is drawn for it: none at some, so that one root alone is a broadcast.
    counts = data.draw(st.lists(st.integers(0, 4), min_size=topology.num_ranks, max_size=topology.num_ranks))
    counts[0] += not any(counts)
    roots = [rank for rank, count in enumerate(counts) for _ in range(count)]
    held = -(-chunk_bytes * 10**12 // topology.bandwidth)
    check_packing(topology, held, roots, chunk_bytes, 2**60)


@settings(max_examples=150)
@given(topology=switched(), chunks=st.integers(1, 4), grain=st.sampled_from([1, 2, 2**60]))
def test_switches_cost_nothing(topology: Topology, chunks: int, grain: int) -> None:
    roots = [rank for rank in range(topology.num_ranks) for _ in range(chunks)]
    check_packing(topology, np.full(topology.num_links, 1000), roots, 1, grain)


@pytest.mark.parametrize(
    ("spec", "trees", "slots"),
    [
        # ForestColl's fluid optimum, 1 GiB and 50 GiB/s per link, recorded as 9600, 5833.3 and 2916.7 us:
        # 24 of 25 blocks enter a corner over 2 links: 24/25 GiB / (2 * 50 GiB/s) = 9600 us, 12 slots for one tree each.
        ("mesh:5x5,bandwidth=50GiB/s,latency=500ns", 1, 12),
        # 7 of 8 blocks over 6 NVLinks, one or two a pair: 6 trees from each of 8 take 7 slots of a NVLink.
        ("dgx-1:link=50GiB/s,latency=500ns", 6, 7),
        # What 14 GCDs have leaves them over 6 links to the other two: 3 trees from each take 14 * 3 / 6 = 7 slots.
        ("mi250:link=50GiB/s,latency=500ns", 3, 7),
    ],
)
def test_published_optima(spec: str, trees: int, slots: int) -> None:
    topology = load(spec)
    root = np.repeat(np.arange(topology.num_ranks, dtype=np.int32), trees)
    chunk_bytes = 50 * GIB // 10**6  # 1 us on a link, within a ppm
    period_ps, _ = core.packing_period(topology.graph, root, chunk_bytes, False, NO_STOP)
    assert abs(period_ps - slots * 10**6) <= slots


@settings(max_examples=60)
@given(
    topology=st.one_of(networks(), switched()),
    kind=st.sampled_from([Kind.ALL_GATHER, Kind.REDUCE_SCATTER, Kind.BROADCAST, Kind.REDUCE, Kind.ALL_REDUCE]),
    size=st.integers(1, 10**6),
    chunks=st.integers(1, 6),
    blocking=st.booleans(),
)
def test_every_collective(topology: Topology, kind: Kind, size: int, chunks: int, blocking: bool) -> None:
    collective = Collective(kind, topology.num_ranks, size, chunks, root=topology.num_ranks - 1)
    schedule = synthesize(collective, topology, engine="packing", blocking=blocking)  # verified
    assert schedule.generator == "packing"


@pytest.mark.parametrize("nodes", [2, 4])
def test_machines_on_switches(nodes: int) -> None:
    # 450 GB/s of NVLink and 50 GB/s of NIC enter a GPU, and everything but its own block must.
    topology = load(f"dgx-h100:nodes={nodes}")
    schedule = synthesize(Collective(Kind.ALL_GATHER, nodes * 8, 2**30, 16), topology, engine="packing")
    enters = 2**30 * (nodes * 8 - 1) // (nodes * 8)
    assert schedule.time_ps <= 1.05 * enters * 10**12 // (500 * 10**9)


def test_unreachable_ranks_are_named() -> None:
    topology = Topology.from_links("one way", 2, [(0, 1, 0, 10**9)])
    with pytest.raises(Infeasible, match="chunk 1 cannot get from rank 1"):
        core.packing_period(topology.graph, np.arange(2, dtype=np.int32), 1, False, NO_STOP)


def test_command() -> None:
    command = "synthesize all_gather --topology switch:6,bandwidth=50GB/s,latency=1us --size 1GiB --chunks 5"
    found = json.loads(hocket(*command.split(), "--engine", "packing", "--json", "-").stdout)
    assert found["engine"] == "packing"
    # 5/6 GiB enter every port; a ring of chunks of 1/30 GiB arrives at the last rank after its latencies.
    assert found["collective_time_ns"] <= (5 * 2**30 // 6 / 50) + 6 * 2000
