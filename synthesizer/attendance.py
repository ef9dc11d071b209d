"""Attends to a search while it runs: its time limit, Ctrl-C, and those who watch."""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, TimeoutError
from typing import TypeVar

from hocket.synthesizer.search import Progress

__all__ = ["Watch", "attend"]

Result = TypeVar("Result")
Watch = Callable[[Progress], None]

_PERIOD_S = 0.1


def attend(
    work: Callable[[], Result], progress: Progress, *, time_limit_s: float | None = None, watch: Watch | None = None
) -> Result:
    """What `work` returns. It runs in another thread, so that this one can ask it to stop: after `time_limit_s`, or on
    Ctrl-C; a second Ctrl-C no longer waits for what was found. `watch` is called about ten times a second."""
    deadline = None if time_limit_s is None else time.monotonic() + time_limit_s
    with ThreadPoolExecutor(1, thread_name_prefix="synthesize") as executor:
        future = executor.submit(work)
        while True:
            try:
                left = _PERIOD_S if deadline is None else max(0.0, min(_PERIOD_S, deadline - time.monotonic()))
                return future.result(timeout=_PERIOD_S if progress.stop.asked else left)
            except TimeoutError:
                if future.done():  # the work's own error
                    raise
                if deadline is not None and time.monotonic() >= deadline:
                    progress.stop.ask()
                if watch is not None:
                    watch(progress)
            except KeyboardInterrupt:
                if progress.stop.asked:
                    raise
                progress.stop.ask()
