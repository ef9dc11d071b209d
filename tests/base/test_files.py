"""Files are written whole or not at all, and what cannot be written is said in one line."""

from pathlib import Path

import pytest
from in_process import hocket

from hocket.base.errors import HocketError
from hocket.base.files import atomic_write, make_folder

IMPOSSIBLE = ["file/output", "folder"]  # below a file; a folder's own name


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "file").write_text("kept")
    (tmp_path / "folder").mkdir()
    return tmp_path


@pytest.mark.parametrize("name", IMPOSSIBLE)
def test_a_file_that_cannot_be_written_is_named_and_nothing_is_left(place: Path, name: str) -> None:
    with pytest.raises(HocketError, match=f"^{place / name}: cannot be written: "), atomic_write(place / name) as file:
        file.write("text")
    assert sorted(path.name for path in place.iterdir()) == ["file", "folder"]
    assert (place / "file").read_text() == "kept"


def test_a_folder_that_cannot_be_made_is_named(place: Path) -> None:
    with pytest.raises(HocketError, match=f"^{place / 'file/sub'}: cannot be made: Not a directory"):
        make_folder(place / "file/sub")


@pytest.mark.parametrize(
    "command",
    [
        ["topology", "save", "dgx-a100", "-o", "file/cluster.yaml"],
        ["synthesize", "all_gather", "-t", "dgx-a100:gpus=2", "--size", "1KiB", "-o", "file/x.schedule"],
        ["simulate", "all_gather", "--topology", "dgx-a100:gpus=2", "--size", "1KiB", "--timeline", "file/x.json.gz"],
        ["demo", "--no-torch", "--out", "file/demo"],
    ],
    ids=lambda command: command[0],
)
def test_commands_end_with_one_line_and_code_3(place: Path, command: list[str]) -> None:
    done = hocket(*command, cwd=place)
    assert done.returncode == 3
    assert done.stderr.startswith("error: file/") and done.stderr.count("\n") == 1
