"""How an engine comes to an all_reduce."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hocket.schedule import Collective, Kind
from hocket.synthesizer import ENGINES, Problem, Progress, Search, solve
from hocket.synthesizer.derived_engines import Halves
from hocket.synthesizer.uneven_halves import owners
from hocket.topology import load
from hocket.topology.failures import without


def test_halves_are_tried_unless_a_known_schedule_is_far_quicker_than_their_bounds() -> None:
    problem = Problem(Collective(Kind.ALL_REDUCE, 16, 2**30), load("mesh:4x4,bandwidth=50GiB/s,latency=500ns"))
    halves = Halves(ENGINES["rounds"])
    # Each half brings 15 chunks into, or out of, a corner over two links: 8 of 64 MiB take 10 ms and 0.5 us.
    # A known schedule is far quicker where 1.25 of it is less than both, 20.001 ms: below 16.0008 ms.
    for known_ps, tried in [(None, True), (16_001_000_000, True), (16_000_000_000, False)]:
        search = Search(attempts=1, progress=Progress(best_ps=known_ps))
        assert bool(list(halves.solve(problem, search))) is tried, known_ps


def test_ranks_with_less_bandwidth_own_more() -> None:
    # Of a buffer of one, parts of 1 - B T: with bandwidths 1, 2, 2 and T = 2/5 these are 3/5, 1/5 and 1/5.
    assert owners([1, 2, 2], 10).tolist().count(0) == 6
    # A rank with more than all others can use owns nothing: the others share 1 - T each, T = 1/2.
    assert sorted(owners([1, 1, 9], 8).tolist()) == [0] * 4 + [1] * 4
    assert sorted(owners([5, 5], 4).tolist()) == [0, 0, 1, 1]


def test_an_all_reduce_is_not_as_slow_as_the_rank_whose_nic_failed() -> None:
    # Two halves with equal parts take 15/16 GiB at 450 GB/s twice, 1.104 times what the traffic of all ranks takes.
    cluster = without(load("dgx-h100:nodes=2"), ["nic:0.2"])
    problem = Problem(Collective(Kind.ALL_REDUCE, 16, 2**30, 32), cluster)
    found = solve(problem, Search(), engine="packing")
    assert found.schedule.time_ps <= 1.02 * found.bound_any_chunks.time_ps
    even = 2 * 15 / 16 * 2**30 / 450e9 * 1e12
    assert even / found.bound_any_chunks.time_ps == pytest.approx(1.104, abs=0.005)


@given(st.lists(st.sampled_from([50, 75, 100, 300]), min_size=2, max_size=9), st.integers(1, 40))
def test_each_chunk_goes_to_whom_most_is_lacking(bandwidths: list[int], chunks: int) -> None:
    """The rule, rank by rank; `owners` looks at one rank of those that are alike, so that a million ranks take a
    second."""
    owned = owners(bandwidths, chunks).tolist()
    sharing = list(range(len(bandwidths)))
    while (total := sum(bandwidths[rank] for rank in sharing)) and any(
        total <= (len(sharing) - 1) * bandwidths[rank] for rank in sharing
    ):
        sharing = [rank for rank in sharing if total > (len(sharing) - 1) * bandwidths[rank]]
    for number in range(1, chunks + 1):
        lacking = {
            rank: (total - (len(sharing) - 1) * bandwidths[rank]) * number - owned[: number - 1].count(rank) * total
            for rank in sharing
        }
        assert owned[number - 1] == min(rank for rank in sharing if lacking[rank] == max(lacking.values()))
