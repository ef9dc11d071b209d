"""Counts training steps and says which of them are recorded."""

import time
from collections.abc import Callable
from typing import Any

from torch.optim.optimizer import register_optimizer_step_post_hook

from hocket.plugin.torch.triggers import Triggers
from hocket.recording.settings import Settings
from hocket.recording.stream import Stream

__all__ = ["StepCounter"]


class StepCounter:
    """A step ends with an optimizer's step or, once `mark` was called, only with `mark`.

    `number` is the current step, from 0. `select` is told whether it is one of those asked for, now and at each change.
    Writes to the stream once it is open; a window of steps begins a part of it, and between windows it gets nothing.
    """

    def __init__(self, settings: Settings, select: Callable[[bool], None], triggers: Triggers | None = None) -> None:
        self.number = 0
        self._stream: Stream | None = None
        self._first = settings.skip_steps or 0
        self._end = None if settings.steps is None else self._first + settings.steps
        self._windows = settings.windows
        self._triggers = triggers
        self._always = settings.records_always
        self._recorded, self._part = False, ""
        self._select = select
        self._hook = register_optimizer_step_post_hook(self._optimizer_stepped)
        self._marked = False
        self._tell()

    def open(self, stream: Stream) -> None:
        """Steps are written there from now on."""
        self._stream = stream
        if self._part:
            stream.begin_part(self._part, self.number)

    def mark(self) -> None:
        """Ends a step by word of the script; from the first time on, optimizers are no longer counted."""
        if not self._marked:
            self._marked = True
            self._hook.remove()
            self.number = 0
        self._end_step()

    def _optimizer_stepped(self, *_: Any) -> None:
        self._end_step()

    def _end_step(self) -> None:
        now = time.perf_counter_ns()
        if self._stream is not None and (self._recorded or self._always):
            self._stream.end_step(self.number, now)
        self.number += 1
        if self._triggers is not None and self._stream is not None:
            self._triggers.end_step(self.number, now)
        self._tell()

    def _tell(self) -> None:
        recorded, part = self._wanted()
        if part != self._part and self._stream is not None:
            self._stream.begin_part(part, self.number)
        if self._triggers is not None and self._part and part != self._part:
            self._triggers.end_window(self._part)
        self._recorded, self._part = recorded, part
        self._select(recorded)

    def _wanted(self) -> tuple[bool, str]:
        """Whether the current step is recorded, and to which part of the recording it belongs."""
        if self._triggers is not None and (part := self._triggers.part(self.number)):
            return True, part
        inside = self._first <= self.number and (self._end is None or self.number < self._end)
        if not inside or self._windows is None:
            return inside and self._always, ""
        part = self._windows.part(self.number - self._first)
        return bool(part) or self._always, part
