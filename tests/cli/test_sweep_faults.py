"""What befalls sweeps: workers that die or hang, on this machine, under MPI and of dask; a full disk; two at once. What
was answered is kept, and nothing is answered twice."""

import os
import shutil
import signal
import socket
import sqlite3
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from typing import Any

import in_process
import pytest
from sweep_stores import runs_of

from hocket.base.executables import search_path

PATIENCE_S = 200.0
SWEEP = [sys.executable, "-m", "hocket", "sweep"]
SIZES = 40
POINTS = 2 * SIZES
SPEC = f"""\
topology: torus:4x4,bandwidth=50GB/s,latency=500ns
collective: all_gather
size: {list(range(10_000, 10_000 + SIZES))}
algorithm: [ring, direct]
"""
run = partial(in_process.hocket, "sweep")

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


def wait_until(true: Callable[[], object], what: str) -> None:
    end = time.monotonic() + PATIENCE_S
    while not true():
        assert time.monotonic() < end, what
        time.sleep(0.005)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Of points that take some milliseconds each."""
    path = tmp_path / "sweep.yaml"
    path.write_text(SPEC)
    return path


class Command:
    """A command whose processes are known by a variable of their environment."""

    def __init__(self, number: int, folder: Path, *words: object, **options: Any) -> None:
        self.mark = f"SWEEP_OF={folder}/{number}"
        name, _, value = self.mark.partition("=")
        environment = {**os.environ, **options.pop("variables", {}), name: value}
        options = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True, **options}
        self.process = subprocess.Popen([str(word) for word in words], env=environment, cwd=folder, **options)

    def end(self) -> tuple[int, str]:
        """How it ends, and what it said."""
        said, _ = self.process.communicate(timeout=PATIENCE_S)
        return self.process.returncode, said

    def alive(self, sort: bytes = b"") -> list[int]:
        """Its processes with that in their command line."""
        found = []
        for path in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                if self.mark.encode() in (path / "environ").read_bytes().split(b"\0"):
                    found += [int(path.name)] * (sort in (path / "cmdline").read_bytes())
        return found

    def answering(self) -> list[int]:
        """Its processes that answer points for others, the one that has worked the most first."""
        return sorted(self.alive(b"hocket.base.task_process"), key=_worked, reverse=True)

    def kill(self) -> None:
        for process in self.alive():
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)


def _worked(process: int) -> int:
    """Ticks of processor time."""
    with suppress(OSError):
        return int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[11])
    return 0


Start = Callable[..., Command]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Starts commands, which end with the test."""
    commands: list[Command] = []

    def begin(*words: object, **options: Any) -> Command:
        commands.append(Command(len(commands), tmp_path, *words, **options))
        return commands[-1]

    yield begin
    for command in commands:
        command.kill()
        with command.process:
            command.process.communicate()


def failures(store: Path) -> list[str]:
    with closing(sqlite3.connect(store)) as base:
        return [why for (why,) in base.execute("SELECT failure FROM point WHERE failure IS NOT NULL")]


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """Those of a sweep that nothing befell."""
    folder = tmp_path_factory.mktemp("serial")
    (folder / "sweep.yaml").write_text(SPEC)
    assert run(folder / "sweep.yaml", "-o", folder).returncode == 0
    return (folder / "results.csv").read_bytes()


def results_of(out: Path) -> bytes:
    return (out / "results.csv").read_bytes()


MPIEXEC = shutil.which("mpiexec", path=search_path()) or "mpiexec"
MPI = pytest.param([MPIEXEC, "-n", "3", *SWEEP], ["--executor", "mpi"], marks=pytest.mark.mpi, id="mpi")
LOCAL = pytest.param(SWEEP, ["--executor", "local", "--jobs", "2"], id="local")


@pytest.mark.parametrize(("command", "options"), [LOCAL, MPI])
def test_a_worker_that_is_killed_costs_nothing(
    file: Path, start: Start, command: list[str], options: list[str], results: bytes
) -> None:
    out = file.parent / "out"
    sweep = start(*command, file, "-o", out, *options)
    wait_until(lambda: len(runs_of(out / "answers.sqlite")) > 10, "it does not begin")
    os.kill(sweep.answering()[0], signal.SIGKILL)
    code, said = sweep.end()
    assert code == 0, said
    assert said == f"{POINTS} points: {out}/results.csv\n"
    assert not failures(out / "answers.sqlite") and results_of(out) == results


@pytest.mark.parametrize(("command", "options"), [LOCAL, MPI])
def test_a_point_that_hangs_fails_and_is_asked_again_on_demand(
    file: Path, start: Start, command: list[str], options: list[str], results: bytes
) -> None:
    out, limit = file.parent / "out", ["--time-limit", "2"]
    store = out / "answers.sqlite"
    sweep = start(*command, file, "-o", out, *options, *limit)
    wait_until(lambda: len(runs_of(store)) > 10, "it does not begin")
    os.kill(sweep.answering()[0], signal.SIGSTOP)  # as if it waited for ever
    code, said = sweep.end()
    assert code == 0, said
    assert f"{POINTS} points, 1 failed: --retry-failed asks again" in said
    assert failures(store) == ["it took longer than 2 s"]
    assert "failed: it took longer than 2 s" in (out / "results.csv").read_text()

    assert "1 failed" in run(file, "-o", out).stdout  # it is not asked again by itself
    assert f"{POINTS} points: " in run(file, "-o", out, "--retry-failed").stdout
    assert not failures(store) and results_of(out) == results
    assert sorted(runs_of(store).values()) == [1] * (POINTS - 1) + [2]  # the others are the first run's


