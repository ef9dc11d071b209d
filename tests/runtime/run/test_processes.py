"""`hocket run` on real processes, from the outside."""

import json
import os
import pickle
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from queue import SimpleQueue

import handmade
import pytest

from hocket.base.errors import HocketError
from hocket.base.extras import install_command
from hocket.runtime.engine.library import Library, ServedProgram
from hocket.runtime.run import ReduceOp, RunTask
from hocket.runtime.run.processes import _objects
from hocket.schedule import Gpu, Kind, Program, Step, StepType, ThreadBlock
from hocket.translator import to_xml

HERE = Path(__file__).parent
FOREVER = "1000000"


def hocket_run(*arguments: object) -> list[str]:
    return [sys.executable, "-m", "hocket", "run", *map(str, arguments)]


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(hocket_run(*arguments), capture_output=True, text=True, timeout=200)


def write(folder: Path, kind: Kind, ranks: int) -> Path:
    path = folder / f"{kind}.xml"
    path.write_text(to_xml(handmade.PROGRAMS[kind](ranks), "executor"))
    return path


@pytest.fixture(scope="module")
def ring(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("ring"), Kind.ALL_REDUCE, 4)


@pytest.fixture(scope="module")
def corrupted(ring: Path) -> Path:
    """Rank 3 never adds its own part to the second chunk it receives: it forwards what came."""
    lines = ring.read_text().splitlines()
    place = next(i for i, line in enumerate(lines) if 'id="3"' in line)
    target = next(i for i in range(place, len(lines)) if 's="2"' in lines[i])
    assert 'type="rrcs"' in lines[target]
    lines[target] = lines[target].replace('type="rrcs"', 'type="rcs"')
    path = ring.with_name("corrupted.xml")
    path.write_text("\n".join(lines) + "\n")
    return path


def workers() -> list[str]:
    """Command lines of workers whose launcher was started by this process' tests."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            command = entry.read_bytes()
        except OSError:
            continue
        if b"hocket.runtime.run.worker" in command:
            found.append(command.decode())
    return found


@pytest.fixture
def nobody_left() -> Iterator[None]:
    before = set(workers())
    yield
    deadline = time.monotonic() + 20
    while set(workers()) - before and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not set(workers()) - before


@pytest.mark.mpi
@pytest.mark.parametrize("kind", handmade.PROGRAMS)
def test_mpi_runs_every_collective_and_its_own(kind: Kind, tmp_path: Path) -> None:
    path, output = write(tmp_path, kind, 4), tmp_path / "run.json"
    root = {Kind.BROADCAST: 1, Kind.REDUCE: 2, Kind.GATHER: 1, Kind.SCATTER: 2}.get(kind)
    arguments = ["--backend", "mpi", "-n", 4, "-b", "1K", "-e", "16K", "-f", 4, "--iters", 2, "--compare"]
    done = run(path, *arguments, "--json", output, *([] if root is None else ["--root", root]))
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("# Out of bounds values : 0 OK") == 2  # the program's table and MPI's own
    report = json.loads(output.read_text())
    assert report["collective"] == kind
    assert report["root"] == (root or 0)
    # -b 1K -e 16K -f 4: 1 KiB, 4 KiB, 16 KiB
    assert [row["size_bytes"] for row in report["rows"]] == [1024, 4096, 16384]
    for row in report["rows"]:
        assert row["ran_over"] == "MPI's messages" and row["reference"]["wrong"] == 0
        for way in ("in_place", "out_of_place"):
            assert row[way]["wrong"] == 0
            assert row[way]["algbw"] == pytest.approx(row["size_bytes"] * 10**12 / row[way]["time_ps"])
            is_declared = getattr(handmade.PROGRAMS[kind](4), way)
            assert row["files"][way] == path.name + ("" if is_declared else " on a copy")


@pytest.mark.mpi
@pytest.mark.shared
@pytest.mark.parametrize("name", ["az_allreduce_allpairs_oop_8g_simple", "az_broadcast_chain_8g_f4_simple"])
def test_mpi_runs_files_of_msccl_tools_on_8_ranks(name: str, shared: Path) -> None:
    done = run(shared / "msccl_xml" / "own" / f"{name}.xml", "--backend", "mpi", "-n", 8, "--size", "64K", "--iters", 1)
    assert done.returncode == 0, done.stderr
    assert "# Out of bounds values : 0 OK" in done.stdout


def task_of(program: Program, *sizes: int, **options: object) -> RunTask:
    return RunTask(program.kind, program.num_ranks, program.root, "gloo", sizes, iterations=1, warmup=1, **options)


@pytest.mark.torch
def test_gloo_runs_every_collective_type_and_its_own(tmp_path: Path) -> None:
    """Over gloo's own messages, both ways with buffers."""
    programs = [build(4) for build in handmade.PROGRAMS.values()]
    tasks = [(program, task_of(program, 1 << 10, 1 << 16, compare=True)) for program in programs]
    ring = handmade.ring_all_reduce(4)
    tasks += [
        (ring, task_of(ring, 4096, data_type=data_type, op=op, compare=data_type != "int8"))
        for data_type in ("float16", "bfloat16", "int64", "int8", "float64")
        for op in (ReduceOp.SUM, ReduceOp.MAX)
    ]
    for number, (program, _) in enumerate(tasks):
        folder = tmp_path / str(number)
        folder.mkdir()
        Library("made", [ServedProgram("made", program)]).write(folder, exchanging=True)
    (tmp_path / "tasks.pickle").write_bytes(pickle.dumps([task for _, task in tasks]))
    commands = [[sys.executable, str(HERE / "gloo_rank.py"), str(tmp_path), str(rank)] for rank in range(4)]
    ranks = [subprocess.Popen(command, env={**os.environ, "OMP_NUM_THREADS": "1"}) for command in commands]
    assert [rank.wait(timeout=200) for rank in ranks] == [0, 0, 0, 0]
    measured = pickle.loads((tmp_path / "rows.pickle").read_bytes())
    for (_, task), rows in zip(tasks, measured, strict=True):
        assert [row.size_bytes for row in rows] == list(task.sizes)
        for row in rows:
            assert (row.out_of_place.wrong, row.in_place.wrong) == (0, 0), task
            assert row.reference is None or row.reference.wrong == 0, task


