"""A merge that is killed goes on from what it left: the same bytes, and what was done is not done again."""

import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from faulty_streams import write_job

from hocket.recording.merge import merge

RANKS = 10

KILLED = """
import os, signal, sys
from hocket.recording.merge import merge

def tell(done, of, what):
    if what == sys.argv[2] and done == int(sys.argv[3]):
        os.kill(os.getpid(), signal.SIGKILL)

merge(sys.argv[1], tell=tell)
"""


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


@pytest.fixture
def job(tmp_path: Path) -> Path:
    write_job(tmp_path / "job", seed=3, ranks=RANKS)
    return tmp_path / "job"


def killed(folder: Path, what: str, done: int) -> None:
    found = subprocess.run([sys.executable, "-c", KILLED, str(folder), what, str(done)], check=False)
    assert found.returncode == -signal.SIGKILL


def resumed(folder: Path) -> dict[str, int]:
    """How many things of each sort the merge still did."""
    left: dict[str, int] = {}
    merge(folder, tell=lambda done, of, what: left.update({what: of}))
    return left


@pytest.mark.parametrize("what", ["streams read", "traces written"])
def test_it_goes_on_where_it_was_killed(job: Path, what: str) -> None:
    whole = shutil.copytree(job, job.with_name("whole"))
    done = resumed(whole)
    killed(job, what, 4)
    assert not list(job.glob("trace.*.et"))
    assert resumed(job)[what] == done[what] - 4
    assert files(job) == files(whole)
    assert not (job / "merging").exists()


def test_a_stream_that_went_on_meanwhile_is_read_again(job: Path) -> None:
    killed(job, "traces written", 4)
    with (job / "stream" / "rank0.stream").open("a") as file:
        file.write('{"k":"unseen","what":"calls on a backend"}\n')
    left = resumed(job)
    assert left["streams read"] == 1
    assert left["traces written"] == len(list(job.glob("trace.*.et")))
    assert "calls on a backend" in (job / "summary.txt").read_text()


def test_damaged_parts_are_made_anew(job: Path) -> None:
    whole = shutil.copytree(job, job.with_name("whole"))
    merge(whole)
    killed(job, "traces written", 4)
    parts = sorted((job / "merging").glob("rank*.part"))
    parts[0].write_bytes(parts[0].read_bytes()[:-7])
    parts[1].write_bytes(b"")
    assert resumed(job)["streams read"] == 2
    assert files(job) == files(whole)
