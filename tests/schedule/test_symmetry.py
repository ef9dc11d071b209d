"""Groups under which algorithms do not change, and what they make of the transfers of one rank."""

import numpy as np
import pytest
from homes import LINK
from hypothesis import given
from hypothesis import strategies as st

from hocket.base.errors import ScheduleError
from hocket.schedule import Collective, Kind
from hocket.schedule.algorithms import build, pattern
from hocket.schedule.symmetry import NONE, Motion, Symmetry
from hocket.topology import load

sizes = st.lists(st.integers(2, 5), max_size=3)
transitive = st.one_of(
    sizes.map(lambda values: Symmetry.shifts(*values)),
    sizes.map(lambda values: Symmetry.swings(*[2 * value for value in values])),
)


def _motions(size: int) -> st.SearchStrategy[tuple[int, Motion]]:
    allowed = [Motion.SHIFT, Motion.STAY] if size % 2 else list(Motion)
    return st.tuples(st.just(size), st.sampled_from(allowed))


mixed = st.lists(st.integers(2, 5).flatmap(_motions), max_size=3).map(
    lambda pairs: Symmetry(tuple(size for size, _ in pairs), tuple(motion for _, motion in pairs))
)


@given(mixed)
def test_no_rank_is_its_own_image_and_each_has_one_way_home(symmetry: Symmetry) -> None:
    ranks, elements = np.arange(symmetry.num_ranks), np.arange(symmetry.order)
    images = symmetry.act(elements[:, None], ranks)
    assert images[0].tolist() == ranks.tolist()
    assert np.sort(images, axis=1).tolist() == [ranks.tolist()] * len(elements)
    assert all(len(set(column)) == len(elements) for column in images.T.tolist())
    home = images[symmetry.home(ranks), ranks]
    assert home.tolist() == images.min(axis=0).tolist()
    assert symmetry.act(symmetry.inverse(symmetry.home(ranks)), home).tolist() == ranks.tolist()


def test_flips_leave_out_dimensions_with_a_middle() -> None:
    # 4x3 ranks: the flip of the columns takes rank 0 to rank 3 and rank 5 = (1, 1) to rank 6 = (2, 1)
    symmetry = Symmetry.flips(4, 3)
    assert symmetry.order == 2
    assert symmetry.act(1, [0, 5]).tolist() == [3, 6]


@pytest.mark.parametrize("motion", [Motion.SWING, Motion.FLIP])
def test_refuses_motions_with_a_fixed_rank(motion: Motion) -> None:
    with pytest.raises(ScheduleError, match=f"size 3 has no symmetry '{motion}'"):
        Symmetry((3,), (motion,))


@given(transitive, st.data())
def test_group_acts_simply_transitively(symmetry: Symmetry, data: st.DataObject) -> None:
    ranks = np.arange(symmetry.order)
    first, then = (data.draw(st.integers(0, symmetry.order - 1)) for _ in range(2))
    assert symmetry.act(first, 0) == first
    assert sorted(symmetry.act(first, ranks).tolist()) == ranks.tolist()
    both = symmetry.act(then, symmetry.act(first, ranks))
    assert both.tolist() == symmetry.act(symmetry.act(then, first), ranks).tolist()
    assert symmetry.act(symmetry.inverse(first), symmetry.act(first, ranks)).tolist() == ranks.tolist()


@given(mixed)
def test_steps_reach_every_element_once_in_order(symmetry: Symmetry) -> None:
    ranks = np.arange(symmetry.num_ranks)
    images = ranks[None]
    for step, times in symmetry.steps:
        rounds = [images]
        for _ in range(times - 1):
            rounds.append(symmetry.act(step, rounds[-1]))
        images = np.concatenate(rounds)
    assert images.tolist() == symmetry.act(np.arange(symmetry.order)[:, None], ranks).tolist()


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
