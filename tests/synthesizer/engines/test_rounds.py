"""The engine `rounds`: folded by mirrors, in files, with threads."""

import os

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hocket.base.errors import ScheduleError
from hocket.schedule import Collective, FoldedSchedule, Kind, verify
from hocket.synthesizer import Problem, Search
from hocket.synthesizer.engines import rounds
from hocket.synthesizer.engines.folded_rounds import FoldedRun
from hocket.synthesizer.engines.round_run import RoundRun, RoundVariant
from hocket.topology import Topology, load

VARIANT = RoundVariant(rounds_per_hop=1, rarest=False)
NEVER_PS = 2**61


def all_gather(topology: Topology, chunks: int = 1, blocking: bool = True) -> Problem:
    return Problem(Collective(Kind.ALL_GATHER, topology.num_ranks, 2**20, chunks), topology, blocking)


def fold(problem: Problem, variant: RoundVariant = VARIANT, seed: int = 0, threads: int = 1) -> FoldedSchedule:
    found = FoldedRun(problem, Search(seed, threads), variant, 0).schedule(NEVER_PS, "rounds")
    assert found is not None
    return found


@settings(max_examples=60)
@given(
    kind=st.sampled_from(["mesh", "torus"]),
    sizes=st.lists(st.integers(2, 6), min_size=1, max_size=3),
    chunks=st.integers(1, 3),
    blocking=st.booleans(),
    rarest=st.booleans(),
    seed=st.integers(0, 2**63 - 1),
)
def test_folded_and_spelled_out_both_verify(
    kind: str, sizes: list[int], chunks: int, blocking: bool, rarest: bool, seed: int
) -> None:
    problem = all_gather(load(f"{kind}:{'x'.join(map(str, sizes))},bandwidth=50GB/s,latency=1us"), chunks, blocking)
    rounds_per_hop = 1 if blocking else problem.network.rounds_per_hop
    found = fold(problem, RoundVariant(rounds_per_hop, rarest), seed)
    # Every even dimension has a mirror without fixed ranks.
    assert found.symmetry.order == 2 ** sum(size % 2 == 0 for size in sizes)
    ranks = problem.topology.num_ranks
    assert verify(found).num_transfers == found.num_transfers == ranks * chunks * (ranks - 1)
    spelled_out = verify(found.expand())
    assert spelled_out.time_ps == found.time_ps >= problem.bound.time_ps


@settings(max_examples=40)
@given(ranks=st.integers(2, 12), chunks=st.integers(1, 4), data=st.data(), seed=st.integers(0, 2**63 - 1))
def test_graphs_of_equal_links(ranks: int, chunks: int, data: st.DataObject, seed: int) -> None:
    pairs = [(a, (a + 1) % ranks) for a in range(ranks)]
    other = st.tuples(st.integers(0, ranks - 1), st.integers(1, ranks - 1)).map(lambda p: (p[0], sum(p) % ranks))
    pairs += data.draw(st.lists(other, max_size=20))
    topology = Topology.from_links("drawn", ranks, [(a, b, 500_000, 10**9) for a, b in pairs])
    problem = all_gather(topology, chunks)
    times = [found.time_ps for found in rounds.RoundsEngine().solve(problem, Search(seed, attempts=4)) if verify(found)]
    assert times == sorted(times, reverse=True)
    assert times[-1] >= problem.bound.time_ps
    # Without dimensions there is no mirror to look for.
    assert fold(problem, seed=seed).symmetry.order == 1


@pytest.mark.parametrize("rarest", [False, True])
def test_any_number_of_threads_writes_the_same(rarest: bool) -> None:
    # 4 * 64 * 63 = 16128 links, 4032 of them into representatives: enough for two threads to share.
    problem = all_gather(load("mesh:64x64,bandwidth=50GB/s,latency=1us"))
    found = [fold(problem, RoundVariant(1, rarest), 3, threads) for threads in (1, 2, 3)]
    first, *others = (list(one.phases[0].transfers.blocks()) for one in found)
    assert sum(map(len, first)) == 4096 * 4095 // 4
    for blocks in others:
        for ours, theirs in zip(first, blocks, strict=True):
            assert np.array_equal(ours.chunk, theirs.chunk) and np.array_equal(ours.route, theirs.route)


def test_large_searches_are_folded(monkeypatch: pytest.MonkeyPatch) -> None:
    # 36 chunks to 35 ranks each; a corner receives 35 over 2 links: 18 rounds of 500 ns + ceil(2^20 / 36) B / 50 GB/s.
    monkeypatch.setattr(rounds, "_LARGE", 1000)
    problem = all_gather(load("mesh:6x6,bandwidth=50GB/s,latency=500ns"))
    *_, best = rounds.RoundsEngine().solve(problem, Search())
    assert isinstance(best, FoldedSchedule)
    assert best.time_ps == 18 * (500_000 + 29128 * 20)
    assert verify(best).num_transfers == 36 * 35


def test_what_would_not_be_quicker_is_given_up() -> None:
    problem = all_gather(load("mesh:4x4,bandwidth=50GB/s,latency=500ns"))
    assert FoldedRun(problem, Search(), VARIANT, 0).schedule(problem.bound.time_ps, "rounds") is None


def test_too_little_memory_is_said_before(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = all_gather(load("mesh:8x8,bandwidth=50GB/s,latency=500ns"))
    monkeypatch.setattr(os, "sysconf", lambda name: 4096 if name == "SC_PAGE_SIZE" else 1)
    with pytest.raises(ScheduleError, match="this machine has 4 KiB; take fewer chunks"):
        RoundRun(problem, Search(), VARIANT, 0).start(None, NEVER_PS)  # type: ignore[arg-type]  # is not reached
