"""Routes and measures on random graphs, against the definitions."""

from fractions import Fraction
from itertools import combinations
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_topologies import topologies

from hocket.base.errors import Infeasible
from hocket.topology import (
    Topology,
    all_gather_cut,
    eccentricity_ps,
    load,
    rank_egress_bandwidth,
    rank_ingress_bandwidth,
    rank_routes,
    routes,
)

COST = "bandwidth=50GB/s,latency=500ns"


def path(topology: Topology, src: int, dst: int) -> list[int]:
    """Nodes on the route from src to dst."""
    links = routes(topology.graph, [(src, dst)]).links
    return [src, *topology.dst[links].tolist()]


def costs(topology: Topology, size: int) -> list[int]:
    """latency + ceil(size / bandwidth) of each link."""
    return [
        latency - (-size * 10**12 // bandwidth)
        for latency, bandwidth in zip(topology.latency_ps.tolist(), topology.bandwidth.tolist(), strict=True)
    ]


def bellman_ford(topology: Topology, source: int, cost: list[int], may_forward: list[bool]) -> dict[int, int]:
    """Least cost from the source to every node it reaches, over nodes that may forward."""
    least = {source: 0}
    for _ in range(topology.num_nodes):
        for src, dst, price in zip(topology.src.tolist(), topology.dst.tolist(), cost, strict=True):
            if src in least and (src == source or may_forward[src]):
                least[dst] = min(least.get(dst, least[src] + price), least[src] + price)
    return least


def test_dimension_zero_first_and_clockwise_on_ties() -> None:
    torus = load(f"torus:4x4,{COST}")
    assert path(torus, 0, 10) == [0, 1, 2, 6, 10]  # two right, two up: both ties go the +1 way
    assert path(torus, 5, 4) == [5, 4]
    assert path(load(f"mesh:4x4,{COST}"), 15, 0) == [15, 14, 13, 12, 8, 4, 0]


def test_rails_and_spine() -> None:
    # 4 GPUs, NVSwitches 4 5, NICs 6..9, leaves 10 11, spine 12
    machines = load("dgx-h100:nodes=2,gpus=2")
    assert path(machines, 0, 1) == [0, 4, 1]
    assert path(machines, 0, 2) == [0, 6, 10, 8, 2]
    assert path(machines, 0, 3) == [0, 6, 10, 12, 11, 9, 3]


def test_no_route_names_the_pair() -> None:
    one_way = Topology.from_links("one way", 2, [(0, 1, 0, 1)])
    with pytest.raises(Infeasible, match="from node 1 to node 0"):
        routes(one_way.graph, [(1, 0)])


@given(topologies(), st.integers(1, 10**5))
@settings(max_examples=60)
def test_routes_are_walks_and_the_cheapest_that_switches_offer(topology: Topology, size: int) -> None:
    pairs = [(s, d) for s in range(topology.num_ranks) for d in range(topology.num_ranks)]
    found = routes(topology.graph, pairs, size)
    cost = costs(topology, size)
    switches_forward = [node >= topology.num_ranks for node in range(topology.num_nodes)]
    for at, (src, dst) in enumerate(pairs):
        links = found.links[found.offset[at] : found.offset[at + 1]].tolist()
        nodes = [src, *topology.dst[links].tolist()]
        assert nodes[:-1] == topology.src[links].tolist() and nodes[-1] == dst
        assert len(set(nodes)) == len(nodes)
        through_switches = bellman_ford(topology, src, cost, switches_forward)
        if dst in through_switches:
            assert sum(cost[link] for link in links) == through_switches[dst]
    assert np.array_equal(found.links, routes(topology.graph, pairs, size).links)


@given(topologies(max_switches=0), st.integers(1, 10**5))
@settings(max_examples=60)
def test_rank_routes_are_the_links_without_switches(topology: Topology, size: int) -> None:
    found = rank_routes(topology.graph, size)
    assert found.links.tolist() == list(range(topology.num_links))
    assert found.offset.tolist() == list(range(topology.num_links + 1))


@given(topologies())
@settings(max_examples=60)
def test_rank_routes_join_ranks_through_switches_only(topology: Topology) -> None:
    found = rank_routes(topology.graph)
    seen = set()
    for start, end in zip(found.offset[:-1].tolist(), found.offset[1:].tolist(), strict=True):
        links = found.links[start:end].tolist()
        nodes = [int(topology.src[links[0]]), *topology.dst[links].tolist()]
        assert max(nodes[0], nodes[-1]) < topology.num_ranks
        assert all(node >= topology.num_ranks for node in nodes[1:-1])
        key = tuple(links) if len(links) == 1 else (nodes[0], nodes[-1])
        assert key not in seen
        seen.add(key)


@given(topologies())
@settings(max_examples=60)
def test_cut_is_the_tightest_of_all_sets(topology: Topology) -> None:
    nodes = range(topology.num_nodes)
    tightest = Fraction(0)
    for size in range(1, topology.num_nodes):
        for inside in map(set, combinations(nodes, size)):
            ranks = sum(node < topology.num_ranks for node in inside)
            leaving = sum(
                bandwidth
                for src, dst, bandwidth in zip(
                    topology.src.tolist(), topology.dst.tolist(), topology.bandwidth.tolist(), strict=True
                )
                if src in inside and dst not in inside
            )
            if ranks < topology.num_ranks:
                tightest = max(tightest, Fraction(ranks, leaving))
    cut = all_gather_cut(topology.graph)
    assert Fraction(*cut) == tightest
    assert Fraction(*all_gather_cut(topology.graph, max_work=0)) <= tightest


@given(topologies())
@settings(max_examples=60)
def test_ingress_is_at_most_the_links_and_mirrors_egress(topology: Topology) -> None:
    ingress = rank_ingress_bandwidth(topology.graph)
    for rank in range(topology.num_ranks):
        assert 0 < ingress[rank] <= topology.bandwidth[topology.dst == rank].sum()
    assert np.array_equal(ingress, rank_egress_bandwidth(topology.graph.reversed()))


@given(topologies(), st.integers(0, 10**5))
@settings(max_examples=60)
def test_eccentricity_is_never_above_a_real_route(topology: Topology, size: int) -> None:
    whole_hops = costs(topology, size)
    latencies = topology.latency_ps.tolist()
    everyone = [True] * topology.num_nodes
    stored = eccentricity_ps(topology.graph, size)
    cut_through = eccentricity_ps(topology.graph, size, store_and_forward=False)
    for rank in range(topology.num_ranks):
        hops = bellman_ford(topology, rank, whole_hops, everyone)
        latency = bellman_ford(topology, rank, latencies, everyone)
        farthest = max(hops[other] for other in range(topology.num_ranks))
        assert stored[rank] == farthest if topology.num_nodes == topology.num_ranks else stored[rank] <= farthest
        assert max(latency[other] for other in range(topology.num_ranks)) <= cut_through[rank] <= stored[rank]


@st.composite
def clusters(draw: st.DrawFn) -> Topology:
    """Ranks in machines behind NICs, or next to the switches, of which some have very many links."""
    ranks, hubs = draw(st.integers(66, 90)), draw(st.integers(1, 3))
    links: list[tuple[int, int, int, int]] = []
    latency, bandwidth = st.sampled_from([0, 500, 700]), st.sampled_from([1, 2, 50])
    first_nic = ranks + hubs

    def join(one: int, other: int) -> None:
        for ends in ((one, other), (other, one)):
            links.append((*ends, draw(latency) * 1000, draw(bandwidth) * 10**9))

    nics = 0
    for rank in range(ranks):
        if draw(st.booleans()):
            nic = first_nic + nics
            nics += 1
            join(rank, nic)
            for hub in draw(st.sets(st.integers(ranks, first_nic - 1), min_size=1, max_size=2)):
                join(nic, hub)
        else:
            join(rank, draw(st.integers(ranks, first_nic - 1)))
        if rank and draw(st.integers(0, 5)) == 0:
            join(rank, rank - 1)
    for hub in range(ranks + 1, first_nic):
        join(hub - 1, hub)
    return Topology.from_links("cluster", ranks, links, num_switches=hubs + nics)


@settings(max_examples=10, deadline=None)
@given(clusters(), st.randoms(use_true_random=False))
def test_routes_over_switches_with_many_links_are_those_of_a_search_of_all(topology: Topology, random: Random) -> None:
    """One pair of all ranks' searches looks at every link; a single pair's at those that lead to its source."""
    ranks = range(topology.num_ranks)
    pairs = [(random.choice(ranks), random.choice(ranks)) for _ in range(20)]
    alone = [routes(topology.graph, [pair]).links.tolist() for pair in pairs]
    cost = costs(topology, 1 << 20)
    may_forward = [node >= topology.num_ranks for node in range(topology.num_nodes)]
    for (src, dst), links in zip(pairs, alone, strict=True):
        together = routes(topology.graph, [(rank, dst) for rank in ranks])
        at = slice(together.offset[src], together.offset[src + 1])
        assert together.links[at].tolist() == links
        assert sum(cost[link] for link in links) == bellman_ford(topology, src, cost, may_forward)[dst]
