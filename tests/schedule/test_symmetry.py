"""Groups under which algorithms do not change, and what they make of the transfers of one rank."""

import numpy as np
import pytest
from homes import LINK
from hypothesis import given
from hypothesis import strategies as st

from hocket.schedule import Collective, Kind
from hocket.schedule.algorithms import build, pattern
from hocket.schedule.algorithms.symmetry import NONE, Symmetry
from hocket.topology import load

sizes = st.lists(st.integers(2, 5), max_size=3)
symmetries = st.one_of(
    sizes.map(lambda values: Symmetry.shifts(*values)),
    sizes.map(lambda values: Symmetry(tuple(2 * value for value in values), swings=True)),
)


@given(symmetries, st.data())
def test_group_acts_simply_transitively(symmetry: Symmetry, data: st.DataObject) -> None:
    ranks = np.arange(symmetry.order)
    first, then = (data.draw(st.integers(0, symmetry.order - 1)) for _ in range(2))
    assert symmetry.act(first, 0) == first
    assert sorted(symmetry.act(first, ranks).tolist()) == ranks.tolist()
    both = symmetry.act(then, symmetry.act(first, ranks))
    assert both.tolist() == symmetry.act(symmetry.act(then, first), ranks).tolist()
    assert symmetry.act(symmetry.inverse(first), symmetry.act(first, ranks)).tolist() == ranks.tolist()


@given(symmetries)
def test_steps_reach_every_element_once_in_order(symmetry: Symmetry) -> None:
    elements = np.zeros(1, np.int64)
    for step, times in symmetry.steps:
        rounds = [elements]
        for _ in range(times - 1):
            rounds.append(symmetry.act(step, rounds[-1]))
        elements = np.concatenate(rounds)
    assert elements.tolist() == list(range(symmetry.order))


def test_trivial_group_moves_nothing() -> None:
    assert NONE.order == 1
    assert NONE.act(0, np.arange(5)).tolist() == [0, 1, 2, 3, 4]
    assert NONE.inverse(np.zeros(3)).tolist() == [0, 0, 0]


@pytest.mark.parametrize(
    ("name", "kind", "spec", "of_one_rank"),
    [
        ("ring", Kind.ALL_REDUCE, "ring:8", 2 * 7 * 3),  # 2(n-1) steps of f = 3 chunks
        ("direct", Kind.ALL_TO_ALL, "torus:4x2", 7 * 3),
        ("halving_doubling", Kind.ALL_REDUCE, "switch:8", 2 * 7 * 3),
        ("swing", Kind.ALL_REDUCE, "torus:4x2", 2 * 7 * 3),
        (
            "hierarchical",
            Kind.ALL_GATHER,
            "switch:4xring:2",
            7 * 3,
        ),  # 3 steps of one block, then 4 blocks at once
        ("recursive_doubling", Kind.ALL_REDUCE, "switch:8", 3 * 8 * 3),  # 3 steps, the whole buffer in each
        ("bruck", Kind.ALL_TO_ALL, "ring:8", 3 * 4 * 3),  # half of the blocks in each of 3 steps
    ],
)
def test_one_rank_says_what_all_do(name: str, kind: Kind, spec: str, of_one_rank: int) -> None:
    collective, topology = Collective(kind, 8, 8000, 3), load(f"{spec},{LINK}")
    one = pattern(name, collective, topology)
    assert (len(one.chunk), one.symmetry.order) == (of_one_rank, 8)
    schedule = build(name, collective, topology)
    assert schedule.num_transfers == 8 * of_one_rank
    # transfer 8k + g is the image of transfer k under the element that takes rank 0 to rank g
    assert schedule.src.tolist() == list(range(8)) * of_one_rank
    dst = one.symmetry.act(np.arange(8), one.dst[one.connection][:, None])
    assert schedule.dst.tolist() == dst.ravel().tolist()
