"""Other processes: they end with the block that started them, and with this process, however it ends."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager, suppress
from ctypes import CDLL
from multiprocessing import active_children, get_context, parent_process
from typing import Any

from hocket.base.interrupts import Terminated

__all__ = ["run", "started", "worker_pool"]

_PR_SET_PDEATHSIG = 1
_OWN_TIME_S = 2.0  # for a process of the same terminal, which Ctrl-C has reached too
_GRACE_S = 10.0  # from SIGTERM to SIGKILL: launchers end the processes that they started


@contextmanager
def started(
    command: Sequence[str | os.PathLike[str]], *, tied: bool = True, **options: Any
) -> Iterator[subprocess.Popen[Any]]:
    """The command as a process, started with `options` of `subprocess.Popen`; one that still runs when the block ends
    gets SIGTERM, then, if that is not enough, SIGKILL: with all of its session where `start_new_session` gave it one.
    When this process is killed, or the thread that called this ends, the system sends it SIGTERM, unless it is not
    `tied`: tying runs Python between fork and exec, which a process full of others' threads should not.

    Raises OSError where there is no such command.
    """
    with subprocess.Popen(command, preexec_fn=_tie() if tied else None, **options) as process:
        try:
            yield process
        except KeyboardInterrupt as interrupt:
            if not isinstance(interrupt, Terminated) and not options.get("start_new_session"):
                _wait(process, _OWN_TIME_S)
            raise
        finally:
            _end(process, process.send_signal if not options.get("start_new_session") else _to_session(process))


def run(
    command: Sequence[str | os.PathLike[str]], *, timeout_s: float | None = None, check: bool = False, **options: Any
) -> "subprocess.CompletedProcess[Any]":
    """Runs the command to its end, as `subprocess.run` does, `started`."""
    if options.pop("capture_output", False):
        options |= {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with started(command, **options) as process:
        out, error = process.communicate(timeout=timeout_s)
    done = subprocess.CompletedProcess(process.args, process.returncode, out, error)
    if check:
        done.check_returncode()
    return done


@contextmanager
def worker_pool(jobs: int | None = None) -> Iterator[ProcessPoolExecutor]:
    """So many Python processes (None: one a processor core) that work on tasks. They are gone when the block ends, in
    the middle of their tasks where an exception ends it, and when this process is killed."""
    before = set(active_children())
    pool = ProcessPoolExecutor(jobs, mp_context=get_context("spawn"), initializer=_begin_work)
    try:
        yield pool
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        for worker in set(active_children()) - before:
            worker.terminate()
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


def _tie() -> Callable[[], None] | None:
    """What a new process does before it becomes its program: ask for SIGTERM when the process that started it, or the
    thread of it, is no more."""
    if sys.platform != "linux":
        return None
    prctl, parent = CDLL(None).prctl, os.getpid()

    def tie() -> None:
        prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
        if os.getppid() != parent:  # killed meanwhile
            os._exit(1)

    return tie


def _to_session(process: "subprocess.Popen[Any]") -> Callable[[int], None]:
    def send(number: int) -> None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, number)

    return send


def _end(process: "subprocess.Popen[Any]", send: Callable[[int], None]) -> None:
    if process.poll() is None:
        send(signal.SIGTERM)
        if not _wait(process, _GRACE_S):
            send(signal.SIGKILL)


def _wait(process: "subprocess.Popen[Any]", seconds: float) -> bool:
    with suppress(subprocess.TimeoutExpired):
        process.wait(seconds)
    return process.returncode is not None
