"""A folder of jobs: each recorded into a folder of its own, and `latest` leads to the one that began last."""

import os
import re
from pathlib import Path
from typing import NamedTuple

from hocket.base.errors import FormatError
from hocket.base.links import led

__all__ = ["LATEST", "STREAMS", "JobFolder", "find_job", "jobs_in"]

LATEST = "latest"
#: Where a job's streams lie in its folder; made by who begins the job, so that every job has it.
STREAMS = "stream"

_MOST_LISTED = 20
_TRACE = re.compile(r".+\.et(?:\.gz)?")


class JobFolder(NamedTuple):
    """The folder of one job; `note` says which, where another folder was named, else ""."""

    path: Path
    note: str


def find_job(path: Path | str) -> JobFolder:
    """The job that a path means: of a folder of jobs, and of its `latest`, the last that began; else the path itself.

    Raises FormatError, which lists the jobs, where several are meant: a folder of jobs without `latest`, one that holds
    traces itself beside its jobs, and a `latest` that leads nowhere.
    """
    path = Path(path)
    if path.name == LATEST and (name := led(path)):
        return JobFolder(_led_to(path.parent, name), "")
    if not os.path.isdir(path):
        return JobFolder(path, "")
    name, holds = led(path / LATEST), _holds_traces(path)
    if name is None:
        jobs = [] if holds else jobs_in(path)
        if jobs:
            raise FormatError(f"{path}: a folder of jobs without {LATEST}; name one of {_listed(jobs)}")
        return JobFolder(path, "")
    found, jobs = _led_to(path, name), jobs_in(path)
    if holds:
        raise FormatError(
            f"{path}: holds traces itself, and those of jobs beside them: name {path / LATEST}, one of {_listed(jobs)},"
            f" or its own by their prefix ({path / 'trace'})"
        )
    return JobFolder(found, f"{path}: its latest job, {name}" + (f", of {len(jobs)}" if len(jobs) > 1 else ""))


def jobs_in(folder: Path) -> list[Path]:
    """The folders of the jobs that were recorded into `folder`, by name."""
    with os.scandir(folder) as entries:
        names = [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
    return [folder / name for name in sorted(names) if (folder / name / STREAMS).is_dir()]


def _led_to(folder: Path, name: str) -> Path:
    job = folder / name
    if not job.is_dir():
        others = jobs_in(folder)
        remedy = f"name one of {_listed(others)}" if others else "no job is there"
        raise FormatError(f"{folder / LATEST}: leads to {name}, which is not there; {remedy}")
    return job


def _holds_traces(folder: Path) -> bool:
    """Whether a job lies in the folder itself, as older versions of Hocket recorded it and other tools write traces."""
    if (folder / STREAMS).is_dir():
        return True
    with os.scandir(folder) as entries:
        return any(_TRACE.fullmatch(entry.name) for entry in entries)


def _listed(jobs: list[Path]) -> str:
    more = f" and {len(jobs) - _MOST_LISTED} more" if len(jobs) > _MOST_LISTED else ""
    return ", ".join(map(str, jobs[:_MOST_LISTED])) + more
