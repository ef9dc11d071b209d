"""A long search that was cut off goes on where it was, and ends with the file that it would have written."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from in_process import hocket

from hocket._core import synthesizer as core
from hocket.base.errors import HocketError
from hocket.schedule import Collective, FoldedSchedule, Kind, Rounds, RoundShape, RoundSpool, verify
from hocket.synthesizer import Problem, Search
from hocket.synthesizer.engines.folded_rounds import FoldedRun
from hocket.synthesizer.engines.round_run import RoundVariant
from hocket.synthesizer.partial import Partial
from hocket.topology import load

# 6,400 chunks over two links into each corner: 3,200 rounds and more, of 25,280 links / 4 x 2 bytes each: 20 MB.
LARGE = (
    "synthesize", "all_gather", "-t", "mesh:80x80,bandwidth=50GiB/s,latency=500ns", "-s", "1GiB", "--chunks", "1",
    "--blocking", "--engine", "rounds",
)  # fmt: skip
MORE_THAN_HALF = 14_000_000  # bytes


def kept_bytes(partial: Path) -> int:
    return sum(path.stat().st_size for path in partial.glob("*.rounds"))


def cut_off(output: Path, how: signal.Signals) -> tuple[int, str]:
    """Ends a real process when it has more than half of the rounds; its exit code, and what it said."""
    partial = output.with_name(output.name + ".partial")
    command = [sys.executable, "-m", "hocket", *LARGE, "-o", str(output)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        while process.poll() is None and kept_bytes(partial) < MORE_THAN_HALF:
            time.sleep(0.001)
        process.send_signal(how)
        said = process.communicate(timeout=300)[1]
    return process.returncode, said


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("whole") / "x.schedule"
    done = hocket(*LARGE, "-o", path)
    assert done.returncode == 0, done.stderr
    assert os.listdir(path.parent) == ["x.schedule"]
    return path.read_bytes()


def test_a_killed_search_goes_on_and_writes_the_same_file(uninterrupted: bytes, tmp_path: Path) -> None:
    path = tmp_path / "x.schedule"
    returncode, _ = cut_off(path, signal.SIGKILL)
    assert returncode == -signal.SIGKILL
    assert not path.exists()
    # damage in what was kept: what is before it still serves
    (spool,) = (tmp_path / "x.schedule.partial").glob("*.rounds")
    content = bytearray(spool.read_bytes())
    content[-1000] ^= 1
    spool.write_bytes(content)
    other = hocket(*LARGE, "--seed", "1", "-o", path)
    assert other.returncode == 3
    assert "x.schedule.partial: keeps an unfinished search whose seed is 0, not 1; give the same" in other.stderr
    done = hocket(*LARGE, "--threads", "1", "-o", path)
    assert done.returncode == 0, done.stderr
    assert re.search("resumed at round (1024|2048)\n", done.stdout), done.stdout
    assert path.read_bytes() == uninterrupted
    assert os.listdir(tmp_path) == ["x.schedule"]


def test_ctrl_c_keeps_what_was_found(uninterrupted: bytes, tmp_path: Path) -> None:
    path = tmp_path / "x.schedule"
    returncode, said = cut_off(path, signal.SIGINT)
    assert returncode == 130, said
    assert "x.schedule.partial keeps what was found, and the same command goes on" in said
    assert hocket(*LARGE, "-o", path).returncode == 0
    assert path.read_bytes() == uninterrupted


def content(found: FoldedSchedule | None) -> list[list[int]]:
    assert found is not None
    return [column.tolist() for b in found.phases[0].transfers.blocks() for column in (b.start_ps, b.route, b.chunk)]


@settings(max_examples=30)
@given(
    spec=st.sampled_from(["mesh:4x4", "torus:3x4", "mesh:2x2x2", "mesh:3x3"]),
    blocking=st.booleans(),
    rarest=st.booleans(),
    seed=st.integers(0, 2**63 - 1),
    cut=st.floats(0, 1),
    threads=st.integers(1, 3),
)
def test_wherever_it_was_cut_off(
    tmp_path_factory: pytest.TempPathFactory,
    spec: str,
    blocking: bool,
    rarest: bool,
    seed: int,
    cut: float,
    threads: int,
) -> None:
    topology = load(f"{spec},bandwidth=50GB/s,latency=1us")
    # 2,000 chunks over two links into a corner: 1,000 rounds; rounds are renewed after 1,024
    problem = Problem(
        Collective(Kind.ALL_GATHER, topology.num_ranks, 2**24, 4800 // topology.num_ranks), topology, blocking
    )
    variant = RoundVariant(1 if blocking else problem.network.rounds_per_hop, rarest)
    partial = Partial.beside(tmp_path_factory.mktemp("cut") / "x", {})
    search = Search(seed, threads, partial=partial)
    whole = content(FoldedRun(problem, search, variant, 0).schedule(2**61, "rounds"))
    (spool,) = partial.folder.glob("*.rounds")
    spool.write_bytes(spool.read_bytes()[: int(cut * spool.stat().st_size)])
    again = FoldedRun(problem, search, variant, 0).schedule(2**61, "rounds")
    assert content(again) == whole
    assert again is not None and verify(again).time_ps == again.time_ps


@given(st.binary(max_size=200))
def test_any_bytes_after_the_head_are_no_rounds(tmp_path_factory: pytest.TempPathFactory, noise: bytes) -> None:
    path, shape = tmp_path_factory.mktemp("noise") / "x.rounds", RoundShape(5, 7, 10)
    with RoundSpool(shape, "test", path):
        pass
    path.write_bytes(path.read_bytes() + noise)
    with RoundSpool(shape, "test", path) as spool:
        assert len(spool.done) == 0


def test_two_processes_do_not_write_to_one_spool(tmp_path: Path) -> None:
    shape = RoundShape(5, 7, 10)
    with RoundSpool(shape, "test", tmp_path / "x"), pytest.raises(HocketError, match="another process is at"):
        RoundSpool(shape, "test", tmp_path / "x")


def test_rounds_that_the_search_cannot_have_found_are_refused(tmp_path: Path) -> None:
    """As other versions may leave them: chunk 0 is at rank 0 from the start."""
    topology = load("ring:4,bandwidth=50GB/s,latency=1us")
    problem = Problem(Collective(Kind.ALL_GATHER, 4, 2**20), topology)
    run = FoldedRun(problem, Search(partial=Partial.beside(tmp_path / "x", {})), RoundVariant(1, False), 0)
    first = run.schedule(2**61, "rounds")
    assert first is not None and isinstance(first.phases[0].transfers, Rounds)
    network, sink = problem.network, core.RoundColumns(core.round_times(problem.network, 1))
    search = core.RoundSearch(
        network, core.Orbits(4, np.zeros(0, np.int32)), problem.collective.origin, 1, False, 0, 0, 1, 2**61, sink,
        core.Stop(),
    )  # fmt: skip
    into = int(np.flatnonzero(topology.dst == 0)[0])
    with pytest.raises(HocketError, match="cannot have taken chunk 0"):
        search.replay(np.zeros(1, np.int64), np.array([into], np.int32), np.zeros(1, np.int32))
    with pytest.raises(HocketError, match="after a renewal"):
        search.resume(5)


@pytest.mark.parametrize("text", ["", "[]", "{", '{"seed": 1}'])
def test_a_partial_of_something_else_is_refused(tmp_path: Path, text: str) -> None:
    folder = tmp_path / "x.partial"
    folder.mkdir()
    (folder / "request.json").write_text(text, encoding="utf-8")
    with pytest.raises(HocketError, match=r"x.partial: keeps .* remove it"):
        Partial.beside(tmp_path / "x", {"seed": 0})
