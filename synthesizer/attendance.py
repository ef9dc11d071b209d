"""Attends to a search while it runs: its time limit, Ctrl-C, and those who watch."""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, TimeoutError
from typing import TypeVar

from hocket.synthesizer.search import Stop

__all__ = ["attend"]

Result = TypeVar("Result")

_PERIOD_S = 0.1


def attend(
    work: Callable[[], Result],
    stop: Stop,
    *,
    time_limit_s: float | None = None,
    watch: Callable[[Stop], None] | None = None,
) -> Result:
    """What `work` returns. It runs in another thread, so that this one can ask it to stop: after `time_limit_s`, or on
    Ctrl-C; a second Ctrl-C gives up on it. `watch` is called about ten times a second."""
    deadline = None if time_limit_s is None else time.monotonic() + time_limit_s
    with ThreadPoolExecutor(1, thread_name_prefix="synthesize") as executor:
        future = executor.submit(work)
        while True:
            try:
                left = _PERIOD_S if deadline is None else min(_PERIOD_S, max(0.0, deadline - time.monotonic()))
                return future.result(timeout=None if stop.asked else left)
            except TimeoutError:
                if future.done():  # the work's own error
                    raise
                if deadline is not None and time.monotonic() >= deadline:
                    stop.ask()
                if watch is not None:
                    watch(stop)
            except KeyboardInterrupt:
                if stop.asked:
                    raise
                stop.ask()
