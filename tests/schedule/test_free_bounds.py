"""The bound for any number of chunks: worked out by hand, and never above what a verified schedule takes."""

import dataclasses

import machines
import numpy as np
import pytest
from homes import collectives, natives
from hypothesis import given, settings
from hypothesis import strategies as st

from hocket.schedule import Chunk, Collective, Conditions, Kind, bound_of_any_chunks, lower_bound, retime, verify
from hocket.topology import load

GIB = 2**30
US = 10**6


@settings(max_examples=150)
@given(st.data())
def test_no_verified_schedule_of_any_number_of_chunks_beats_the_bound(data: st.DataObject) -> None:
    n = data.draw(st.integers(2, 6))
    topology = data.draw(machines.topologies(n))
    kind = data.draw(st.sampled_from([kind for kind in Kind if kind is not Kind.CUSTOM]))
    members = data.draw(st.permutations(range(n)))[: data.draw(st.sampled_from([2, 4] if n >= 4 else [2]))]
    group = np.array(members, np.int32)
    whole = data.draw(collectives(kind, len(group), most_bytes=10_000))
    blocking = data.draw(st.booleans())
    bound = bound_of_any_chunks(whole, topology, blocking, group)
    cut = dataclasses.replace(whole, chunks_per_rank=data.draw(st.integers(1, 40)))
    schedule = retime(data.draw(natives(cut, topology, group)), blocking)
    verify(schedule)
    assert bound.time_ps <= schedule.time_ps


@pytest.mark.parametrize("kind", [Kind.ALL_GATHER, Kind.ALL_REDUCE, Kind.BROADCAST, Kind.ALL_TO_ALL])
@pytest.mark.parametrize("blocking", [False, True])
def test_it_is_at_most_the_bound_of_every_number(kind: Kind, blocking: bool) -> None:
    torus = load("torus:4x4,bandwidth=50GiB/s,latency=500ns")
    free = bound_of_any_chunks(Collective(kind, 16, 2**22), torus, blocking)
    for chunks in (*range(1, 20), 37, 64, 1000):
        assert free.time_ps <= lower_bound(Collective(kind, 16, 2**22, chunks), torus, blocking).time_ps


def test_it_lacks_what_whole_chunks_lose() -> None:
    # 15 sixteenths of 1 GiB on four links of 50 GiB/s, and the last latency; one chunk each is 4 rounds of 1250 us.
    torus = load("torus:4x4,bandwidth=50GiB/s,latency=500ns")
    collective = Collective(Kind.ALL_GATHER, 16, GIB)
    assert bound_of_any_chunks(collective, torus).time_ps / US == pytest.approx(15 / 16 / 4 / 50 * 1e6 + 0.5, rel=1e-9)
    assert lower_bound(collective, torus).time_ps / US == pytest.approx(4 / 16 / 50 * 1e6 + 2, rel=1e-9)


def test_links_that_rest_after_each_chunk_bound_the_number_of_chunks() -> None:
    # Two ranks, 1 us to each other and 8 us for the bytes: one chunk takes 9 us, more chunks rest once each.
    pair = load("ring:2,bandwidth=1GB/s,latency=1us")
    collective = Collective(Kind.BROADCAST, 2, 8000)
    assert bound_of_any_chunks(collective, pair, blocking=True).time_ps == 9 * US
    assert bound_of_any_chunks(collective, pair).time_ps == 9 * US


def test_the_chunks_of_conditions_are_part_of_what_is_asked() -> None:
    ring = machines.ring(3)
    collective = Collective.custom(3, Conditions.of(3, [Chunk([0], [1, 2], 2**20)]))
    assert bound_of_any_chunks(collective, ring) == lower_bound(collective, ring)
