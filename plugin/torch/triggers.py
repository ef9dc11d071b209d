"""Windows that are asked for while the job runs: by a file, a signal, or a step that takes long.

Whoever asks leaves a file, `trigger/request-*.json`, in the collection's folder. Rank 0 finds the oldest at the end of
a step, where no window is under way, chooses the step in which all ranks are to begin, some time ahead, and publishes
it as `trigger/1.json`, which they look for. A rank that sees it late, on a slow file system, begins late and says so in
its stream.
"""

import signal
import statistics
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import Any

from hocket.base.errors import HocketError
from hocket.base.interrupts import ignore_unhandled
from hocket.base.notices import notice
from hocket.recording.folder import stream_path
from hocket.recording.pinning import pin
from hocket.recording.settings import Settings
from hocket.recording.stream import Stream, record
from hocket.recording.triggers import TriggeredWindow, TriggerRequest, ask, publish, published, take_request

__all__ = ["Triggers"]

_LOOK_NS = 50_000_000  # between two looks into the folder
_STEPS_KEPT = 101  # of which the median is taken
_STEPS_BEFORE = 20  # a median of fewer says nothing
_AUTOMATIC = 8  # windows that slow steps may trigger: a disk must not fill


class Triggers:
    """Says which steps belong to a triggered window; asked at the end of each step."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._rank = 0
        self._number = 1  # of the next window
        self._window: TriggeredWindow | None = None
        self._begun = False  # the window
        self._to_pin: str | None = None
        self._looked = 0
        self._signalled = False
        self._automatic = 0
        self._ended = 0  # step with which the last window ended: who asks because of an earlier one has been answered
        self._times: deque[int] = deque(maxlen=_STEPS_KEPT)
        self._last: int | None = None
        self._median = 0.0
        self._stream: Stream | None = None
        self._is_watching = not settings.signal
        # Handlers end where a process starts another program, ignoring does not: torchrun imports PyTorch as well, and
        # the ranks that it starts live through a signal until they handle it.
        ignore_unhandled(settings.signal)

    def open(self, stream: Stream, job: Path, rank: int) -> None:
        """The rank's stream, and the job's folder."""
        self._stream, self._folder, self._rank = stream, job, rank
        self._stream_path = stream_path(job, rank)
        self._watch_signal()

    def part(self, step: int) -> str:
        """The triggered window that a step lies in, "" for none."""
        window = self._window
        inside = window is not None and window.start <= step < window.end
        self._begun = self._begun or inside
        return window.name if window is not None and inside else ""

    def end_window(self, name: str) -> None:
        """A window is over. Where a cap would drop it, it is kept: after one more step, with what ended meanwhile."""
        if self._window is not None and name == self._window.name:
            self._to_pin = name
            self._window, self._begun = None, False

    def close(self) -> None:
        """Keeps the window that the job's end cuts off, or that has just ended."""
        if self._to_pin is None and self._window is not None and self._begun:
            self._to_pin = self._window.name
        self._keep()

    def end_step(self, step: int, now: int) -> None:
        """`step` begins, at `now` in ns: looks for what is asked for."""
        self._keep()
        self._watch_signal()  # where the first collective was another thread's
        duration = None if self._last is None else now - self._last
        self._last = now
        reason = self._slow(step, duration)
        if self._signalled:
            self._signalled = False
            reason = f"{self._settings.signal} to rank {self._rank}"
        if self._window is not None:
            return
        if reason:
            self._ask(TriggerRequest(reason, self._settings.trigger_steps, step=step), step)
        elif now - self._looked >= _LOOK_NS:
            self._looked = now
            self._look(step)

    def _keep(self) -> None:
        name, self._to_pin = self._to_pin, None
        if name is None or not self._settings.max_bytes:
            return
        try:
            pin(self._folder, self._stream_path, name)
        except OSError as error:
            notice(f"hocket: {self._stream_path}: window {name} cannot be kept: {error.strerror}")

    def _slow(self, step: int, duration: int | None) -> str:
        """Why a window is to be triggered, "" where the last step took its time."""
        factor = self._settings.slow_step
        if duration is None:
            return ""
        median, known = self._median, len(self._times)
        self._times.append(duration)
        if known < _STEPS_BEFORE or step % 16 == 0:
            self._median = statistics.median(self._times)
        if factor is None or known < _STEPS_BEFORE or duration <= factor * median or self._window is not None:
            return ""
        if self._automatic >= _AUTOMATIC:
            return ""
        self._automatic += 1
        if self._automatic == _AUTOMATIC:
            notice(f"hocket: rank {self._rank}: {_AUTOMATIC} slow steps triggered windows; no more will")
        took, usual = duration / 1e9, median / 1e9
        return f"step {step - 1} of rank {self._rank} took {took:.3g} s, the median of the last being {usual:.3g} s"

    def _ask(self, request: TriggerRequest, step: int) -> None:
        try:
            if self._rank:
                ask(self._folder, request)
            else:
                self._publish(request, step)
        except HocketError as error:
            notice(f"hocket: a window cannot be triggered: {error}")

    def _look(self, step: int) -> None:
        if self._rank == 0:
            while (request := take_request(self._folder)) is not None:
                if request.step is None or request.step >= self._ended:
                    return self._ask(request, step)
            return
        window = published(self._folder, self._number)
        if window is not None:
            self._begin(window, step)

    def _publish(self, request: TriggerRequest, step: int) -> None:
        usual = self._median or 1e9
        ahead = max(2, round(request.margin_s * 1e9 / usual))
        start = step + ahead
        window = TriggeredWindow(self._number, start, start + request.steps, request.reason)
        publish(self._folder, window)
        self._begin(window, step)

    def _begin(self, window: TriggeredWindow, step: int) -> None:
        self._number += 1
        self._ended = window.end
        late = step - window.start
        if late >= window.end - window.start:
            self._say(f"{window.name} was seen {late} steps late: nothing of it is recorded")
            return
        if late > 0:
            self._say(f"{window.name} was seen {late} steps late, its first steps are not recorded")
        self._window = window

    def _say(self, message: str) -> None:
        assert self._stream is not None  # a window is looked for once there is a stream
        self._stream.write(record("error", op="trigger", message=message))

    def _watch_signal(self) -> None:
        if self._is_watching:
            return
        number = signal.Signals[self._settings.signal]
        former: Any = signal.getsignal(number)

        def handle(received: int, frame: FrameType | None) -> None:
            self._signalled = True
            if callable(former):
                handler: Callable[[int, FrameType | None], Any] = former
                handler(received, frame)

        with suppress(ValueError):  # only a process's first thread may
            signal.signal(number, handle)
            self._is_watching = True
