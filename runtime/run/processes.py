"""One worker process a rank, on this machine: started, heard, and never left behind."""

import json
import os
import shutil
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, NoReturn

from hocket.base.errors import HocketError
from hocket.base.executables import search_path
from hocket.base.extras import install_command
from hocket.base.processes import started
from hocket.base.scratch import hand_over, wait_for_owner

__all__ = ["end_with_launcher", "fail", "run_workers"]

# Notes how a worker ended in FOLDER/<process>.exit (beside the worker's own .rank and .error): mpiexec ends all the
# others as well and then no longer tells who was the first.
_NOTE_END = '"$@"; code=$?; echo $code > "$0/$$.exit"; exit $code'
# Who loses the connection to a rank that dies may be the first to say so: as long the others have to say more.
_SETTLE_S = 0.2


def run_workers(
    module: str, folder: Path, ranks: int, by_mpi: bool, timeout_s: float, remedy: str
) -> Iterator[dict[str, Any]]:
    """Runs `python -m MODULE FOLDER [RANK]` for each rank (by mpiexec without RANK) and yields the JSON objects that
    they print, one a line, as they come.

    Raises HocketError when a worker fails or dies (naming rank and exit code), or when nothing new came for
    `timeout_s`, with `remedy`. All workers are gone when this ends, however it ends.
    """
    commands = _commands(module, folder, ranks, by_mpi)
    read_end, write_end = os.pipe()
    lines = _lines(read_end)
    options: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": write_end, "stderr": write_end}
    options["env"] = {**os.environ, "OMP_NUM_THREADS": "1"}
    # A session of its own: Ctrl-C reaches the launcher only, which then ends them all. mpiexec takes its time for that.
    options |= {"start_new_session": True, "grace_s": None if by_mpi else 0.0}
    with ExitStack() as running:
        try:
            workers = [running.enter_context(started(command, **options)) for command in commands]
        finally:
            os.close(write_end)
        yield from _objects(workers, lines, folder, timeout_s, remedy)


def end_with_launcher(folder: Path) -> None:
    """In a worker, before anything else: when the launcher is gone, whose `folder` is, so are we. An mpiexec that loses
    its launcher while it starts may wait for ranks that wait for it."""

    def wait() -> None:
        wait_for_owner(folder)
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()


def fail(error: BaseException, folder: Path) -> NoReturn:
    """In a worker: leaves the error for the launcher and ends the process, whatever its threads wait for."""
    text = str(error) if isinstance(error, HocketError) else "".join(traceback.format_exception(error))
    with suppress(HocketError):  # the launcher may be gone, and its folder
        hand_over((folder / str(os.getppid())).with_suffix(".error"), text)
    os._exit(1)


def _commands(module: str, folder: Path, ranks: int, by_mpi: bool) -> list[list[str]]:
    worker = ["sh", "-c", _NOTE_END, str(folder), sys.executable, "-m", module, str(folder)]
    if not by_mpi:
        return [[*worker, str(rank)] for rank in range(ranks)]
    mpiexec = shutil.which("mpiexec", path=search_path())
    if mpiexec is None:
        raise HocketError(f"backend mpi needs mpiexec beside python or on PATH: {install_command('mpi')}")
    return [[mpiexec, "-n", str(ranks), *worker]]


def _lines(read_end: int) -> SimpleQueue[str | None]:
    """Lines of all workers, then None when the last one has ended."""
    lines: SimpleQueue[str | None] = SimpleQueue()

    def read() -> None:
        with open(read_end, encoding="utf-8", errors="replace") as file:
            for line in file:
                lines.put(line)
        lines.put(None)

    threading.Thread(target=read, daemon=True).start()
    return lines


def _objects(
    processes: list[subprocess.Popen[bytes]],
    lines: SimpleQueue[str | None],
    folder: Path,
    timeout_s: float,
    remedy: str,
) -> Iterator[dict[str, Any]]:
    log: list[str] = []
    deadline = time.monotonic() + timeout_s
    while True:
        try:
            line = lines.get(timeout=0.1)
        except Empty:
            line = ""
        if line is None:
            break
        if line.startswith("{"):
            yield json.loads(line)
            deadline = time.monotonic() + timeout_s
        elif line:
            log.append(line)
        elif any(process.poll() for process in processes) or _failures(folder):  # mpiexec does not notice every death
            raise _death(processes, folder, log)
        if time.monotonic() > deadline:
            raise HocketError(f"no new result for {timeout_s:g} s: {remedy}")
    if any(process.wait() for process in processes):
        raise _death(processes, folder, log)


def _failures(folder: Path) -> list[tuple[Path, int]]:
    """The notes of workers that failed and their exit codes, the first to end first."""
    notes = [(path.stat().st_mtime_ns, path, path.read_text()) for path in folder.glob("*.exit")]
    # A note is empty for an instant, before it is written.
    return [(path, int(code)) for _, path, code in sorted(notes) if code and int(code)]


def _death(processes: list[subprocess.Popen[bytes]], folder: Path, log: list[str]) -> HocketError:
    """The error that names the worker that ended first, and why; the others may have failed because of it."""
    time.sleep(_SETTLE_S)
    failures = _failures(folder)
    if len(processes) > 1:  # each our own: nobody else has killed one because of another
        failures.sort(key=lambda note: note[1] <= 128)
    if not failures:
        codes = [process.returncode for process in processes]
        return HocketError(f"the workers did not start (exit codes {codes}): {''.join(log[-20:]).strip()}")
    path, code = failures[0]
    rank, report = path.with_suffix(".rank"), path.with_suffix(".error")
    name = f"rank {rank.read_text()}" if rank.exists() else "a rank that had not joined the others yet"
    if report.exists():
        return HocketError(f"{name} failed: {report.read_text(encoding='utf-8').strip()}")
    # 128 + signal is a shell's exit status of a command that a signal ended.
    reason = f"was killed by signal {code - 128} (out of memory?)" if code > 128 else f"ended with exit code {code}"
    return HocketError(f"{name} {reason}")
