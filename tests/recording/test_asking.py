"""`hocket collect trigger` says when nobody will answer, and each command when a folder is none of a collection's."""

from pathlib import Path

import in_process
import pytest
import streams
from streams import END, group, meta


@pytest.mark.parametrize(
    ("told", "lines", "code", "said"),
    [
        ({"triggers": True}, [], 0, "--window trigger1"),
        ({}, [], 0, "--window trigger1"),  # of an earlier version
        ({"triggers": True}, [END], 3, "has ended"),
        ({"triggers": False}, [], 3, "--triggers"),
        ({"mpi": "MPICH"}, [], 3, "--triggers"),
    ],
)
def test_only_a_job_that_looks_for_triggers_is_asked(
    tmp_path: Path, told: dict[str, object], lines: list[streams.Record], code: int, said: str
) -> None:
    streams.write(tmp_path, 0, meta(0, 1, triggers=False), END, meta(0, 1) | told, group([0]), *lines, tail="\0" * 99)
    asked = in_process.hocket("collect", "trigger", tmp_path)
    assert (asked.returncode, said in asked.stdout + asked.stderr) == (code, True), asked.stdout + asked.stderr
    assert (tmp_path / "trigger").exists() == (code == 0)


@pytest.mark.parametrize("command", [("merge",), ("trigger",), ("watch", "--once"), ("metrics", "--once")])
def test_what_is_no_folder_is_called_so(tmp_path: Path, command: tuple[str, ...]) -> None:
    (tmp_path / "file").write_text("")
    for name, what in (("file", "is a file"), ("absent", "no such folder"), ("", "no rank*.stream")):
        done = in_process.hocket("collect", command[0], tmp_path / name, *command[1:])
        assert done.returncode and what in done.stderr, done.stderr
        assert not (tmp_path / "absent").exists()
