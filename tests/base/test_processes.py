"""Processes end with those that started them, by whatever signal; nothing of theirs stays."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hocket.base.errors import HocketError
from hocket.base.processes import run, started, worker_pool
from hocket.base.scratch import scratch_folder

PATIENCE_S = 60.0
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def group(session: int) -> list[int]:
    """The living processes of a session."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, _, of = path.read_text().rpartition(")")[2].split()[:4]
        except (FileNotFoundError, ProcessLookupError):
            continue
        if int(of) == session and state != "Z":
            found.append(int(path.parent.name))
    return found


def wait_until(true: Callable[[], bool], what: str) -> None:
    end = time.monotonic() + PATIENCE_S
    while not true():
        assert time.monotonic() < end, what
        time.sleep(0.05)


def python(code: str, *arguments: object) -> list[str]:
    return [sys.executable, "-c", code, *map(str, arguments)]


SIGNALLED_AT_FORK = """
import os, signal
from hocket.base.interrupts import Terminated, ended_by_signals
from hocket.base.processes import started
os.register_at_fork(after_in_parent=lambda: os.kill(os.getpid(), signal.SIGTERM))
try:
    with ended_by_signals(), started(["sleep", "1000"]) as process:
        process.wait()
except Terminated:
    print("ended")
"""


@pytest.fixture
def starter() -> Iterator[Callable[[list[str]], "subprocess.Popen[str]"]]:
    """Starts a command in a session of its own, all of which is gone after the test."""
    processes: list[subprocess.Popen[str]] = []

    def start(command: list[str]) -> "subprocess.Popen[str]":
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        processes.append(subprocess.Popen(command, text=True, start_new_session=True, **pipes))
        return processes[-1]

    yield start
    for process in processes:
        for pid in group(process.pid):
            os.kill(pid, signal.SIGKILL)
        process.communicate()


CHILD = """
import signal, sys
from hocket.base.interrupts import ended_by_signals
from hocket.base.processes import run
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # nohup has it ignored
with ended_by_signals():
    run([sys.executable, "-c", sys.argv[1]])
"""
SLEEPS = "import os, time; print(os.getpid(), flush=True); time.sleep(600)"


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_process_ends_with_its_parent(starter: Callable[..., "subprocess.Popen[str]"], number: int) -> None:
    parent = starter(python(CHILD, SLEEPS))
    assert parent.stdout
    child = int(parent.stdout.readline())
    assert alive(child)
    parent.send_signal(number)
    parent.wait(PATIENCE_S)
    wait_until(lambda: not alive(child), "the child outlives its parent")