@pytest.mark.parametrize(("transport", "said"), [("shm", "shared memory"), ("tcp", "TCP")])
def test_local_ranks_need_no_other_library(transport: str, said: str, ring: Path, tmp_path: Path) -> None:
    hide_libraries(tmp_path)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])}
    command = hocket_run(ring, "--transport", transport, "-b", "1K", "-e", "64K", "-f", 64, "--iters", 2)
    done = subprocess.run(command, capture_output=True, text=True, timeout=100, env=environment)
    assert done.returncode == 0, done.stderr
    assert "# Out of bounds values : 0 OK" in done.stdout and "N/A" not in done.stdout
    assert f"# Transport            : {said}\n" in done.stdout
    assert "# Program              : out-of-place: all_reduce.xml on a copy, in-place: all_reduce.xml" in done.stdout


def test_finds_the_wrong_values_of_a_file_that_was_not_proved(corrupted: Path) -> None:
    size = 4096
    done = run(corrupted, "-n", 4, "--size", size, "--iters", 1, "--no-verify")
    assert done.returncode == 1, done.stderr
    # The chunk that lost a part (a fourth of 1024 float32 elements) is wrong on all four ranks, in both columns.
    assert f"# Out of bounds values : {2 * 4 * size // 4 // 4} FAILED" in done.stdout
    assert "NOT PROVED" in done.stdout


def test_a_wrong_file_is_refused_before_anything_runs(corrupted: Path) -> None:
    done = run(corrupted, "-n", 4)
    assert done.returncode == 3
    assert done.stdout == ""
    assert "error: " in done.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["-n", 8], 3, "made for ngpus=4, asked to run on 8 ranks; use -n 4"),
        (["--size", "1000"], 3, "its 250 float32 elements cannot be cut into nchunksperloop=4 equal chunks"),
        (["--size", "big"], 2, "--size: 'big' is not a size"),
        (["--backend", "nccl"], 2, "--transport nccl: no such choice; known: device, gloo, mpi, shm, tcp"),
        (["--op", "avg"], 2, "--op avg: no such choice; known: max, min, prod, sum"),
        (["--dtype", "fp8"], 2, "--dtype fp8: no such choice"),
        (["--root", "4"], 3, "root 4 is not one of the ranks 0..3"),
        (["--size", "1K", "-e", "2K"], 2, "not both"),
        (["--size", "1K", "-b", "2K"], 2, "not both"),
        (["-b", "4K", "-e", "2K"], 2, "not above the last"),
    ],
)
def test_refuses_a_request_that_does_not_fit(arguments: list[object], code: int, message: str, ring: Path) -> None:
    done = run(ring, *arguments)
    assert done.returncode == code
    assert message in done.stderr.replace("\n", " ")


