"""A merge looks at some collectives at a time, on several processes: its results do not depend on how many."""

from pathlib import Path

import pytest
from faulty_streams import write_job
from hypothesis import given, settings
from hypothesis import strategies as st

from hocket.recording.group_calls import CELLS
from hocket.recording.merge import merge


def merged(folder: Path, **how: int) -> dict[str, bytes]:
    """All that a merge writes, by name."""
    merge(folder, **how)
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


@given(seed=st.integers(0, 10**6), cells=st.integers(1, 300))
@settings(max_examples=40)
def test_any_number_of_collectives_at_a_time_gives_what_all_at_once_give(
    tmp_path_factory: pytest.TempPathFactory, seed: int, cells: int
) -> None:
    folder = tmp_path_factory.mktemp("job")
    write_job(folder, seed)
    assert merged(folder, cells=cells) == merged(folder, cells=CELLS)
    assert not (folder / "merging").exists()


def test_any_number_of_processes_gives_what_one_gives(tmp_path: Path) -> None:
    write_job(tmp_path, seed=3, ranks=12)
    one = merged(tmp_path)
    assert len([name for name in one if name.endswith(".et")]) > 8
    assert merged(tmp_path, jobs=2) == one
    assert merged(tmp_path, jobs=3, cells=10) == one
