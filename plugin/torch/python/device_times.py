"""When streams of devices came to calls, by events of PyTorch: what `native/device_times.hpp` does, in Python."""

import threading
import time
from collections import defaultdict
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import torch

from hocket.recording.stream import Stream

__all__ = ["DeviceTimes", "has_streams"]

_PERIOD_S = 0.001
_LIMIT = 1 << 14  # so many are waited for at once: what more comes is not told
_ANCHOR_NS = 1_000_000_000
_PATIENCE_NS = 2_000_000
_AGAIN_NS = 20_000_000
_LAST_PATIENCE_NS = 200_000_000
_TRIES = 5

_clock = time.perf_counter_ns


class _Anchor(NamedTuple):
    """An event and the host's time at it."""

    event: Any
    host_ns: int


class _Pending(NamedTuple):
    letter: str
    ids: Sequence[int]
    device: torch.device
    first: Any
    second: Any


# PyTorch 2.5 and later asks all devices for times alike; of 2.4 none is asked.
_CAN_TELL = torch.__version__ >= (2, 5)


def has_streams(device: torch.device) -> bool:
    """Whether the device is one that runs behind its host."""
    return device.type not in ("cpu", "meta")


class DeviceTimes:
    """Records events on streams of the job, asks for them in a thread, and writes what they tell."""

    def __init__(self) -> None:
        self._stream: Stream | None = None
        self._pending: list[_Pending] = []
        self._idle: dict[torch.device, list[Any]] = defaultdict(list)
        self._anchors: dict[torch.device, tuple[int, _Anchor | None]] = {}
        self._looking, self._wake = threading.Lock(), threading.Event()
        self._capturing, self._closed = False, True
        self._streams: dict[tuple[int, torch.device], Any] = {}

    def open(self, stream: Stream) -> None:
        """Where to write, and begins; again where it was closed."""
        self._stream = stream
        if self._closed:
            self._closed = False
            threading.Thread(target=self._watch, name="hocket-device-times", daemon=True).start()

    def close(self) -> None:
        """Tells what is complete, and drops the rest: the next stream knows nothing of it."""
        begin = _clock()
        while not self._closed and self._pending and _clock() - begin < _LAST_PATIENCE_NS:
            self._look()
            time.sleep(_PERIOD_S)
        with self._looking:
            self._closed = True
            self._pending.clear()
        self._wake.set()

    def capture(self, capturing: bool) -> None:
        """While a graph is captured nothing may be asked."""
        with self._looking:  # who looks ends before
            self._capturing = capturing

    def mark(self, device: torch.device) -> Any:
        """An event where the current stream is; None where none is to be told."""
        if not _CAN_TELL or self._capturing or self._closed or len(self._pending) >= _LIMIT:
            return None
        try:
            idle = self._idle[device]
            event = idle.pop() if idle else torch.Event(device, enable_timing=True)
            event.record()
        except Exception:  # a device without events that tell times
            return None
        return event

    def side_stream(self, group: int, device: torch.device) -> Any:
        """A stream of our own for a group: what it waits for it waits for in order."""
        stream = self._streams.get((group, device))
        if stream is None:
            stream = self._streams[group, device] = torch.Stream(device)
        return stream

    def tell(self, letter: str, ids: Sequence[int], device: torch.device, first: Any, second: Any = None) -> None:
        """A line of `letter` is to tell when a stream came to `first` and, unless it is None, to `second`."""
        if first is not None and not self._closed:
            self._pending.append(_Pending(letter, ids, device, first, second))
            self._wake.set()

    def _watch(self) -> None:
        while not self._closed:
            self._wake.wait()
            self._wake.clear()
            time.sleep(_PERIOD_S)
            self._look()
            if self._pending:
                self._wake.set()

    def _look(self) -> None:
        with self._looking:
            if self._capturing:
                return
            for _ in range(len(self._pending)):
                pending = self._pending.pop(0)
                done = True
                with suppress(Exception):  # what cannot be asked is dropped: no reason for the job to fail
                    anchor = self._anchor(pending.device)
                    done = anchor is not None and (pending.second or pending.first).query()
                    if done and anchor is not None:
                        self._write(pending, anchor)
                if done:
                    self._idle[pending.device] += [event for event in pending[3:] if event is not None]
                else:
                    self._pending.append(pending)

    def _write(self, pending: _Pending, anchor: _Anchor) -> None:
        assert self._stream is not None  # opened
        times = [
            anchor.host_ns + int(anchor.event.elapsed_time(event) * 1e6) for event in pending[3:] if event is not None
        ]
        for number in pending.ids:
            self._stream.write(f"{pending.letter} {number} {' '.join(map(str, times))}\n")

    def _anchor(self, device: torch.device) -> _Anchor | None:
        """The device's last one, or a new one where that is old; None while there is none."""
        made, anchor = self._anchors.get(device, (-_ANCHOR_NS, None))
        if _clock() - made < _ANCHOR_NS:
            return anchor
        stream, narrowest = self.side_stream(-1, device), _PATIENCE_NS
        for _ in range(_TRIES):
            event = torch.Event(device, enable_timing=True)
            begin = before = _clock()
            event.record(stream)
            after = _clock()
            while not event.query() and after - begin < _PATIENCE_NS:
                before, after = after, _clock()
            after = _clock()
            if event.query() and after - before < narrowest:
                narrowest = after - before
                anchor = _Anchor(event, before + narrowest // 2)
        # On a busy host the thread that asks may lose its core: it asks again soon.
        self._anchors[device] = _clock() - (0 if anchor is not None else _ANCHOR_NS - _AGAIN_NS), anchor
        return anchor