def hide_libraries(folder: Path) -> None:
    """On the stub path: as if neither PyTorch nor mpi4py were installed."""
    (folder / "sitecustomize.py").write_text(
        "import importlib.util as u, sys\n"
        "find = u.find_spec\n"
        "u.find_spec = lambda name, package=None: None if name in ('torch', 'mpi4py') else find(name, package)\n"
        "sys.modules['torch'] = sys.modules['mpi4py'] = None\n"
    )


def test_a_missing_backend_names_the_extra_to_install(ring: Path, tmp_path: Path) -> None:
    hide_libraries(tmp_path)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])}
    for backend, module, extra in (("gloo", "torch", "torch"), ("mpi", "mpi4py", "mpi")):
        command = hocket_run(ring, "--backend", backend)
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, env=environment)
        assert done.returncode == 3
        assert f"backend {backend} needs {module}: {install_command(extra)}" in done.stderr


@pytest.mark.mpi
def test_what_fails_inside_a_rank_is_told(ring: Path) -> None:
    done = run(ring, "--backend", "mpi", "--dtype", "bfloat16", "--compare", "--iters", 1)
    assert done.returncode == 3
    assert "failed: MPI has no bfloat16 to compare with; leave --compare out" in done.stderr


@pytest.mark.parametrize("transport", [pytest.param("mpi", marks=pytest.mark.mpi), "shm"])
def test_a_run_that_makes_no_progress_ends(transport: str, ring: Path, nobody_left: None) -> None:
    done = run(ring, "--transport", transport, "--iters", FOREVER, "--timeout", 3)
    assert done.returncode == 3
    assert "no new result for 3 s" in done.stderr


def wait_for_rank(folder: Path, rank: int) -> int:
    """The process of a rank, once it has joined the others."""
    deadline = time.monotonic() + 100
    while time.monotonic() < deadline:
        for path in folder.glob("hocket-run-*/*.rank"):
            if path.read_text() == str(rank):
                return int(Path(f"/proc/{path.stem}/task/{path.stem}/children").read_text())
        time.sleep(0.1)
    raise AssertionError(f"rank {rank} did not start")


@pytest.mark.parametrize(
    "backend", [pytest.param("mpi", marks=pytest.mark.mpi), pytest.param("gloo", marks=pytest.mark.torch), "shm", "tcp"]
)
def test_a_killed_rank_is_named(backend: str, ring: Path, tmp_path: Path, nobody_left: None) -> None:
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    command = hocket_run(ring, "--backend", backend, "--iters", FOREVER)
    launcher = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
    os.kill(wait_for_rank(tmp_path, 2), signal.SIGKILL)
    _, errors = launcher.communicate(timeout=60)
    assert launcher.returncode == 3
    assert "error: rank 2 was killed by signal 9" in errors
    assert not list(tmp_path.iterdir())


def test_a_dead_rank_is_noticed_though_its_launcher_lives(tmp_path: Path) -> None:
    """mpiexec sometimes misses a death; what the dead rank's shell noted is enough."""
    (tmp_path / "7.rank").write_text("2")
    (tmp_path / "7.exit").write_text("137\n")
    (tmp_path / "8.exit").write_text("")  # another, about to be written
    mpiexec = subprocess.Popen(["sleep", "100"])
    try:
        with pytest.raises(HocketError, match="rank 2 was killed by signal 9"):
            list(_objects([mpiexec], SimpleQueue(), tmp_path, timeout_s=30, remedy=""))
    finally:
        mpiexec.kill()
        mpiexec.wait()


