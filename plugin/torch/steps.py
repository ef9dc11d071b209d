"""Counts training steps and says which of them are recorded."""

import time
from collections.abc import Callable
from typing import Any

from torch.optim.optimizer import register_optimizer_step_post_hook

from hocket.recording.settings import Settings
from hocket.recording.stream import Stream, record

__all__ = ["StepCounter"]


class StepCounter:
    """A step ends with an optimizer's step or, once `mark` was called, only with `mark`.

    `number` is the current step, from 0. `select` is told whether it is one of those asked for, now and at each change.
    Writes to `stream` once it is set.
    """

    def __init__(self, settings: Settings, select: Callable[[bool], None]) -> None:
        self.stream: Stream | None = None
        self.number = 0
        self._first = settings.skip_steps or 0
        self._end = None if settings.steps is None else self._first + settings.steps
        self._select = select
        self._hook = register_optimizer_step_post_hook(self._optimizer_stepped)
        self._marked = False
        self._tell()

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
        if self.stream is not None:
            self.stream.write(record("step", n=self.number, t=time.perf_counter_ns()))
        self.number += 1
        self._tell()

    def _tell(self) -> None:
        self._select(self._first <= self.number and (self._end is None or self.number < self._end))
