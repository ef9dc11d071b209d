"""`hocket collect merge --strict` ends with 1 where a collection is not what all ranks did, and says on what."""

from pathlib import Path

import pytest
from in_process import hocket
from streams import END, Record, call, group, meta, wait, write

from hocket.recording.strictness import FAILING

ENDED = [call(0, 0), wait(0, 0, 9)]
MORE = [call(1, 10), wait(1, 10, 19)]
OTHER = [call(0, 0, op="barrier"), wait(0, 0, 9)]
LATE = [call(0, 900), wait(0, 900, 1000)]
SENT = [call(1, 10, op="send", peer=1, tag=3, **{"async": 1}), wait(1, 10, 12)]
REFUSED: list[Record | str | list[Record | str]] = [*ENDED, {"k": "error", "op": "allgather_", "message": "raised"}]

BROKEN = {
    "missing": ([*ENDED, *MORE, END], [*ENDED, END]),
    "unended": ([*ENDED, END], [*ENDED]),
    "not recorded": ([*REFUSED, END], [*ENDED, END]),
    "lost": ([*ENDED, "c 1 7 1 10 1", END], [*ENDED, END]),
    "incomplete": ([*ENDED, call(1, 10), END], [*ENDED, *MORE, END]),
    "different": ([*ENDED, END], [*OTHER, END]),
    "divergence": ([*ENDED, END], [*OTHER, END]),
    "unmatched": ([*ENDED, *SENT, END], [*ENDED, END]),
    "clock": ([*ENDED, END], [*LATE, END]),
    "cut": ([*ENDED, *MORE, END], [*ENDED, END]),
}


def record(folder: Path, *ranks: list[Record | str | list[Record | str]]) -> None:
    for rank, lines in enumerate(ranks):
        write(folder, rank, meta(rank), group([0, 1]), *lines)


def test_a_whole_collection_passes(tmp_path: Path) -> None:
    record(tmp_path, [*ENDED, END], [*ENDED, END])
    assert hocket("collect", "merge", tmp_path, "--strict").returncode == 0
    assert hocket("collect", "merge", tmp_path, "--strict-stragglers").returncode == 0


@pytest.mark.parametrize("name", FAILING)
def test_each_class_fails_it_and_is_named(tmp_path: Path, name: str) -> None:
    record(tmp_path, *BROKEN[name])
    assert hocket("collect", "merge", tmp_path).returncode == 0
    strict = hocket("collect", "merge", tmp_path, "--strict")
    assert strict.returncode == 1
    (said,) = [line for line in strict.stderr.splitlines() if "strict:" in line]
    assert f"1 x {name}" in said


def test_a_rank_without_a_stream_is_missing(tmp_path: Path) -> None:
    record(tmp_path, [*ENDED, END])
    strict = hocket("collect", "merge", tmp_path, "--strict")
    assert (strict.returncode, "x missing" in strict.stderr) == (1, True)


def test_a_straggler_fails_only_where_it_is_to(tmp_path: Path) -> None:
    """Rank 1 works twice as long before each of 60 collectives."""
    for rank in range(2):
        lines: list[Record | str | list[Record | str]] = []
        for number in range(60):
            begin, end = number * 3_000_000, (number + 1) * 3_000_000
            start = begin + 1_000_000 * (1 + rank)
            lines += [call(number, start), wait(number, start, end)]
        write(tmp_path, rank, meta(rank), group([0, 1]), *lines, END)
    assert hocket("collect", "merge", tmp_path, "--strict").returncode == 0
    strict = hocket("collect", "merge", tmp_path, "--strict-stragglers")
    assert (strict.returncode, "1 x straggler" in strict.stderr) == (1, True)
    assert hocket("collect", "merge", tmp_path / "none", "--strict").returncode == 3
