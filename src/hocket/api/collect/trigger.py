"""Asks a running job for a window of steps, or keeps what it has recorded so far."""

from __future__ import annotations

from pathlib import Path

from hocket.api.collect.request import CollectionTrigger
from hocket.api.progress import Progress
from hocket.api.result import Report
from hocket.base.errors import HocketError
from hocket.chakra.job_folders import find_job
from hocket.recording.folder import no_streams, stream_paths
from hocket.recording.last_session import last_session
from hocket.recording.pinning import free_window, pin
from hocket.recording.triggers import TriggerRequest, ask, count_published, count_requests

__all__ = ["trigger"]


def trigger(request: CollectionTrigger, progress: Progress) -> Report:
    folder = find_job(request.folder).path
    streams = stream_paths(folder)
    if not streams:
        raise no_streams(folder)
    if not request.now:
        _check_answers(folder, streams[0])
        number = count_published(folder) + count_requests(folder) + 1
        ask(folder, TriggerRequest("asked for", request.steps, request.margin))
        merging = f"then: hocket collect merge {folder} --window trigger{number}"
        return Report(request, [f"asked rank 0 for {request.steps} steps; {merging}"])
    name = free_window(folder, "now")
    try:
        kept = sum(pin(folder, path, name, growing=True) for path in streams)
    except OSError as error:
        raise HocketError(f"{folder}: window {name} cannot be kept: {error.strerror}") from error
    if not kept:
        raise HocketError(f"{folder}: the streams are one file each, which no cap cuts: merge them as they are")
    return Report(request, [f"kept {kept} files; merge them: hocket collect merge {folder / 'windows' / name}"])


def _check_answers(folder: Path, stream: Path) -> None:
    """Raises HocketError where nobody will look for what is asked: the job is over, or was told of no triggers."""
    meta, ended = last_session(stream)
    if ended:
        raise HocketError(
            f"{folder}: this job has ended, nobody will answer; merge what it recorded: hocket collect merge {folder}"
        )
    if meta.triggers is False or meta.mpi:  # streams of before do not tell
        raise HocketError(
            f"{folder}: this job does not look for triggers: start it with `hocket collect --triggers` (--signal,"
            " --slow-step), or keep what it has so far with `hocket collect trigger --now`, where --max-bytes caps it"
        )
