"""One long stall of one rank neither names it nor hides another that is slow in each step, nor a sporadic one."""

from pathlib import Path

import numpy as np
import pytest
from streams import END, Record, call, group, meta, wait, write

from hocket.recording.capped import capped
from hocket.recording.merge import merge
from hocket.recording.straggler import Straggler

STEPS, RANKS, WORK = 40, 4, 100_000


def named(folder: Path, late: dict[int, int], stalls: dict[tuple[int, int], int]) -> tuple[Straggler, ...]:
    """Who is named of four ranks that work 100 us a step, within 1 us, and then meet in an all_reduce of 10 us; `late`
    by rank in each step, `stalls` by rank and step, ns."""
    random = np.random.default_rng(0)
    work = WORK + random.integers(1000, size=(STEPS, RANKS))
    for rank, more in late.items():
        work[:, rank] += more
    for (rank, step), more in stalls.items():
        work[step, rank] += more
    end = np.cumsum(work.max(axis=1) + 10_000)
    begin = np.concatenate([[0], end[:-1]])
    for rank in range(RANKS):
        lines: list[Record | str | list[Record | str]] = []
        for step in range(STEPS):
            start = int(begin[step] + work[step, rank])
            lines += [call(step, start), wait(step, start, int(end[step]))]
            lines += [{"k": "step", "n": step, "t": int(end[step])}]
        write(folder, rank, meta(rank, RANKS), group(list(range(RANKS))), *lines, END)
    return merge(folder).stragglers.found


@pytest.mark.parametrize("stall_us", [300, 3000, 30_000])
def test_a_stall_hides_nobody_who_is_slow_in_each_step(tmp_path: Path, stall_us: int) -> None:
    """Rank 1 costs 20 us in each of 40 steps, 0.8 ms; a stall as long as all of that and more hid it."""
    (straggler,) = named(tmp_path, {1: WORK // 5}, {(2, 17): stall_us * 1000})
    assert straggler.ranks == (1,)
    assert straggler.cost_ns == pytest.approx(STEPS * WORK // 5, rel=0.1)


def test_stalls_of_several_ranks_hide_nobody_and_name_nobody(tmp_path: Path) -> None:
    stalls = {(2, 17): 3_000_000, (3, 20): 2_000_000, (0, 31): 4_000_000}
    assert [straggler.ranks for straggler in named(tmp_path / "late", {1: WORK // 5}, stalls)] == [(1,)]
    assert named(tmp_path / "balanced", {}, stalls) == ()


def test_a_stall_names_nobody(tmp_path: Path) -> None:
    assert named(tmp_path, {}, {(2, 17): 3_000_000}) == ()


def test_who_costs_little_in_each_step_is_not_named_for_a_stall(tmp_path: Path) -> None:
    """Rank 1 costs 0.5 % of a step in each and 3 ms in one: not 1 % of the time but for the one."""
    assert named(tmp_path, {1: WORK // 200 + 500}, {(1, 17): 3_000_000}) == ()


def test_costs_are_cut_to_what_the_greatest_of_a_block_mostly_is() -> None:
    """3 in the middle, half as much again: 4."""
    assert capped(np.array([[3, 0, 3, 0, 3], [0, 90, 0, 1, 0]])).tolist() == [[3, 0, 3, 0, 3], [0, 4, 0, 1, 0]]
    assert capped(np.zeros((2, 0), np.int64)).shape == (2, 0)
