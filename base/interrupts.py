"""Signals that end a process, as Ctrl-C does: by an exception, so that what was begun is cleared away."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

__all__ = ["Terminated", "ended_by_signals", "ignore_unhandled", "signal_ignored", "signals_held_back"]

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


@contextmanager
def signal_ignored(name: str) -> Iterator[None]:
    """While inside, the signal of this name, SIGUSR1, does nothing where nobody handles it, also in programs that are
    started until they say otherwise: ignoring is inherited, handlers are not. Nothing changes for the name ""."""
    ignored = ignore_unhandled(name)
    try:
        yield
    finally:
        if ignored:
            signal.signal(signal.Signals[name], signal.SIG_DFL)


def ignore_unhandled(name: str) -> bool:
    """Has the signal of this name do nothing if nobody handles it; whether that is new. Only a process's first thread
    may: nothing changes in another, nor for the name ""."""
    if not name or threading.current_thread() is not threading.main_thread():
        return False
    if signal.getsignal(signal.Signals[name]) != signal.SIG_DFL:
        return False
    signal.signal(signal.Signals[name], signal.SIG_IGN)
    return True


@contextmanager
def signals_held_back() -> Iterator[None]:
    """What Ctrl-C, SIGTERM and SIGHUP would do while inside, they do when the block ends. For blocks in which an
    exception would be lost, with what it was to say: Python drops those of the hooks that it runs around a fork."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    held: list[tuple[int, FrameType | None]] = []
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, *_ENDING)}
    ours = {number: handler for number, handler in handlers.items() if callable(handler)}
    for number in ours:
        signal.signal(number, lambda *signalled: held.append(signalled))
    try:
        yield
    finally:
        for number, handler in ours.items():
            signal.signal(number, handler)
        for signalled in held:
            ours[signal.Signals(signalled[0])](*signalled)
