"""A search that ends before it is done: on Ctrl-C and at a time limit the best so far is kept."""

import subprocess
import sys
from pathlib import Path

import pytest

from hocket.base.errors import Stopped
from hocket.schedule import AnySchedule, Collective, Kind, load, verify
from hocket.synthesizer import Problem, Search, choose_chunks, chunking, windows
from hocket.synthesizer.portfolio import best_schedule
from hocket.topology import load as load_topology

# No engine reaches the bound of this graph, so that a search with a time limit goes on until it is over.
IRREGULAR = "random:8,degree=3,seed=1,bandwidth=50GiB/s,latency=500ns"

# `hocket synthesize`, to which its own terminal sends a real SIGINT when the search is at the words `{when}`.
INTERRUPTED = """
import os, signal, sys
from hocket.api.synthesize import perform
from hocket.cli import main

def watching(terminal):
    def watch(progress):
        if {when} and not progress.stop.asked:
            os.kill(os.getpid(), signal.SIGINT)
    return watch

perform.watching = watching
signal.signal(signal.SIGINT, signal.default_int_handler)
main(sys.argv[1:])
"""


def interrupt(when: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", INTERRUPTED.format(when=when), "synthesize", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)


def test_ctrl_c_in_an_engine_writes_the_best_so_far(tmp_path: Path) -> None:
    path = tmp_path / "best.schedule"
    done = interrupt(
        "progress.best_ps", "all_gather", "-t", IRREGULAR, "-s", "1MiB", "--time-limit", "1h", "-o", str(path),
        "--chunks", "2", "--engine", "matching",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert verify(load(path)).num_transfers == 2 * 8 * 7


def test_ctrl_c_among_numbers_of_chunks_writes_the_best_so_far(tmp_path: Path) -> None:
    path = tmp_path / "best.schedule"
    done = interrupt(
        "progress.chunks_per_rank > 1", "all_reduce", "-t", "mesh:8x8,bandwidth=50GiB/s,latency=500ns", "-s", "1GiB",
        "-o", str(path),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    verify(load(path))


def test_ctrl_c_before_anything_is_found_is_exit_130_and_no_file(tmp_path: Path) -> None:
    path = tmp_path / "none.schedule"
    done = interrupt(
        "True", "all_gather", "-t", "mesh:64x64,bandwidth=50GiB/s,latency=500ns", "-s", "1GiB", "-o", str(path),
        "--chunks", "4", "--engine", "matching",
    )  # fmt: skip
    assert done.returncode == 130, done.stderr
    assert "stopped before it found" in done.stderr
    assert not path.exists()


def test_a_stopped_choice_of_chunks_keeps_what_it_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def stop_at_two(problem: Problem, *arguments: object) -> AnySchedule:
        if problem.collective.chunks_per_rank == 2:
            raise Stopped("Ctrl-C")
        return best_schedule(problem, Search(attempts=1))

    monkeypatch.setattr(chunking, "best_schedule", stop_at_two)
    problem = Problem(Collective(Kind.ALL_GATHER, 8, 2**30), load_topology(IRREGULAR))
    assert choose_chunks(problem.cut, Search()).schedule.collective.chunks_per_rank == 1


def test_a_time_limit_is_for_each_size_of_a_range() -> None:
    problem = Problem(Collective(Kind.ALL_GATHER, 8, 2**20), load_topology(IRREGULAR))
    sizes = [2**20, 2**22, 2**24]
    found = windows(problem, sizes, Search(), free_chunks=False, time_limit_s=0.3)
    assert [size for window in found for size in window.sizes] == sizes
