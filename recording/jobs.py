"""The folder that a job records into: what it is called, who makes it, and how others come into it."""

import os
import re
import secrets
import time
from collections.abc import Mapping
from itertools import takewhile
from pathlib import Path

from hocket.base.errors import FormatError, HocketError
from hocket.base.links import lead
from hocket.base.notices import notice
from hocket.chakra.job_folders import LATEST, STREAMS

__all__ = [
    "JOB_VARIABLE",
    "check_name",
    "claim_job",
    "discard_job",
    "enter_job",
    "later_parts",
    "name_job",
    "reserve_job",
]

#: Set, it is the job's name.
JOB_VARIABLE = "HOCKET_COLLECT_JOB"

_SAFE_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,119}")
_UNSAFE = re.compile(r"[^A-Za-z0-9_.-]+")
_UUID = re.compile(r"([0-9a-f]{8})-[0-9a-f-]{27}")
_LONGEST_SCRIPT, _LONGEST_ID = 40, 24
_MOST_ALIKE = 1000


def name_job(script: str, environment: Mapping[str, str] = os.environ) -> str:
    """What to call a job that begins now: script, time (UTC), the launcher's number with restarts, and six digits that
    keep apart what begins in one second, in folders that are not shared too: `train-20261127T041605Z-4711_3-9f3a1c`."""
    name = _safe(Path(script).stem, _LONGEST_SCRIPT) or "job"
    begun = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    return "-".join([name, begun, *_launched_as(environment), secrets.token_hex(3)])


def _launched_as(environment: Mapping[str, str]) -> list[str]:
    """The scheduler's or launcher's number of the job, and which restart this is."""
    said = environment.get
    array = f"{said('SLURM_ARRAY_JOB_ID')}_{said('SLURM_ARRAY_TASK_ID')}" if said("SLURM_ARRAY_TASK_ID") else ""
    elastic = said("TORCHELASTIC_RUN_ID", "")
    number = array or said("SLURM_JOB_ID") or said("PBS_JOBID") or said("LSB_JOBID") or elastic
    if number == "none":  # torchrun's, where nobody gave one
        number = ""
    uuid = _UUID.fullmatch(number)
    parts = [_safe(uuid[1] if uuid else number, _LONGEST_ID)]
    parts += [f"requeue{count}" for count in [said("SLURM_RESTART_COUNT", "0")] if count.isdecimal() and count != "0"]
    restarts = said("TORCHELASTIC_RESTART_COUNT", "0")
    parts += [f"restart{restarts}"] if restarts.isdecimal() and restarts != "0" else []
    return [part for part in parts if part]


def _safe(text: str, longest: int) -> str:
    return _UNSAFE.sub("_", text).strip("._-")[:longest].rstrip("._-")


def check_name(name: str) -> str:
    """The name, when a job's folder may be called so. Raises FormatError for another."""
    if not _SAFE_NAME.fullmatch(name) or name in (LATEST, STREAMS):
        raise FormatError(
            f"environment variable {JOB_VARIABLE}: {name!r} is no name of a job: letters, digits, _ . and - only, 120"
            f" at most, not {LATEST} or {STREAMS}"
        )
    return name


def reserve_job(root: Path, script: str) -> Path:
    """A new folder for a job that is about to be launched, which then claims it by its name. Raises HocketError where
    it cannot be made, FormatError for a JOB_VARIABLE that is no name."""
    name = os.environ.get(JOB_VARIABLE, "")
    return _first_free(root, check_name(name) if name else name_job(script), "")


def claim_job(root: Path, name: str) -> Path:
    """Makes the folder of a job that begins to record: for one process of the job only, which tells the others.

    The name has `-2`, `-3`, ... where a job has it already. `latest` leads to it from now on; where that cannot be, it
    is said on stderr. Raises HocketError where no folder can be made.
    """
    job = _first_free(root, name, STREAMS)
    _lead_to(job)
    return job


def _first_free(root: Path, name: str, inside: str) -> Path:
    """The first of NAME, NAME-2, ... in which `inside` could be made: by one process only."""
    for number in range(1, _MOST_ALIKE):
        job = root / (name if number == 1 else f"{name}-{number}")
        _made(job.parent if not inside else job)
        try:
            (job / inside).mkdir()
        except FileExistsError:
            continue
        except OSError as error:
            raise _refused(job, error) from error
        return job
    raise HocketError(f"{root}: holds {_MOST_ALIKE - 1} jobs called {name}: set another {JOB_VARIABLE}")


def enter_job(root: Path, name: str) -> Path:
    """The folder of a job that another process claimed, made where it is not: a machine may have a folder of its own.

    Raises HocketError where it cannot be made.
    """
    job = root / name
    _made(root)
    try:
        job.mkdir()
    except FileExistsError:
        pass
    except OSError as error:
        raise _refused(job, error) from error
    else:
        _lead_to(job)
    _made(job / STREAMS)
    return job


def later_parts(job: Path) -> list[Path]:
    """The folders of what the same launch began to record after `job`: a program that it runs second, or a world of
    other ranks."""
    parts = (job.with_name(f"{job.name}-{number}") for number in range(2, _MOST_ALIKE))
    return [*takewhile(lambda part: (part / STREAMS).is_dir(), parts)]


def discard_job(job: Path) -> None:
    """Removes the folder of a job that recorded nothing at all; one that holds something stays."""
    for folder in (job / STREAMS, job):
        try:
            folder.rmdir()
        except FileNotFoundError:
            continue
        except OSError:
            return


def _made(folder: Path) -> Path:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _refused(folder, error) from error
    return folder


def _refused(folder: Path, error: OSError) -> HocketError:
    return HocketError(f"{folder}: cannot collect into this folder: {error.strerror}")


def _lead_to(job: Path) -> None:
    try:
        lead(job.with_name(LATEST), job.name)
    except HocketError as error:
        notice(f"hocket: {error}: name the job's own folder, {job}, to read it")