@pytest.mark.mpi
def test_mpi_starts_workers_where_the_sweep_stands_alone(tmp_path: Path, start: Start) -> None:
    (tmp_path / "small.yaml").write_text("topology: dgx-h100\ncollective: all_reduce\nsize: [1KiB, 1MiB]\n")
    code, said = start(*SWEEP, "small.yaml", "-o", "out", "--executor", "mpi", "--jobs", 1).end()
    assert (code, said) == (0, "2 points: out/results.csv\n")


def test_a_full_disk_is_said_and_costs_nothing(file: Path, start: Start, results: bytes) -> None:
    out = file.parent / "out"
    store = out / "answers.sqlite"
    limited = ["sh", "-c", 'trap "" XFSZ; ulimit -f 160; exec "$@"', "sh"]  # no file grows beyond 80 KiB
    sweep = start(*limited, *SWEEP, file, "-o", out)
    code, said = sweep.end()
    assert code == 3, said
    assert f"{store}: " in said and "is the disk full" in said and "run the same command to go on" in said
    kept = runs_of(store)
    assert 0 < len(kept) < POINTS and not (out / "results.csv").exists()

    assert run(file, "-o", out).returncode == 0
    assert runs_of(store).items() >= kept.items() and results_of(out) == results


def test_of_two_sweeps_at_once_one_is_refused_and_the_other_is_whole(file: Path, start: Start, results: bytes) -> None:
    out = file.parent / "out"
    both = [start(*SWEEP, file, "-o", out) for _ in range(2)]
    ends = [sweep.end() for sweep in both]
    assert sorted(code for code, _ in ends) == [0, 3], ends
    assert any("another sweep is writing there now" in said for _, said in ends)
    assert set(runs_of(out / "answers.sqlite").values()) == {1} and results_of(out) == results


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


@pytest.fixture
def scheduler(start: Start) -> str:
    """The address of a scheduler of dask."""
    address = f"tcp://127.0.0.1:{free_port()}"
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    port = address.rpartition(":")[2]
    start(
        sys.executable, "-m", "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", port,
        "--no-dashboard", "--dashboard-address", "127.0.0.1:0", **quiet,
    )  # fmt: skip
    return address


@pytest.mark.dask
def test_a_worker_of_dask_that_is_killed_costs_nothing(
    file: Path, scheduler: str, start: Start, results: bytes
) -> None:
    worker = [sys.executable, "-m", "distributed.cli.dask_worker", scheduler, "--no-nanny", "--nthreads", "1"]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    workers = [start(*worker, "--no-dashboard", "--local-directory", file.parent, **quiet) for _ in range(2)]
    out = file.parent / "out"
    sweep = start(*SWEEP, file, "-o", out, "--executor", "dask", "--cluster", scheduler)
    wait_until(lambda: all(each.answering() for each in workers), "one of them does nothing")
    wait_until(lambda: len(runs_of(out / "answers.sqlite")) > 10, "it does not begin")
    workers[0].process.kill()
    code, said = sweep.end()
    assert code == 0, said
    assert f"{POINTS} points: {out}/results.csv\n" in said
    assert not failures(out / "answers.sqlite") and results_of(out) == results
    wait_until(lambda: not workers[0].answering(), "what it had started outlives the worker")


SBATCH = """#!/bin/sh
# As Slurm's: takes a script, runs it some time, says a number.
for script; do :; done
sh "$script" > /dev/null 2>&1 &
echo $! >> "$SLURM_STAND_IN"
echo "Submitted batch job $!"
"""


@pytest.mark.dask
def test_slurm_is_asked_for_workers(file: Path, tmp_path: Path, start: Start, results: bytes) -> None:
    commands = tmp_path / "commands"
    commands.mkdir()
    for name, text in (("sbatch", SBATCH), ("scancel", "#!/bin/sh\nkill $1\n")):
        (commands / name).write_text(text)
        (commands / name).chmod(stat.S_IRWXU)
    jobs = tmp_path / "jobs"
    slurm = {"PATH": f"{commands}:{os.environ['PATH']}", "SLURM_STAND_IN": str(jobs)}
    out = tmp_path / "out"
    cluster = f"slurm:jobs=2,cores=1,memory=1GB,queue=batch,interface=lo,local_directory={tmp_path}"
    options = ["--executor", "dask", "--cluster", cluster]
    sweep = start(*SWEEP, file, "-o", out, *options, variables=slurm)
    code, said = sweep.end()
    assert code == 0, said
    assert len(jobs.read_text().split()) == 2 and results_of(out) == results


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (["--executor", "dask"], 2, "--executor dask and --cluster ADDRESS|slurm:... go together"),
        (["--cluster", "tcp://127.0.0.1:1"], 2, "--executor dask and --cluster ADDRESS|slurm:... go together"),
        (["--time-limit", "5"], 2, "--time-limit is for --executor local, mpi or dask"),
        (["--executor", "local", "--time-limit", "0"], 2, "--time-limit 0.0: expected a number of at least 0.01"),
        (["--executor", "dask", "--cluster", "slurm:core=4"], 2, "'core=4': expected NAME=VALUE; did you mean 'cores'"),
        (["--executor", "dask", "--cluster", "slurm:jobs=many"], 2, "jobs: 'many' is no number"),
    ],
)
@pytest.mark.dask
def test_executors_that_cannot_be_are_one_clear_error(file: Path, options: list[str], code: int, message: str) -> None:
    done = run(file, "-o", file.parent / "out", *options)
    assert (done.returncode, message in " ".join(done.stderr.split())) == (code, True), done.stderr
