"""The exact engine: optima known from arithmetic, and never beaten by others."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hocket.base.errors import ScheduleError
from hocket.schedule import Collective, Kind
from hocket.synthesizer import ENGINES, Problem, Search, solve, synthesize
from hocket.synthesizer.derived_engines import derived_engines
from hocket.topology import Topology, load

pytest.importorskip("highspy", reason="the exact engine needs the extra `solve`")

US = 1_000_000


def test_a_ring_of_four_needs_two_steps() -> None:
    # 1000 bytes per rank at 1 GB/s and 1 us: 2 us a hop; two neighbours in one hop, the rank across in the second.
    schedule = synthesize(
        Collective(Kind.ALL_GATHER, 4, 4000), load("ring:4,bandwidth=1GB/s,latency=1us"), engine="exact", blocking=True
    )
    assert schedule.time_ps == 4 * US


def test_it_proves_more_than_the_bound_by_arithmetic() -> None:
    # A star: 0 in the middle of 1, 2, 3, links of 1 GB/s without latency, 1000 bytes a rank. A leaf gets 3 chunks over
    # its one link, but the middle has the others' chunks only after 1 us and none of its own is wanted twice.
    links = [(0, leaf, 0, 10**9) for leaf in (1, 2, 3)] + [(leaf, 0, 0, 10**9) for leaf in (1, 2, 3)]
    star = Topology.from_links("star", 4, links)
    one = solve(Problem(Collective(Kind.ALL_GATHER, 4, 4000), star), Search(), engine="exact")
    assert one.schedule.time_ps == 3 * US
    # Two leaves, chunks of 1 us, the first link without latency: 0 -> 1 -> 2 pipelines.
    line = Topology.from_links("line", 3, [(0, 1, 0, 10**9), (1, 2, 0, 10**9), (2, 0, 0, 10**9)])
    one = solve(Problem(Collective(Kind.BROADCAST, 3, 4000, 4), line), Search(), engine="exact")
    assert one.schedule.time_ps == 5 * US  # 4 chunks per link, the second link starts a chunk later
    assert one.schedule.bound is not None
    assert one.schedule.bound.time_ps == 5 * US


def test_the_dgx_1_reaches_its_ingress_bound_with_one_chunk() -> None:
    topology = load("dgx-1")
    one = solve(Problem(Collective(Kind.ALL_GATHER, 8, 2**30), topology, blocking=True), Search(), engine="exact")
    # 7 chunks of 128 MiB over 2 links of 50 GB/s and 2 of 25 GB/s: three times two, and one of the slow ones.
    hop = 2**27 * 10**12 // (50 * 10**9) + 700_000
    assert one.schedule.time_ps <= 3 * hop + 3
    assert one.schedule.bound is not None
    assert one.schedule.time_ps == one.schedule.bound.time_ps


@st.composite
def small_networks(draw: st.DrawFn) -> Topology:
    ranks = draw(st.integers(2, 4))
    times = st.sampled_from([(0, 10**9), (1 * US, 10**9), (0, 5 * 10**8)])
    ring = [(rank, (rank + 1) % ranks, *draw(times)) for rank in range(ranks)]
    pairs = st.tuples(st.integers(0, ranks - 1), st.integers(0, ranks - 1)).filter(lambda pair: pair[0] != pair[1])
    more = [(src, dst, *draw(times)) for src, dst in draw(st.lists(pairs, max_size=3))]
    return Topology.from_links("random", ranks, ring + more)


@settings(max_examples=25)
@given(small_networks(), st.sampled_from([Kind.ALL_GATHER, Kind.BROADCAST, Kind.REDUCE_SCATTER]), st.booleans())
def test_no_engine_beats_it(topology: Topology, kind: Kind, blocking: bool) -> None:
    collective = Collective(kind, topology.num_ranks, 1000 * topology.num_ranks)
    optimum = synthesize(collective, topology, engine="exact", blocking=blocking)
    problem = Problem(collective, topology, blocking)
    for engine in ENGINES:
        if derived_engines(ENGINES[engine], problem)[0]:
            assert synthesize(collective, topology, engine=engine, blocking=blocking).time_ps >= optimum.time_ps


@settings(max_examples=15)
@given(small_networks(), st.data())
def test_removing_a_link_never_helps(topology: Topology, data: st.DataObject) -> None:
    kind = data.draw(st.sampled_from([Kind.ALL_GATHER, Kind.BROADCAST, Kind.REDUCE_SCATTER]))
    collective = Collective(kind, topology.num_ranks, 1000 * topology.num_ranks)
    rest = [
        (int(src), int(dst), int(latency), int(bandwidth))
        for src, dst, latency, bandwidth in zip(
            topology.src, topology.dst, topology.latency_ps, topology.bandwidth, strict=True
        )
    ]
    if len(rest) == topology.num_ranks:  # only the ring: nothing can be missed
        return
    rest.pop(data.draw(st.integers(topology.num_ranks, len(rest) - 1)))
    fewer = Topology.from_links("fewer", topology.num_ranks, rest)
    best, worse = (synthesize(collective, each, engine="exact", blocking=True).time_ps for each in (topology, fewer))
    assert best <= worse


@settings(max_examples=15)
@given(small_networks(), st.sampled_from([Kind.ALL_GATHER, Kind.REDUCE_SCATTER]), st.data())
def test_the_optimum_is_the_same_under_other_names(topology: Topology, kind: Kind, data: st.DataObject) -> None:
    name = np.array(data.draw(st.permutations(range(topology.num_ranks))))
    columns = name[topology.src], name[topology.dst], topology.latency_ps, topology.bandwidth
    links = zip(*(column.tolist() for column in columns), strict=True)
    other = Topology.from_links("renamed", topology.num_ranks, links)
    collective = Collective(kind, topology.num_ranks, 1000 * topology.num_ranks)
    one, same = (solve(Problem(collective, each), Search(), engine="exact").schedule for each in (topology, other))
    assert one.bound is not None and same.bound is not None
    # What is proved optimal has one time; where the search was too large for a proof, no time is below a bound.
    assert max(one.bound.time_ps, same.bound.time_ps) <= min(one.time_ps, same.time_ps)


def test_what_it_cannot_do_it_says() -> None:
    mesh = load("mesh:16x16,bandwidth=1GB/s,latency=1us")
    for collective, topology, words in [
        (Collective(Kind.ALL_GATHER, 256, 2**20), mesh, "too many to search"),
        (Collective(Kind.ALL_GATHER, 4, 4001), load("ring:4,bandwidth=1GB/s,latency=1us"), "differ in size"),
        (Collective(Kind.ALL_TO_ALL, 4, 4096), load("ring:4,bandwidth=1GB/s,latency=1us"), "all_gather"),
    ]:
        with pytest.raises(ScheduleError, match=words):
            synthesize(collective, topology, engine="exact")


def test_auto_does_not_ask_it() -> None:
    problem = Problem(Collective(Kind.ALL_GATHER, 4, 4000), load("ring:4,bandwidth=1GB/s,latency=1us"))
    assert ENGINES["exact"].seconds(problem) == float("inf")