@pytest.mark.parametrize("transport", [pytest.param("mpi", marks=pytest.mark.mpi), "shm"])
@pytest.mark.parametrize(("sent", "code"), [(signal.SIGINT, 130), (signal.SIGKILL, -signal.SIGKILL)])
def test_workers_end_with_their_launcher(
    sent: signal.Signals, code: int, transport: str, ring: Path, tmp_path: Path, nobody_left: None
) -> None:
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    command = hocket_run(ring, "--transport", transport, "--iters", FOREVER)
    launcher = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment)
    wait_for_rank(tmp_path, 0)
    launcher.send_signal(sent)
    launcher.communicate(timeout=60)
    assert launcher.returncode == code


def test_ranks_that_wait_for_each_other_end_with_their_launcher(tmp_path: Path, nobody_left: None) -> None:
    """Ranks 1 and 2 first receive, from each other: neither hears of the end of rank 0."""
    receive, send = (Step(StepType(kind), "i", 0, "i", 0, 1) for kind in ("r", "s"))
    blocks = [ThreadBlock(-1, -1, 0, ()), *(ThreadBlock(peer, peer, 0, (receive, send)) for peer in (2, 1))]
    gpus = tuple(Gpu(3, 3, 0, (block,)) for block in blocks)
    path = tmp_path / "stuck.xml"
    path.write_text(to_xml(Program("stuck", Kind.ALL_REDUCE, 3, 1, "Simple", True, False, 0, 0, gpus), "executor"))
    command = hocket_run(path, "--size", "12K", "--no-verify")
    launcher = subprocess.Popen(command, stdout=subprocess.DEVNULL, env={**os.environ, "TMPDIR": str(tmp_path)})
    for rank in range(3):
        wait_for_rank(tmp_path, rank)
    launcher.kill()
    launcher.wait()


@pytest.mark.parametrize(
    ("runtime", "expected"),
    [
        ("msccl", ["MSCCL_XML_FILES=", "NCCL_ALGO=MSCCL,RING,TREE", "Connected [0-9]+ MSCCL algorithms"]),
        ("executor", ["MSCCL_ALGO_DIR=", "NCCL_MSCCL_ENABLE=1", "MSCCL: Setup Kernel finished"]),
    ],
)
def test_prints_how_to_run_on_a_runtime(runtime: str, expected: list[str], ring: Path) -> None:
    done = run(ring, "--print", runtime)
    assert done.returncode == 0, done.stderr
    assert "mpirun -np 4" in done.stdout
    assert "all_reduce_perf" in done.stdout
    assert "only the in-place columns" in done.stdout
    for text in expected:
        assert text in done.stdout


@pytest.mark.parametrize("runtime", ["msccl", "executor", "rccl"])
def test_what_is_printed_can_be_pasted_into_a_shell(runtime: str, ring: Path, tmp_path: Path) -> None:
    path = tmp_path / "two words.xml"
    path.write_text(ring.read_text())
    done = run(path, "--print", runtime)
    assert done.returncode == 0, done.stderr
    words = shlex.split(done.stdout, comments=True)
    assert any(word.removeprefix("MSCCL_XML_FILES=") == str(path) for word in words)


@pytest.mark.parametrize(
    ("backend", "said"), [("nvlink", "--transport nvlink: no such choice; known: device, gloo, mpi, shm, tcp")]
)
def test_a_run_that_cannot_start_prints_no_table(backend: str, said: str, ring: Path) -> None:
    done = run(ring, "--backend", backend)
    assert done.returncode == 2
    assert said in done.stderr
    assert done.stdout == ""


def test_a_file_that_is_not_proved_is_named(corrupted: Path) -> None:
    done = run(corrupted, "--backend", "mpi")
    assert done.returncode == 3
    assert done.stderr.startswith(f"error: {corrupted}: in-place call: ")
    assert done.stdout == ""


def test_prints_for_no_unknown_runtime(ring: Path) -> None:
    done = run(ring, "--print", "nccl")
    assert done.returncode == 2
    assert "--print nccl: no such choice; stock NCCL loads no programs" in done.stderr
    assert "known: executor, msccl, rccl" in done.stderr
