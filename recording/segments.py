"""Streams in segments: files of which each can be read alone, and of which the oldest go where a cap in bytes says so.

`stream/rank3.000007.stream` begins like every segment with all that others refer to: the stream's meta, a line of kind
segment, the groups, the clocks and the captured graphs so far. Shapes are described anew at their first use in a
segment. Segments begin before an operation's issue or at a step's begin; what ends later than its segment ends in the
next.
"""

import re
import sys
import time
from collections import deque
from contextlib import suppress
from pathlib import Path

from hocket.recording.stream import MappedStream, record

__all__ = ["SegmentedStream", "place_among_segments", "segment_number", "segment_path", "segment_paths", "stream_of"]

_SEGMENT = re.compile(r"(rank\d+)\.(\d{6,})")
_SHARE = 8  # of the cap is one segment: so much at most is gone with the oldest
_RESERVE = 1 << 20
_BLOCK = 4096  # of a file system: what a file takes at least


def segment_path(stream: Path, number: int) -> Path:
    """Where a segment of `stream/rank3.stream` lies."""
    return stream.with_name(f"{stream.stem}.{number:06}{stream.suffix}")


def segment_number(path: Path) -> int | None:
    """The number of a segment, None for a stream that is one file."""
    found = _SEGMENT.fullmatch(path.stem)
    return None if found is None else int(found[2])


def segment_paths(stream: Path) -> list[Path]:
    """The files of the stream `stream/rank3.stream`, in order: that file itself, or its segments."""
    whole = [stream] if stream.exists() else []
    segments = [path for path in stream.parent.glob(f"{stream.stem}.*{stream.suffix}") if _SEGMENT.fullmatch(path.stem)]
    return whole + sorted(segments, key=place_among_segments)


def place_among_segments(path: Path) -> int:
    """Sorts the files of a stream: the one that is no segment first."""
    number = segment_number(path)
    return -1 if number is None else number


def stream_of(path: Path) -> Path:
    """`stream/rank3.stream`, of which `path` is a segment or all."""
    found = _SEGMENT.fullmatch(path.stem)
    return path if found is None else path.with_name(found[1] + path.suffix)


class SegmentedStream(MappedStream):
    """The segments of the stream `path`, in `max_bytes` of disk where that is not 0: the space that is reserved ahead
    counts. Raises OSError when the first cannot be opened. `native/segments.hpp` is the same for the compiled hook."""

    def __init__(self, path: Path, max_bytes: int = 0) -> None:
        self._stream = path
        self._max_bytes = max_bytes
        self._segment_bytes = max_bytes // _SHARE or sys.maxsize
        self._RESERVE = min(_RESERVE, self._segment_bytes // 2)
        self._number = 1 + max((segment_number(old) or 0 for old in segment_paths(path)), default=-1)
        self._part = ""
        self._step: int | None = None
        self._head: list[str] = []
        self._full = self._segment_bytes
        self._finished: deque[tuple[Path, int]] = deque()
        super().__init__(segment_path(path, self._number))

    def keep(self, line: str) -> None:
        with self._lock:
            self._head.append(line)
            # At most half of a segment says once more what others said: else a large head would fill each at once.
            self._full = max(self._segment_bytes, 2 * sum(map(len, self._head)))
            self.write(line)
            if len(self._head) == 1:
                self.write(self._segment_line())

    def forget(self, line: str) -> None:
        with self._lock, suppress(ValueError):
            self._head.remove(line)

    def end_step(self, number: int, t: int) -> None:
        with self._lock:
            self.make_room()
            self._step = number + 1
            super().end_step(number, t)

    def begin_part(self, part: str, step: int) -> None:
        with self._lock:
            self._part, self._step = part, step
            self._next()

    def make_room(self) -> None:
        if self._map_used() >= self._full:
            self._next()

    def _segment_line(self) -> str:
        values = {"n": self._number, "part": self._part, "step": self._step, "t": time.perf_counter_ns()}
        return record("segment", **values, cap=self._max_bytes)

    def _needed(self) -> int:
        """Bytes of the finished segments, of one more and of what is reserved behind it."""
        return sum(size for _, size in self._finished) + 2 * self._full

    def _next(self) -> None:
        if self._dropping:
            return
        self._finished.append((self._path, -(-self._map_used() // _BLOCK) * _BLOCK))
        while self._max_bytes and len(self._finished) > 1 and self._needed() > self._max_bytes:
            self._finished.popleft()[0].unlink(missing_ok=True)
        self._number += 1
        if not self.move_to(segment_path(self._stream, self._number)):
            return
        self.generation += 1
        self.write(self._head[0])
        self.write(self._segment_line())
        for line in self._head[1:]:
            self.write(line)
