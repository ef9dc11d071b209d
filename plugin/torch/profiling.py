"""The profiler over the recorded steps (`hocket collect --ops`): operators beside the collectives."""

import sys
from pathlib import Path

import torch
from torch.profiler import ProfilerActivity, profile

__all__ = ["OperatorProfiler"]


class OperatorProfiler:
    """Profiles this process from the first recorded step it is told of to the end of the last, into a file.

    What goes wrong is printed and ends the profile, never the job. PyTorch has one profiler a process: a script that
    uses it itself cannot have this one beside it.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._profile: profile | None = None
        self._is_over = False

    def select(self, recorded: bool) -> None:
        """Whether the step that begins is recorded; the first that is not, after one that was, ends the profile."""
        if recorded and self._profile is None and not self._is_over:
            self._start()
        elif not recorded:
            self.close()

    def _start(self) -> None:
        activities = [ProfilerActivity.CPU] + ([ProfilerActivity.CUDA] if torch.cuda.is_available() else [])
        try:
            started = profile(activities=activities, record_shapes=True, acc_events=True)
            started.start()
            self._profile = started
        except Exception as error:  # whatever PyTorch raises: the job goes on
            self._give_up(error)

    def close(self) -> None:
        """Writes the file, if a profile has begun."""
        running, self._profile = self._profile, None
        if running is None:
            return
        self._is_over = True
        try:
            running.stop()
            self._path.parent.mkdir(exist_ok=True)
            running.export_chrome_trace(str(self._path))
        except Exception as error:  # whatever PyTorch raises: the job goes on
            self._give_up(error)

    def _give_up(self, error: Exception) -> None:
        self._is_over = True
        print(f"hocket: {self._path}: no operators are recorded: {error}", file=sys.stderr)
