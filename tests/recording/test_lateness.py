"""Who is late to several groups at one time is late once: its delay, what it owes, and what it is named for."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from streams import END, call, group, meta, wait, write

from hocket.recording.lateness import GroupLateness, owed_once, waited_once
from hocket.recording.merge import merge
from hocket.recording.metrics.covered import CoveredTime
from hocket.recording.metrics.reader import MetricsReader
from hocket.recording.summary import RecordingSummary

LATE = 20
STEPS = 100
GROUPS = {0: [(0, [0, 1]), (1, [0, 2])], 1: [(0, [0, 1])], 2: [(1, [0, 2])]}


def job(folder: Path, late: int, *, waits_between: bool) -> RecordingSummary:
    """Rank 0 has a group with each of two ranks, and a collective of 5 ns in either 50 ns after each step's begin, to
    which the others come `late` before it; it waits for the first before it issues the second, or at the end for both.
    """
    for rank, groups in GROUPS.items():
        lines: list[Any] = [meta(rank, 3), *(group(ranks, number, str(number)) for number, ranks in groups)]
        for step in range(STEPS):
            begin = 150 * step + 50
            for at, (number, _) in enumerate(groups):
                later = 60 if number == 1 and waits_between else 0  # a second piece of work
                start = begin + later + (0 if rank == 0 else -late)
                end = begin + later + 5
                shape = {"seq": step, "group": number, "async": 1}
                lines += call(len(groups) * step + at, start, **shape)
                if waits_between or at == len(groups) - 1:
                    lines += [wait(len(groups) * step + at, max(start, end - 5), end)]
            lines.append({"k": "step", "n": step, "t": 150 * step + 149})
        write(folder, rank, *lines, END)
    return merge(folder)


def test_what_two_groups_wait_at_one_time_counts_once(tmp_path: Path) -> None:
    summary = job(tmp_path, LATE, waits_between=False)
    assert summary.arrivals[0].last == 2 * STEPS
    assert summary.arrivals[0].delay_ns == STEPS * LATE
    assert summary.ranks[0].delay_ns == STEPS * LATE
    assert summary.arrivals[0].own_ns == (STEPS - 1) * LATE  # how long the first work was, nobody knows
    assert [(named.ranks, named.cost_ns) for named in summary.stragglers.found] == [((0,), (STEPS - 1) * LATE)]


def test_what_they_wait_one_after_the_other_counts_twice(tmp_path: Path) -> None:
    assert job(tmp_path, LATE, waits_between=True).arrivals[0].delay_ns == 2 * STEPS * LATE


def test_a_piece_of_work_is_owed_to_the_group_that_waited_longest() -> None:
    """Two collectives of one group after the work since 5, then one after that since 9; in the other group since 5."""
    one, other = GroupLateness(2), GroupLateness(2)
    member = np.array([1, 1, 1])
    one.add(member, np.array([10, 20, 30]), np.array([3, 3, 3]), np.array([5, 5, 9]), np.array([3, 4, 2]))
    other.add(member[:1], np.array([11]), np.array([4]), np.array([5]), np.array([6]))
    assert owed_once([one.owed()[1], other.owed()[1]]) == 3 + 4 + 2
    assert waited_once([one.waited()[1], other.waited()[1]]) == (11 - 7) + 3 + 3
    assert owed_once([]) == waited_once([]) == owed_once([one.owed()[0]]) == 0


@given(data=st.data(), members=st.integers(1, 4), most=st.integers(1, 8), groups=st.integers(1, 3))
def test_what_is_kept_is_bounded_and_one_group_stays_exact(
    data: st.DataObject, members: int, most: int, groups: int
) -> None:
    """Delays one after the other, with what is owed of each, in pieces: many more than are kept."""
    made = []
    for _ in range(groups):
        late, exact = GroupLateness(members, most), GroupLateness(members)
        now = 0
        for _ in range(data.draw(st.integers(1, 6))):
            steps = data.draw(st.lists(st.tuples(st.integers(0, members - 1), st.integers(0, 9), st.integers(0, 9))))
            latest, gap, delay = np.array(steps, np.int64).reshape(-1, 3).T
            arrived = now + np.cumsum(gap + delay)
            now = int(arrived[-1]) if len(arrived) else now
            for each in (late, exact):
                each.add(latest, arrived, delay, arrived - delay, delay)
        assert sum(table.shape[1] for table in late.waited()) <= max(2 * most, members)
        assert sum(owed.table.shape[1] for owed in late.owed()) <= max(2 * most, members)
        made.append((late, exact))
    for member in range(members):
        hold(waited_once, [(late.waited()[member], exact.waited()[member]) for late, exact in made])
        hold(owed_once, [(late.owed()[member], exact.owed()[member]) for late, exact in made])


def hold(once: Callable[[Any], int], tables: list[tuple[Any, Any]]) -> None:
    """Of each group what is kept, and all."""
    alone = [once([exact]) for _, exact in tables]
    assert [once([kept]) for kept, _ in tables] == alone
    assert max(alone) <= once([kept for kept, _ in tables]) <= sum(alone)


def test_who_costs_enough_only_if_counted_twice_is_not_named(tmp_path: Path) -> None:
    """1 ns of 150 in each step, and as much at the other group at the same time."""
    assert job(tmp_path, 1, waits_between=False).stragglers.found == ()


def test_intervals_cover_what_they_overlap_in_once() -> None:
    time = CoveredTime()
    for begin, end in ((0, 10), (20, 30), (5, 25), (40, 40), (50, 60), (45, 70), (0, 70)):
        time.add(begin, end)
    assert time.ns == 70
    for number in range(5000):
        time.add(100 + 10 * number, 103 + 10 * number)
    assert time.ns == 70 + 5000 * 3
    time.add(0, 100)  # too long ago to know
    assert time.ns == 70 + 5000 * 3


def test_metrics_count_lateness_to_two_groups_once(tmp_path: Path) -> None:
    job(tmp_path, LATE, waits_between=False)
    (family,) = [family for family in MetricsReader(tmp_path).read() if family.name == "hocket_rank_late_seconds"]
    assert dict(family.samples)[(("rank", "0"),)] == pytest.approx(STEPS * LATE * 1e-9)
