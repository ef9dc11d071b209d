"""The number of chunks that is chosen is about the best of all."""

import pytest

from hocket.schedule import Collective, Kind
from hocket.synthesizer import Problem, Search, describe, solve, summarize
from hocket.topology import load

GIB = 2**30
LINKS = "bandwidth=50GiB/s,latency=500ns"


@pytest.mark.parametrize(
    ("kind", "topology"),
    [
        (Kind.ALL_GATHER, f"torus:4x4,{LINKS}"),
        (Kind.ALL_GATHER, f"hypercube:4,{LINKS}"),
        (Kind.ALL_GATHER, "dgx-1"),
        (Kind.ALL_REDUCE, "dgx-1"),
        (Kind.ALL_GATHER, f"mesh:4x4,{LINKS}"),
    ],
)
def test_free_chunks_come_within_half_a_percent_of_every_number(kind: Kind, topology: str) -> None:
    network = load(topology)
    free = solve(Problem(Collective(kind, network.num_ranks, GIB), network), Search(), free_chunks=True).schedule
    for chunks in (1, 2, 3, 4, 5, 6, 7, 8, 12, 15, 16, 24, 32):
        fixed = solve(Problem(Collective(kind, network.num_ranks, GIB, chunks), network), Search()).schedule
        assert free.time_ps <= 1.005 * fixed.time_ps, chunks


def test_the_ratio_is_to_what_no_number_of_chunks_beats() -> None:
    # One chunk each takes 4 rounds on 4 links where 15 sixteenths would do: 1.067 times, at the bound of one chunk.
    torus = load(f"torus:4x4,{LINKS}")
    numbers = summarize(solve(Problem(Collective(Kind.ALL_GATHER, 16, GIB), torus), Search()))
    assert numbers["time_ps"] == numbers["bound_ps"]
    assert numbers["ratio"] == pytest.approx(numbers["time_ps"] / numbers["bound_any_chunks_ps"], abs=1e-6)
    assert numbers["ratio"] == pytest.approx(16 / 15, rel=1e-3)
    assert "bound           5.002 ms (" in describe(numbers)
    assert "of any chunks 4.688 ms" in describe(numbers)


def test_a_small_message_has_chunks_too() -> None:
    mesh = load(f"mesh:4x4,{LINKS}")
    for size in (1, 15, 4096):
        found = solve(Problem(Collective(Kind.ALL_GATHER, 16, size), mesh), Search(), free_chunks=True)
        assert found.schedule.time_ps <= 1.2 * found.bound_any_chunks.time_ps


def test_the_same_choice_every_time() -> None:
    mesh = load("mesh:3x4,bandwidth=50GB/s+20GB/s,latency=500ns")
    problem = Problem(Collective(Kind.ALL_REDUCE, 12, 2**22), mesh)
    one, other = (solve(problem, Search(threads=threads), free_chunks=True).schedule for threads in (1, 2))
    assert one.collective.chunks_per_rank == other.collective.chunks_per_rank
    assert one.expand().start_ps.tolist() == other.expand().start_ps.tolist()


def test_trees_are_tried_with_many_chunks_though_natives_are_quicker_with_few() -> None:
    # With 4 chunks binomial takes 8.3 us and trees 9.6, with 512 these take 6.5.
    tree = load("fat_tree:4x4,bandwidth=50GB/s,latency=500ns")
    found = solve(Problem(Collective(Kind.REDUCE, 16, 2**16), tree), Search(), free_chunks=True)
    assert found.schedule.time_ps <= 6_506_000
