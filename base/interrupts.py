"""Signals that end a process, as Ctrl-C does: by an exception, so that what was begun is cleared away."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

__all__ = ["Terminated", "ended_by_signals"]

_ENDING = (signal.SIGTERM, signal.SIGHUP)


class Terminated(KeyboardInterrupt):
    """The process was asked to end by a signal that it alone got: the processes it started know nothing of it."""


def _terminate(number: int, frame: FrameType | None) -> None:
    raise Terminated


@contextmanager
def ended_by_signals() -> Iterator[None]:
    """While inside, SIGTERM and SIGHUP do what Ctrl-C does: raise KeyboardInterrupt (`Terminated`), so that what can be
    resumed is kept. One that is ignored (nohup) or handled already stays so."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    ours = [number for number in _ENDING if signal.getsignal(number) == signal.SIG_DFL]
    for number in ours:
        signal.signal(number, _terminate)
    try:
        yield
    finally:
        for number in ours:
            signal.signal(number, signal.SIG_DFL)
