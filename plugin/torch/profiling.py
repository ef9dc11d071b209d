"""The profiler over the recorded steps (`hocket collect --ops`): operators beside the collectives."""

from collections.abc import Callable
from contextlib import suppress
from functools import wraps
from inspect import signature
from pathlib import Path
from typing import Any

import torch
from torch.profiler import ProfilerActivity, profile

from hocket.plugin.torch import interfaces
from hocket.recording.stream import Stream, record

__all__ = ["OperatorProfiler"]

_UNWRITTEN = "its process ended before its profile was written"
_YIELDED = "the script profiles itself, and PyTorch has one profiler per process"


class OperatorProfiler:
    """Profiles this process from the first recorded step to the end of the last, into a file.

    PyTorch has one profiler a process: it is the script's as soon as the script begins a profile, at any time. That and
    whatever goes wrong ends this profile, never the job, and is written to the stream.
    """

    def __init__(self) -> None:
        self._path = Path()
        self._stream: Stream | None = None
        self._profile: profile | None = None
        self._is_selected = False
        self._is_beginning = False
        self._is_over = False
        self._problem = _UNWRITTEN
        try:
            self._watch(interfaces.BEGIN_PROFILE.need())
        except Exception as error:  # a PyTorch of which nothing is known
            self._end(f"the script's use of the profiler cannot be seen: {error}")

    def _watch(self, prepare: Callable[[Any], None]) -> None:
        """Sees every profile that begins: those of torch.profiler and of torch.autograd.profiler all come by here."""

        @wraps(prepare)
        def seen(beginning: Any) -> None:
            if not self._is_beginning and not self._is_over:
                running, self._profile = self._profile, None
                self._end(_YIELDED)
                if running is not None:
                    with suppress(Exception):  # whatever PyTorch raises: the profiler is the script's now
                        running.stop()
            prepare(beginning)

        interfaces.BEGIN_PROFILE.put(seen)  # PyTorch has no hook there

    def open(self, path: Path, stream: Stream) -> None:
        """Where the profile goes, and where to tell what became of it; it may begin from now on."""
        self._path, self._stream = path, stream
        self._tell()
        self.select(self._is_selected)

    def select(self, recorded: bool) -> None:
        """Whether the step that begins is recorded; the first that is not, after one that was, ends the profile."""
        self._is_selected = recorded
        if not recorded:
            self.close()
        elif self._stream is not None and self._profile is None and not self._is_over:
            self._begin()

    def _begin(self) -> None:
        activities = [ProfilerActivity.CPU] + ([ProfilerActivity.CUDA] if torch.cuda.is_available() else [])
        self._is_beginning = True
        try:
            kept = {"acc_events": True} if "acc_events" in signature(profile).parameters else {}  # PyTorch 2.6 on
            started = profile(activities=activities, record_shapes=True, **kept)
            started.start()
            self._profile = started
        except Exception as error:  # whatever PyTorch raises: the job goes on
            self._end(f"PyTorch's profiler: {error}")
        self._is_beginning = False

    def close(self) -> None:
        """Writes the file, if a profile has begun."""
        running, self._profile = self._profile, None
        if running is None:
            return
        try:
            running.stop()
            self._path.parent.mkdir(exist_ok=True)
            running.export_chrome_trace(str(self._path))
        except Exception as error:  # whatever PyTorch raises: the job goes on
            self._end(f"PyTorch's profiler: {error}")
        else:
            self._end("")

    def _end(self, problem: str) -> None:
        """No profile begins any more; `problem` is why there is none, "" where there is."""
        self._is_over = True
        self._problem = problem
        self._tell()

    def _tell(self) -> None:
        if self._stream is not None:
            self._stream.write(record("operators", problem=self._problem))
