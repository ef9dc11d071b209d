"""Commands that start others, ended by a signal, at their start and at work: no process of theirs stays, no file."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import handmade
import pytest
from sweep_stores import runs_of

from hocket.base.scratch import scratch_folder
from hocket.chakra import CollectiveType, TraceBuilder, write_trace
from hocket.chakra.groups import write_groups
from hocket.translator import to_xml

PATIENCE_S = 100.0
RANKS = 4
FOREVER = "1000000"
SWEEP = """topology: switch:16,bandwidth=50GB/s,latency=500ns
collective: all_reduce
size: {sizes}
algorithm: [ring, auto]
"""
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


class Started:
    """A command whose processes are known by their temporary directory, which is the test's alone."""

    def __init__(self, folder: Path, *words: object) -> None:
        self.folder = folder / "temporary"
        self.folder.mkdir()
        environment = {**os.environ, "TMPDIR": str(self.folder)}
        command = [sys.executable, "-m", "hocket", *map(str, words)]
        self.process = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment, cwd=folder
        )

    def alive(self) -> list[int]:
        """The processes of it that live."""
        found = []
        for path in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                mine = f"TMPDIR={self.folder}".encode() in (path / "environ").read_bytes().split(b"\0")
                if mine and (path / "stat").read_text().rpartition(")")[2].split()[0] != "Z":
                    found.append(int(path.name))
        return found

    def shared(self) -> set[Path]:
        """What its processes have mapped of /dev/shm, by names that others can find."""
        found = set()
        for pid in self.alive():
            with suppress(OSError):
                maps = Path(f"/proc/{pid}/maps").read_text().splitlines()
                found |= {Path(line.split()[5]) for line in maps if " /dev/shm/" in line}
        return found

    def wait(self, until: Callable[[], bool], what: str) -> None:
        end = time.monotonic() + PATIENCE_S
        while not until():
            assert time.monotonic() < end, what
            time.sleep(0.01)

    def count(self, pattern: str) -> int:
        return len(list(self.folder.glob(pattern)))


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Started]]:
    """Starts a command; what is left of it when the test fails is killed."""
    commands: list[Started] = []

    def begin(*words: object) -> Started:
        commands.append(Started(tmp_path, *words))
        return commands[-1]

    yield begin
    for command in commands:
        for pid in command.alive():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        command.process.wait()


def run(transport: str, start: Callable[..., Started], folder: Path) -> tuple[Started, Callable[[], bool]]:
    """`hocket run`, and whether its ranks are at work."""
    program = folder / "ring.xml"
    program.write_text(to_xml(handmade.ring_all_reduce(RANKS), "executor"))
    command = start("run", program, "--transport", transport, "--iters", FOREVER)
    return command, lambda: command.count("hocket-run-*/*.rank") == RANKS


def replay(backend: str, start: Callable[..., Started], folder: Path) -> tuple[Started, Callable[[], bool]]:
    """`hocket replay` of computing for hours, and whether its ranks are at it."""
    for rank in range(RANKS):
        builder = TraceBuilder()
        computed = builder.add_comp("forward", duration_ns=10**13)
        builder.add_collective("all_reduce", CollectiveType.ALL_REDUCE, 4096, dtype="float32", deps=[computed])
        write_trace(folder / f"trace.{rank}.et", builder.build())
    write_groups(folder / "comm_groups.json", {"0": tuple(range(RANKS))})
    command = start("replay", folder, "--backend", backend, "--compute", "sleep")
    return command, lambda: command.count("hocket-replay-*/*.rank") == RANKS


def sweep(executor: str, start: Callable[..., Started], folder: Path) -> tuple[Started, Callable[[], bool]]:
    """`hocket sweep` on two workers, and whether they have answered."""
    (folder / "sweep.yaml").write_text(SWEEP.format(sizes=list(range(10_000, 18_000))))
    command = start("sweep", "sweep.yaml", "--out", "swept", "--executor", executor, "--jobs", 2)
    answers = folder / "swept" / "answers.sqlite"
    return command, lambda: len(runs_of(answers)) > 2


COMMANDS = {
    "run over shared memory": (run, "shm"),
    "run over TCP": (run, "tcp"),
    "run over MPI": (run, "mpi"),
    "sweep": (sweep, "local"),
    "replay over gloo": (replay, "gloo"),
    "replay over MPI": (replay, "mpi"),
}
MARKS = {"mpi": [pytest.mark.mpi], "gloo": [pytest.mark.torch]}
NAMED = [pytest.param(name, marks=MARKS.get(how, [])) for name, (_, how) in COMMANDS.items()]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
@pytest.mark.parametrize("early", [False, True], ids=["at work", "starting"])
@pytest.mark.parametrize("name", NAMED)
def test_nothing_is_left(
    name: str, early: bool, number: signal.Signals, start: Callable[..., Started], tmp_path: Path
) -> None:
    begin, how = COMMANDS[name]
    command, is_working = begin(how, start, tmp_path)
    command.wait(lambda: len(command.alive()) > 1 if early else is_working(), "it does not begin")
    assert command.process.poll() is None
    shared = command.shared()
    command.process.send_signal(number)
    command.process.wait(PATIENCE_S)
    command.wait(lambda: not command.alive(), "processes outlive the command")
    command.wait(lambda: not any(path.exists() for path in shared), "shared memory outlives the command")

    def is_clean() -> bool:
        if number == signal.SIGKILL:  # what it had there is removed by the next start
            with scratch_folder("next", command.folder):
                pass
        return not list(command.folder.iterdir())

    if number == signal.SIGKILL:  # a process that has no memory any more may still hold its lock for an instant
        command.wait(is_clean, "files outlive the command and the next start")
    assert is_clean()
