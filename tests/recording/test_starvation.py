"""A rank whose host gave it no core is named for that, not for its own work; on devices work is counted there."""

from pathlib import Path

import pytest
from streams import END, Record, call, done, group, meta, wait, write

from hocket.recording.merge import merge
from hocket.recording.recording import read_recording

STEP = 3_000_000
STEPS = 60
Lines = list[Record | str | list[Record | str]]


def late(rank: int) -> Lines:
    """A collective every 3 ms; rank 1 comes 1 ms after the others, by what its host did since its last wait."""
    lines: Lines = []
    for number in range(STEPS):
        start = number * STEP + 1_000_000 * (1 + (rank == 1))
        lines += [call(number, start), wait(number, start, (number + 1) * STEP)]
    return lines


@pytest.mark.parametrize(("waiting_ms", "starved"), [(0, False), (10, False), (60, True)])
def test_who_waited_for_a_core_is_starved_where_that_explains_it(
    tmp_path: Path, waiting_ms: int, starved: bool
) -> None:
    for rank in range(4):
        waiting = 1_000_000 * (1 + waiting_ms * (rank == 1))
        cores: Record = {"k": "cores", "wall": STEPS * STEP, "on_core": 60_000_000, "waiting": waiting}
        write(tmp_path, rank, meta(rank, 4), group([0, 1, 2, 3]), *late(rank), cores, END)
    verdict = merge(tmp_path).stragglers
    assert [straggler.ranks for straggler in verdict.found] == ([] if starved else [(1,)])
    assert [rank.rank for rank in verdict.starved] == ([1] if starved else [])
    text = (tmp_path / "summary.txt").read_text()
    assert ("starved: rank 1 kept the others waiting" in text) == starved


def test_without_a_word_of_cores_the_rank_is_named(tmp_path: Path) -> None:
    for rank in range(4):
        write(tmp_path, rank, meta(rank, 4), group([0, 1, 2, 3]), *late(rank), END)
    assert [straggler.ranks for straggler in merge(tmp_path).stragglers.found] == [(1,)]


def test_own_work_on_a_device_runs_from_the_last_end_there(tmp_path: Path) -> None:
    """The host issues both calls at once, 10 and 12, and waits for nothing; NCCL's kernels run from 100 to 140 and, the
    device having computed for 60, from 200 to 230."""
    calls = [call(0, 10, **{"async": 1}), call(1, 12, **{"async": 1}), done(0, 140), done(1, 230)]
    recording = read_recording(write(tmp_path, 0, meta(0), group([0, 1]), *calls, END))
    (begin, end) = (recording.columns.begin.copy(), recording.columns.end.copy())
    begin[:], end[:] = [100, 200], [140, 230]
    assert recording.timed(begin, end).own_work[1] == 200 - 140
