"""Starts one worker a rank, hands on what they measure, and never leaves one behind."""

import json
import os
import pickle
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from queue import Empty, SimpleQueue

from hocket.core.errors import HocketError
from hocket.plugin.executor.job import Job, Result, Row

__all__ = ["BACKENDS", "check_backend", "launch"]

# backend: (module it needs, extra of hocket that brings it)
BACKENDS = {"gloo": ("torch", "torch"), "mpi": ("mpi4py", "mpi")}

# Notes how a worker ended in FOLDER/<process>.exit (beside the worker's own .rank and .error): mpiexec ends all the
# others as well and then no longer tells who was the first.
_NOTE_END = '"$@"; code=$?; echo $code > "$0/$$.exit"; exit $code'


def check_backend(backend: str) -> None:
    """Raises HocketError when the backend is unknown or not installed."""
    if backend not in BACKENDS:
        raise HocketError(f"unknown backend '{backend}'; known: {', '.join(BACKENDS)}")
    module, extra = BACKENDS[backend]
    if find_spec(module) is None:
        raise HocketError(f"backend {backend} needs {module}: pip install 'hocket[{extra}]'")


def launch(job: Job, timeout_s: float) -> Iterator[Row]:
    """Runs the job on local processes and yields each row as it comes.

    Raises HocketError when a worker fails or dies (naming rank and exit code), or when nothing new was measured for
    `timeout_s`. All workers are gone when this ends, however it ends.
    """
    with tempfile.TemporaryDirectory(prefix="hocket-run-") as name:
        folder = Path(name)
        (folder / "job.pickle").write_bytes(pickle.dumps(job))
        read_end, write_end = os.pipe()
        processes: list[subprocess.Popen[bytes]] = []
        try:
            for command in _commands(job, folder):
                processes.append(_start(command, write_end))
            os.close(write_end)
            yield from _rows(processes, _lines(read_end), folder, timeout_s)
        finally:
            for process in processes:
                if process.poll() is None:
                    os.killpg(process.pid, signal.SIGTERM if job.backend == "mpi" else signal.SIGKILL)
                process.wait()


def _commands(job: Job, folder: Path) -> list[list[str]]:
    worker = ["sh", "-c", _NOTE_END, str(folder), sys.executable, "-m", "hocket.plugin.executor.worker", str(folder)]
    ranks = job.program.num_ranks
    if job.backend == "gloo":
        return [[*worker, str(rank)] for rank in range(ranks)]
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    mpiexec = shutil.which("mpiexec", path=path)
    if mpiexec is None:
        raise HocketError("backend mpi needs mpiexec beside python or on PATH: pip install 'hocket[mpi]'")
    return [[mpiexec, "-n", str(ranks), *worker]]


def _start(command: list[str], output: int) -> subprocess.Popen[bytes]:
    # A session of its own: Ctrl-C reaches the launcher only, which then ends them all.
    return subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=output,
        stderr=output,
        start_new_session=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )


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


def _rows(
    processes: list[subprocess.Popen[bytes]], lines: SimpleQueue[str | None], folder: Path, timeout_s: float
) -> Iterator[Row]:
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
            yield _row(json.loads(line))
            deadline = time.monotonic() + timeout_s
        elif line:
            log.append(line)
        elif any(process.poll() for process in processes) or _failures(folder):  # mpiexec does not notice every death
            raise _death(processes, folder, log)
        if time.monotonic() > deadline:
            raise HocketError(
                f"no new result for {timeout_s:g} s: the ranks wait for each other (run `hocket verify` on the file), "
                "or this machine is too slow for the size (raise --timeout)"
            )
    if any(process.wait() for process in processes):
        raise _death(processes, folder, log)


def _row(fields: dict[str, dict[str, int] | int | None]) -> Row:
    return Row(**{name: Result(**value) if isinstance(value, dict) else value for name, value in fields.items()})  # type: ignore[arg-type]


def _failures(folder: Path) -> list[tuple[Path, int]]:
    """The notes of workers that failed and their exit codes, the first to end first."""
    notes = [(path.stat().st_mtime_ns, path, path.read_text()) for path in folder.glob("*.exit")]
    # A note is empty for an instant, before it is written.
    return [(path, int(code)) for _, path, code in sorted(notes) if code and int(code)]


def _death(processes: list[subprocess.Popen[bytes]], folder: Path, log: list[str]) -> HocketError:
    """The error that names the worker that ended first, and why; the others may have failed because of it."""
    failures = _failures(folder)
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
