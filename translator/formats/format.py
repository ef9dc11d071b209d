"""What a format is that a schedule is written in as it is: for what is no interpreter of programs."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from hocket.base.registry import Entry
from hocket.schedule import Schedule

__all__ = ["ScheduleFormat"]


@dataclass(frozen=True, kw_only=True)
class ScheduleFormat(Entry):
    """A format by its name (`hocket translate --to NAME`). `write` puts a verified schedule into a file, or files whose
    names begin so, and returns what to say of them: what they hold, how they are used. It raises ScheduleError where
    the format cannot say what the schedule does, and RequestError where the file's name is none of the format."""

    write: Callable[[Schedule, Path], Sequence[str]]
