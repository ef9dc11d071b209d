"""Attends to a search while it runs: its time limit, Ctrl-C, and those who watch."""

import math
import time
from collections.abc import Callable
from concurrent.futures import Future, wait
from threading import Thread
from typing import TypeVar

from hocket.base.errors import Stopped
from hocket.synthesizer.search import Progress

__all__ = ["Watch", "supervise"]

Result = TypeVar("Result")
Watch = Callable[[Progress], None]

_PERIOD_S = 0.1
_GRACE_S = 1.0


def supervise(
    work: Callable[[], Result], progress: Progress, *, time_limit_s: float | None = None, watch: Watch | None = None
) -> Result:
    """What `work` returns. It runs in another thread, so that this one can ask it to stop: after `time_limit_s`, or on
    Ctrl-C; a second Ctrl-C no longer waits for what was found. `watch` is called about ten times a second.

    Raises Stopped when `work` does, or has found nothing when it is asked to stop and does not end within a second
    (while it prepares what cannot be interrupted); it is then left to itself."""
    if time_limit_s is not None:
        progress.deadline_s = time.monotonic() + time_limit_s
    future: Future[Result] = Future()
    Thread(target=_fulfil, args=(work, future), name="synthesize", daemon=True).start()
    grace_end_s = math.inf
    while not future.done():
        try:
            wait([future], _PERIOD_S if progress.stop.asked else min(_PERIOD_S, progress.seconds_left))
            if progress.seconds_left <= 0:
                progress.stop.ask()
            if progress.stop.asked:
                grace_end_s = min(grace_end_s, time.monotonic() + _GRACE_S)
                if time.monotonic() > grace_end_s and not (progress.found or future.done()):
                    raise Stopped("the search was stopped before it found a schedule; give it more time")
            if watch is not None:
                watch(progress)
        except KeyboardInterrupt:
            if progress.interrupted:
                raise
            progress.interrupted = True
            progress.stop.ask()
    return future.result()


def _fulfil(work: Callable[[], Result], future: "Future[Result]") -> None:
    try:
        future.set_result(work())
    except BaseException as error:
        future.set_exception(error)
