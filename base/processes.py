"""Other processes: they end with the block that started them, and with this process, however it ends."""

import os
import resource
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack, contextmanager, suppress
from ctypes import CDLL
from multiprocessing import get_context, parent_process
from pathlib import Path
from typing import Any

from hocket.base.errors import HocketError
from hocket.base.interrupts import Terminated, signals_held_back

__all__ = ["leave", "run", "stand_back", "started", "worker_pool"]

_PR_SET_PDEATHSIG = 1
_GRACE_S = 10.0  # from SIGTERM to SIGKILL


@contextmanager
def started(
    command: Sequence[str | os.PathLike[str]],
    *,
    tied: bool = True,
    grace_s: float | None = None,
    memory_bytes: int | None = None,
    **options: Any,
) -> Iterator[subprocess.Popen[Any]]:
    """The command as a process, started with `options` of `subprocess.Popen`; one that still runs when the block ends
    gets SIGTERM, then, if that is not enough for `grace_s`, SIGKILL: with all of its session where `start_new_session`
    gave it one. Ctrl-C has reached one of the same session already: it gets as long to end by itself.
    When this process is killed, or the thread that called this ends, the system sends it SIGTERM, unless it is not
    `tied`: tying runs Python between fork and exec, which a process full of others' threads should not. `memory_bytes`:
    the most that it may ask for.

    Raises OSError where there is no such command.
    """
    grace_s = _GRACE_S if grace_s is None else grace_s
    own_session = bool(options.get("start_new_session"))
    with ExitStack() as running:
        with signals_held_back():
            process = subprocess.Popen(command, preexec_fn=_tie(memory_bytes) if tied else None, **options)
            running.enter_context(process)
            running.push(lambda _, error, __: _end(process, error, grace_s, own_session))
        yield process


def run(
    command: Sequence[str | os.PathLike[str]],
    *,
    input: str | bytes | None = None,
    timeout_s: float | None = None,
    check: bool = False,
    **options: Any,
) -> subprocess.CompletedProcess[Any]:
    """Runs the command to its end, as `subprocess.run` does, `started`. Raises what that does."""
    if input is not None:
        options["stdin"] = subprocess.PIPE
    if options.pop("capture_output", False):
        options |= {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with started(command, **options) as process:
        out, error = process.communicate(input, timeout_s)
    done: subprocess.CompletedProcess[Any] = subprocess.CompletedProcess(process.args, process.returncode, out, error)
    if check:
        done.check_returncode()
    return done


def leave(command: Sequence[str | os.PathLike[str]], env: Mapping[str, str]) -> None:
    """Starts a process that nobody waits for: it has a session of its own, goes on when this one ends, says nothing,
    and is no child of this process, whose own waiting for children it would meet. Raises OSError without a shell."""
    silent = subprocess.DEVNULL
    line = ["/bin/sh", "-c", '"$@" &', "sh", *command]
    subprocess.run(line, env=env, stdin=silent, stdout=silent, stderr=silent, start_new_session=True, check=False)


def stand_back() -> None:
    """From now on this process, with all that it starts, gets what time others leave, and goes first should memory run
    out."""
    os.nice(19)
    with suppress(OSError):  # there is such a thing on Linux only
        Path("/proc/self/oom_score_adj").write_text("1000")


@contextmanager
def worker_pool(jobs: int | None = None) -> Iterator[ProcessPoolExecutor]:
    """So many Python processes (None: one a processor core) that work on tasks. They are gone when the block ends, in
    the middle of their tasks where an exception ends it, and when this process is killed. Raises HocketError where one
    of them ends by itself."""
    pool = ProcessPoolExecutor(jobs, mp_context=get_context("spawn"), initializer=_begin_work)
    try:
        yield pool
    except BaseException as error:
        # What was cancelled cannot be told that its worker is gone, for which Python before 3.12 has a traceback.
        for item in list(getattr(pool, "_pending_work_items", {}).values()):
            item.future = Future()
        for worker in list((getattr(pool, "_processes", None) or {}).values()):
            worker.terminate()
        if isinstance(error, BrokenProcessPool):
            raise HocketError(
                "a worker process ended by itself: out of memory or killed; or it could not import the program that"
                ' started it, whose work must stand behind `if __name__ == "__main__":`'
            ) from error
        raise
    finally:
        pool.shutdown()


def _begin_work() -> None:
    # Ctrl-C reaches every process of the terminal: the one that waits for the others answers it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def end_with_parent() -> None:
        parent = parent_process()
        assert parent is not None, "in a worker"
        parent.join()
        os._exit(1)

    threading.Thread(target=end_with_parent, daemon=True).start()


def _tie(memory_bytes: int | None) -> Callable[[], None]:
    """What a new process does before it becomes its program: ask for SIGTERM when the process that started it, or the
    thread of it, is no more."""
    parent = os.getpid()
    prctl = CDLL(None).prctl if sys.platform == "linux" else None

    def tie() -> None:
        if memory_bytes is not None:
            resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))
        if prctl is not None:
            prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
            if os.getppid() != parent:  # killed meanwhile
                os._exit(1)

    return tie


def _end(process: "subprocess.Popen[Any]", error: BaseException | None, grace_s: float, own_session: bool) -> None:
    if isinstance(error, KeyboardInterrupt) and not isinstance(error, Terminated) and not own_session:
        _wait(process, grace_s)
    if process.poll() is None:
        send = _to_session(process) if own_session else process.send_signal
        send(signal.SIGTERM)
        if not _wait(process, grace_s):
            send(signal.SIGKILL)
    if own_session:  # what its leader left behind
        _to_session(process)(signal.SIGKILL)


def _to_session(process: "subprocess.Popen[Any]") -> Callable[[int], None]:
    def send(number: int) -> None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, number)

    return send


def _wait(process: "subprocess.Popen[Any]", seconds: float) -> bool:
    with suppress(subprocess.TimeoutExpired):
        process.wait(seconds)
    return process.returncode is not None
