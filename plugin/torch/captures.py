"""What is captured in graphs of devices: calls that are not done, on the stream that is captured or by its thread."""

import threading
from collections import Counter
from dataclasses import dataclass, field
from typing import NamedTuple

__all__ = ["Captured", "Captures"]


class Captured(NamedTuple):
    """The calls of a graph in order: descriptions of their shapes, of each call the place of its shape and its batch or
    -1, and how many collectives of each group they are."""

    shapes: list[str]
    calls: list[tuple[int, int]]
    counts: dict[int, int]


@dataclass
class _Capture:
    thread: int
    stream: int
    shapes: dict[str, int] = field(default_factory=dict)
    calls: list[tuple[int, int]] = field(default_factory=list)
    counts: Counter[int] = field(default_factory=Counter)


class Captures:
    """The captures under way; other threads' calls meanwhile are none of theirs. `native/captures.hpp` is the same for
    the compiled hook."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._captures: dict[int, _Capture] = {}
        self._begun = 0

    def __bool__(self) -> bool:
        return bool(self._captures)

    def begin(self, thread: int, stream: int) -> int:
        """This thread captures on a stream from now on; the capture's number."""
        with self._lock:
            self._begun += 1
            self._captures[self._begun] = _Capture(thread, stream)
            return self._begun

    def end(self, number: int) -> Captured:
        """What came together."""
        with self._lock:
            capture = self._captures.pop(number)
        return Captured(list(capture.shapes), capture.calls, dict(capture.counts))

    def take(self, thread: int, stream: int, shape: str, batch: int, group: int | None) -> bool:
        """A call is issued, a collective of `group` or a message (None): whether it is captured."""
        with self._lock:
            captures = self._captures.values()
            on_stream = [capture for capture in captures if capture.stream == stream]
            by_thread = [capture for capture in captures if capture.thread == thread]
            for capture in (on_stream + by_thread)[:1]:  # autograd's threads work on the streams of the forward pass
                place = capture.shapes.setdefault(shape, len(capture.shapes))
                capture.calls.append((place, batch))
                if group is not None:
                    capture.counts[group] += 1
                return True
        return False