def test_one_that_does_not_end_by_itself_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hocket.base.processes._GRACE_S", 0.2)
    stubborn = "import signal, time; signal.signal(15, signal.SIG_IGN); print('ready', flush=True); time.sleep(600)"
    with pytest.raises(ValueError, match="enough"), started(python(stubborn), stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"ready\n"
        raise ValueError("enough")
    assert process.returncode == -signal.SIGKILL


def test_a_signal_around_the_fork_is_not_lost(starter: Callable[..., "subprocess.Popen[str]"]) -> None:
    """Python drops what a signal's handler raises within the hooks that it runs around a fork."""
    process = starter(python(SIGNALLED_AT_FORK))
    wait_until(lambda: process.poll() is not None, "the signal was lost")
    assert process.communicate()[0] == "ended\n"


def test_a_session_ends_whole() -> None:
    code = "import subprocess, sys, time; print(subprocess.Popen(['sleep', '600']).pid, flush=True); time.sleep(600)"
    with started(python(code), stdout=subprocess.PIPE, start_new_session=True) as process:
        grandchild = int(process.stdout.readline())
        assert alive(grandchild)
    wait_until(lambda: not alive(grandchild), "the rest of the session stays")


def test_a_session_ends_with_its_leader() -> None:
    """What the leader left behind, and what does not end by SIGTERM, too."""
    stubborn = (
        "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(1, flush=True); time.sleep(300)"
    )
    code = (
        "import subprocess, sys\n"
        f"child = subprocess.Popen([sys.executable, '-c', {stubborn!r}], stdout=subprocess.PIPE)\n"
        "child.stdout.readline(); print(child.pid, flush=True)"
    )
    with started(python(code), stdout=subprocess.PIPE, text=True, start_new_session=True) as process:
        child = int(process.stdout.readline())
        process.wait()
    wait_until(lambda: not alive(child), "the rest of the session stays")


def test_a_broken_pool_says_so_and_leaves_others_alone() -> None:
    with worker_pool(1) as well:
        well.submit(os.getpid).result()
        with pytest.raises(HocketError, match="a worker process ended by itself"), worker_pool(1) as broken:
            broken.submit(os._exit, 3).result()
        assert well.submit(os.getpid).result() != os.getpid()


def test_what_a_command_says_and_how_it_ends() -> None:
    done = run(python("import sys; print('out'); print('error', file=sys.stderr); sys.exit(7)"), capture_output=True)
    assert (done.returncode, done.stdout, done.stderr) == (7, b"out\n", b"error\n")
    with pytest.raises(subprocess.CalledProcessError):
        run(["false"], check=True)
    with pytest.raises(subprocess.TimeoutExpired):
        run(["sleep", "600"], timeout_s=0.1)
    with pytest.raises(FileNotFoundError):
        run(["no-such-command-anywhere"])


POOL = """
import sys, time
from pathlib import Path
from hocket.base.interrupts import ended_by_signals
from hocket.base.processes import worker_pool
if __name__ == "__main__":
    with ended_by_signals(), worker_pool(2) as pool:
        tasks = [pool.submit(time.sleep, 600) for _ in range(4)]
        while not all(task.running() for task in tasks[:2]):
            time.sleep(0.05)
        time.sleep(1)
        print("working", flush=True)
        tasks[0].result()
"""


def mapped_semaphores(pid: int) -> list[Path]:
    maps = Path(f"/proc/{pid}/maps").read_text().splitlines()
    return [Path(line.split()[5]) for line in maps if "/dev/shm/sem." in line]


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_a_pool_ends_with_its_parent(
    starter: Callable[..., "subprocess.Popen[str]"], tmp_path: Path, number: int
) -> None:
    script = tmp_path / "pool.py"
    script.write_text(POOL)
    parent = starter([sys.executable, str(script)])
    assert parent.stdout and parent.stdout.readline() == "working\n"
    assert len(group(parent.pid)) >= 4  # two workers and a tracker of what they share
    semaphores = {name for pid in group(parent.pid) for name in mapped_semaphores(pid)}
    assert semaphores
    parent.send_signal(number)
    wait_until(lambda: not group(parent.pid), "workers outlive their parent")
    wait_until(lambda: not any(name.exists() for name in semaphores), "semaphores outlive their processes")


def test_a_pool_works(tmp_path: Path) -> None:
    script = tmp_path / "pool.py"
    script.write_text(
        "from hocket.base.processes import worker_pool\n"
        "if __name__ == '__main__':\n"
        "    with worker_pool(2) as pool:\n"
        "        print(list(pool.map(abs, range(-3, 3))))\n"
    )
    done = run([sys.executable, script], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("[3, 2, 1, 0, 1, 2]\n", "")


HOLDS = """
import sys, time
from pathlib import Path
from hocket.base.interrupts import ended_by_signals
from hocket.base.scratch import scratch_folder
with ended_by_signals(), scratch_folder("test", Path(sys.argv[1])) as folder:
    (folder / "file").write_text("text")
    print(folder, flush=True)
    time.sleep(600)
"""


def test_scratch_folders_of_killed_processes_are_removed(
    starter: Callable[..., "subprocess.Popen[str]"], tmp_path: Path
) -> None:
    (tmp_path / "hocket-mine").mkdir()
    (tmp_path / "hocket-mine" / "results").write_text("kept")
    killed, living, ended = (starter(python(HOLDS, tmp_path)) for _ in range(3))
    folders = {}
    for process in (killed, living, ended):
        assert process.stdout
        folders[process] = Path(process.stdout.readline().strip())
        assert (folders[process] / "file").exists()
    ended.terminate()
    ended.wait(PATIENCE_S)
    killed.kill()
    killed.wait(PATIENCE_S)
    assert not folders[ended].exists() and folders[killed].exists()
    with scratch_folder("other", tmp_path) as folder:
        assert folder.stat().st_mode & 0o777 == 0o700
        assert set(tmp_path.iterdir()) == {folder, folders[living], tmp_path / "hocket-mine"}
    assert set(tmp_path.iterdir()) == {folders[living], tmp_path / "hocket-mine"}
    assert (folders[living] / "file").exists()
