"""Transfers that share a trunk: verified by its bandwidth, never more of them than it has room for."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hocket.base.errors import ScheduleError
from hocket.schedule import Chunk, Collective, Conditions, Kind, Schedule, certificate, lower_bound, retime, verify
from hocket.schedule.algorithms import build
from hocket.topology import Topology, load, rank_routes

GB = 10**9


def two_leaves(trunk: int, hosts: int) -> Topology:
    """Two switches of `hosts` ranks each, whose ports have 10 GB/s, joined by links of `trunk` GB/s."""
    n = 2 * hosts
    pairs = [(rank, n + rank // hosts, 10 * GB) for rank in range(n)] + [(n, n + 1, trunk * GB)]
    links = [(a, b, 1000, width) for a, b, width in pairs] + [(b, a, 1000, width) for a, b, width in pairs]
    return Topology.from_links("two leaves", n, links, num_switches=2)


def across(trunk: int, starts_ps: list[int], hosts: int = 4) -> Schedule:
    """Each rank of the first leaf sends 10 kB, which take 1 us, to its like in the second."""
    topology = two_leaves(trunk, hosts)
    routes = rank_routes(topology.graph)
    ends = list(
        zip(
            topology.src[routes.links[routes.offset[:-1]]],
            topology.dst[routes.links[routes.offset[1:] - 1]],
            strict=True,
        )
    )
    senders = sorted(range(len(starts_ps)), key=lambda rank: starts_ps[rank])
    start_ps = np.array(sorted(starts_ps))
    wanted = [Chunk([rank], [hosts + rank], 10_000) for rank in range(hosts)]
    return Schedule(
        collective=Collective.custom(2 * hosts, Conditions.of(2 * hosts, wanted)),
        topology=topology,
        route_offset=routes.offset,
        route_links=routes.links,
        chunk=np.array(senders, np.int32),
        route=np.array([ends.index((rank, hosts + rank)) for rank in senders], np.int32),
        reduce=np.zeros(len(senders), np.bool_),
        start_ps=start_ps,
        finish_ps=start_ps + 1_000_000 + 3000,
        timed=True,
        blocking=False,
        bound=None,
        generator="test",
        seed=None,
    )


def test_as_many_at_once_as_fit() -> None:
    verify(across(40, [0, 0, 0, 0]))
    verify(across(39, [0, 0, 0, 1_000_000]))
    for wrong in (
        across(39, [0, 0, 0, 0]),
        across(39, [0, 0, 0, 999_999]),
        dataclasses.replace(across(40, [0, 0, 0, 0]), blocking=True, finish_ps=np.full(4, 2_000_000)),
    ):
        with pytest.raises(ScheduleError, match="starts on link 8, which transfer"):
            verify(wrong)


@settings(deadline=None)
@given(
    st.integers(10, 60),
    st.integers(1, 4),
    st.sampled_from(["direct", "ring", "bruck"]),
    st.sampled_from([Kind.ALL_TO_ALL, Kind.ALL_GATHER, Kind.REDUCE_SCATTER, Kind.ALL_REDUCE]),
    st.integers(1, 100_000),
)
def test_retimed_schedules_verify_and_keep_the_bound(
    trunk: int, hosts: int, algorithm: str, kind: Kind, size: int
) -> None:
    topology = two_leaves(trunk, hosts)
    collective = Collective(kind, 2 * hosts, size)
    try:
        schedule = retime(build(algorithm, collective, topology))
    except ScheduleError:
        return
    verify(schedule)
    assert schedule.time_ps >= lower_bound(collective, topology).time_ps
    # On every link no more bytes than its bandwidth carries in the time.
    assert schedule.time_ps >= schedule.busiest_link_ps


def test_a_direct_all_to_all_over_a_trunk_of_full_bisection_takes_as_long_as_its_ports() -> None:
    topology = two_leaves(40, 4)
    schedule = retime(build("direct", Collective(Kind.ALL_TO_ALL, 8, 8_000_000), topology))
    assert schedule.time_ps < 7 * 100_000_000 * 1.01
    assert certificate(schedule.collective, topology).time_ps <= schedule.time_ps


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_no_link_carries_more_than_its_bandwidth_at_any_time(data: st.DataObject) -> None:
    """Counted at each start, each with the bandwidth of its slowest link."""
    spec = data.draw(st.sampled_from(["fat_tree:2x3", "fat_tree:3x2,spines=2", "switch:5"]))
    uplink = data.draw(st.sampled_from([10, 19, 25, 40]))
    widths = f"10/{uplink}" if "tree" in spec else "10"
    topology = load(f"{spec},bandwidth={widths}GB/s,latency=200ns")
    kind = data.draw(st.sampled_from([Kind.ALL_TO_ALL, Kind.ALL_GATHER, Kind.ALL_REDUCE, Kind.BROADCAST]))
    collective = Collective(kind, topology.num_ranks, data.draw(st.integers(100, 100_000)))
    try:
        schedule = retime(
            build(data.draw(st.sampled_from(["direct", "one_shot", "bruck", "binomial"])), collective, topology)
        )
    except ScheduleError:
        return
    verify(schedule)
    spans: dict[int, list[tuple[int, int, int]]] = {}
    for chunk, route, start in zip(schedule.chunk, schedule.route, schedule.start_ps.tolist(), strict=True):
        size, at = int(collective.chunk_bytes[chunk]), start
        links = schedule.route_links[schedule.route_offset[route] : schedule.route_offset[route + 1]].tolist()
        while links:
            ends = [place for place, link in enumerate(links) if topology.dst[link] < topology.num_ranks]
            part, links = links[: ends[0] + 1], links[ends[0] + 1 :]
            rate = int(topology.bandwidth[part].min())
            wire = -(-size * 10**12 // rate)
            for link in part:
                spans.setdefault(link, []).append((at, at + wire, rate))
            at += wire + int(topology.latency_ps[part].sum())
    for link, held in spans.items():
        for begin, _, _ in held:
            assert sum(rate for first, last, rate in held if first <= begin < last) <= topology.bandwidth[link]
