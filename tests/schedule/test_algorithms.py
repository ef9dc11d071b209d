"""Every native algorithm, for every kind it does, at many numbers of ranks: verified, and as many steps as it says."""

import machines
import numpy as np
import pytest

from hocket.core.errors import Infeasible, ScheduleError
from hocket.schedule import Collective, Kind, retime, verify
from hocket.schedule.algorithms import ALGORITHMS, build
from hocket.topology import Topology

CASES = [(name, kind) for name, algorithm in ALGORITHMS.items() for kind in algorithm.kinds]
BYTES = 1_000_003  # no multiple of anything: the chunks differ in size


@pytest.mark.parametrize(("name", "kind"), CASES)
def test_verified_before_and_after_timing(name: str, kind: Kind) -> None:
    for n in [1, 2, 4, 8, 16] if name == "halving_doubling" else [1, 2, 3, 4, 5, 7, 8, 13, 16]:
        for chunks_per_rank, root in [(1, 0), (3, n // 2)]:
            schedule = build(name, Collective(kind, n, BYTES, chunks_per_rank, root), machines.switch(n))
            verify(schedule)
            for blocking in (False, True):
                verify(retime(schedule, blocking))


@pytest.mark.parametrize(
    ("name", "kind", "n", "chunks_per_rank", "steps"),
    [
        ("ring", Kind.ALL_REDUCE, 8, 1, 2 * 7),
        ("ring", Kind.ALL_GATHER, 8, 2, 7),
        ("ring", Kind.BROADCAST, 8, 5, 8 - 2 + 5),
        ("direct", Kind.ALL_TO_ALL, 8, 1, 7),
        ("halving_doubling", Kind.ALL_REDUCE, 8, 1, 2 * 3),
        # Tree of 8: root 0, below it 4, then 2 and 6, then the odd ranks: height 3; 4 chunks in each tree.
        ("double_binary_tree", Kind.ALL_REDUCE, 8, 1, 2 * 3 + 4 - 1),
        ("double_binary_tree", Kind.BROADCAST, 8, 2, 3),
    ],
)
def test_steps(name: str, kind: Kind, n: int, chunks_per_rank: int, steps: int) -> None:
    assert build(name, Collective(kind, n, BYTES, chunks_per_rank), machines.switch(n)).time_ps == steps


@pytest.mark.parametrize("name", ["ring", "halving_doubling", "direct"])
def test_all_reduce_sends_the_least_from_each_rank(name: str) -> None:
    n, size = 8, 8 * 1000
    schedule = build(name, Collective(Kind.ALL_REDUCE, n, size), machines.switch(n))
    sent = np.bincount(schedule.src, weights=schedule.collective.chunk_bytes[schedule.chunk])
    assert sent.tolist() == [2 * (n - 1) * size // n] * n


@pytest.mark.parametrize("n", [8, 15, 16])
def test_double_binary_tree_makes_a_rank_an_inner_node_of_one_tree(n: int) -> None:
    schedule = build("double_binary_tree", Collective(Kind.BROADCAST, n, 2, 2, root=3), machines.switch(n))
    inner = [set(schedule.src[schedule.chunk == chunk].tolist()) - {3} for chunk in (0, 1)]
    assert inner[0] and inner[1] and not inner[0] & inner[1]


def test_ring_all_reduce_on_a_ring_takes_its_closed_form() -> None:
    n, size = 8, 8 * 2**20
    schedule = retime(build("ring", Collective(Kind.ALL_REDUCE, n, size), machines.ring(n)))
    serialization = -(-(size // n) * 10**12 // machines.BANDWIDTH)
    assert schedule.time_ps == 2 * (n - 1) * (machines.LATENCY_PS + serialization)


@pytest.mark.parametrize(("name", "kind"), CASES)
def test_group_runs_on_its_ranks(name: str, kind: Kind) -> None:
    group = np.array([6, 1, 4, 3], np.int32)
    schedule = build(name, Collective(kind, 4, BYTES, 2, root=2), machines.mesh(2, 4), group)
    verify(schedule)
    assert set(schedule.route_src.tolist()) <= set(group.tolist())
    assert set(schedule.src.tolist()) <= {0, 1, 2, 3}


def test_refuses_what_it_cannot_do() -> None:
    four = machines.switch(4)
    with pytest.raises(ScheduleError, match="'rings' is not a native algorithm; there are ring, direct"):
        build("rings", Collective(Kind.ALL_REDUCE, 4, 4), four)
    with pytest.raises(ScheduleError, match=r"halving_doubling does all_reduce, .*, not broadcast; try direct"):
        build("halving_doubling", Collective(Kind.BROADCAST, 4, 4), four)
    with pytest.raises(ScheduleError, match="needs a power of two of ranks, got 6"):
        build("halving_doubling", Collective(Kind.ALL_REDUCE, 6, 4), machines.switch(6))
    with pytest.raises(ScheduleError, match="all_reduce over 8 ranks does not fit switch with 4 ranks"):
        build("ring", Collective(Kind.ALL_REDUCE, 8, 4), four)
    one_way = Topology.from_links("one-way", 2, [(0, 1, 0, 1)])
    with pytest.raises(Infeasible):
        build("ring", Collective(Kind.ALL_REDUCE, 2, 4), one_way)
