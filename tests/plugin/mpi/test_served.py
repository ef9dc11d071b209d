"""MPI jobs whose collectives run programs, compared with the same collectives by MPI's own algorithms."""

import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import handmade
import pytest
import streams

from hocket.recording.recording import read_recording

pytestmark = pytest.mark.mpi

RANKS = 4
HERE = Path(__file__).parent
HOCKET = [sys.executable, "-m", "hocket"]
BESIDE = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return handmade.one_of_every_kind(tmp_path_factory.mktemp("programs") / "made")


@pytest.fixture(scope="module")
def c_program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """On two ranks: 3 all_reduces of 8 doubles, counts of type int."""
    if shutil.which("mpicc", path=BESIDE) is None:
        pytest.skip("needs mpicc: pip install mpi4py mpich")
    program = tmp_path_factory.mktemp("program") / "program"
    subprocess.run(["mpicc", str(HERE / "mpi_program.c"), "-o", str(program)], check=True, env={"PATH": BESIDE})
    return program


def run(cache: Path, *line: Any, **variables: Any) -> subprocess.CompletedProcess[str]:
    settings = {"PATH": BESIDE, "HOCKET_CACHE": cache} | variables
    environment = os.environ | {name: str(value) for name, value in settings.items()}
    command = [*HOCKET, *map(str, line)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=200)


@pytest.fixture(scope="module")
def job(programs: Path, cache: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A job that is recorded, too."""
    folder = tmp_path_factory.mktemp("job")
    line = ["mpiexec", "-n", RANKS, sys.executable, HERE / "mpi_served.py", folder]
    variables = {"HOCKET_ALGORITHMS": programs, "HOCKET_ALGORITHMS_REPORT": folder / "report.json"}
    done = run(cache, "collect", "--out", folder / "traces", "--mpi", *line, **variables)
    assert done.returncode == 0, done.stderr[-4000:]
    (folder / "said").write_text(done.stderr)
    return folder


def test_every_collective_gives_the_same_bits_as_mpis_own(job: Path) -> None:
    for rank in range(RANKS):
        facts = json.loads((job / f"rank{rank}.json").read_text())
        # of 5 types: sizes 1 and 7 with 4 operations, 64 and 4099 with one, 6 calls each; 4 sizes, 9 calls; 2 others
        assert facts["cases"] == 5 * (2 * 4 + 2) * 6 + 5 * 4 * 9 + 2
        assert facts["wrong"] == []


def test_counts_say_what_ran_and_why_mpis_own_did(job: Path) -> None:
    calls = json.loads((job / "rank0.json").read_text())["calls"]
    report = json.loads((job / "report.json").read_text())
    ran = {(found["collective"], found["ranks"]): found["calls"] for found in report["algorithms"]}
    assert ran == {
        ("all_reduce", 4): calls["MPI_Allreduce"],
        ("all_gather", 4): calls["MPI_Allgather"],
        ("all_to_all", 4): calls["MPI_Alltoall"],
        ("reduce_scatter", 4): calls["MPI_Reduce_scatter_block"],
        ("broadcast", 4): calls["MPI_Bcast"],
        ("reduce", 4): calls["MPI_Reduce"],
        ("gather", 4): calls["MPI_Gather"],
        ("scatter", 4): calls["MPI_Scatter"],
        ("all_reduce", 2): 4,  # two calls on each of two communicators
        ("all_gather", 2): 0,
    }
    stock = {(found["operation"].removesuffix("_c"), found["reason"]): found["calls"] for found in report["stock"]}
    assert stock["MPI_Allreduce", "a reduction of the program's own"] == 1
    assert stock["MPI_Allreduce", "a reduction of a type of the program's own, or with gaps"] == 1  # (double, int)
    assert stock["MPI_Reduce", "a reduction that MPI has not for the type"] == 1  # BAND of doubles
    assert stock["MPI_Allreduce", "empty buffers"] == 1
    assert stock["MPI_Bcast", "no program for root 0 on 4 ranks"] >= 1
    assert stock["MPI_Allgatherv", "counts that may differ between ranks"] == 1
    assert stock["MPI_Iallreduce", "nonblocking"] == calls["MPI_Allreduce"]
    said = " ".join((job / "said").read_text().split())
    assert "hocket: algorithms of" in said and "made/all_gather_2.json all_gather on 2 ranks 0 never ran" in said


def test_what_a_program_serves_is_recorded_as_the_call_that_it_is(job: Path) -> None:
    calls = Counter(json.loads((job / "rank0.json").read_text())["calls"])
    recording = read_recording(job / "traces" / "latest" / "stream" / "rank0.stream")
    recorded = Counter(call.op.removesuffix("_c") for call in streams.issued(recording) if call.group.order == 0)
    for op in ("MPI_Reduce", "MPI_Reduce_scatter_block", "MPI_Alltoall", "MPI_Gather", "MPI_Scatter"):
        assert recorded[op] == calls[op]


@pytest.mark.parametrize(
    ("ranks", "expected"),
    [
        (2, "made/all_reduce_2.json all_reduce on 2 ranks 3 192 B"),  # 3 * 8 * 8 B
        (3, "MPI_Allreduce 3 no program for 3 ranks, only for 2 and 4"),
    ],
)
def test_a_c_program(programs: Path, c_program: Path, cache: Path, ranks: int, expected: str) -> None:
    done = run(cache, "launch", "--algorithms", programs, "mpiexec", "-n", ranks, c_program)
    assert done.returncode == 0, done.stderr
    assert "all_reduce 3" in done.stdout and expected in " ".join(done.stderr.split())


def test_a_job_that_dies_has_its_own_exit_code_and_no_counts(programs: Path, cache: Path) -> None:
    done = run(cache, "launch", "--algorithms", programs, "mpiexec", "-n", 2, "sh", "-c", "exit 7")
    assert done.returncode == 7 and "rank 0 did not reach MPI_Finalize" in done.stderr
    assert not list(cache.glob("algorithms-*"))


def test_what_is_no_bundle_or_wrong_is_refused_before_the_launch(tmp_path: Path, programs: Path, cache: Path) -> None:
    for source, message in ((tmp_path / "absent", "absent: No such file"), (tmp_path, "holds no program")):
        done = run(cache, "launch", "touch", tmp_path / "launched", HOCKET_ALGORITHMS=source)
        assert done.returncode == 3 and message in done.stderr
    text = (programs / "all_reduce_4.json").read_text()
    wrong = tmp_path / "wrong.json"
    wrong.write_text(text.replace("rrcs", "rcs", 1))
    assert wrong.read_text() != text
    done = run(cache, "launch", "--algorithms", wrong, "touch", tmp_path / "launched")
    assert done.returncode == 3 and "wrong.json" in done.stderr
    assert not (tmp_path / "launched").exists()
