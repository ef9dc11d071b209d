"""Processes that leave nothing behind, however they end."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

__all__ = ["ended_by_signals"]

_ENDING = (signal.SIGTERM, signal.SIGHUP)


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


@contextmanager
def ended_by_signals() -> Iterator[None]:
    """While inside, SIGTERM and SIGHUP do what Ctrl-C does: raise KeyboardInterrupt, so that what was begun is cleared
    away and what can be resumed is kept. One that is ignored (nohup) or handled already stays so."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    ours = [number for number in _ENDING if signal.getsignal(number) == signal.SIG_DFL]
    for number in ours:
        signal.signal(number, _interrupt)
    try:
        yield
    finally:
        for number in ours:
            signal.signal(number, signal.SIG_DFL)
