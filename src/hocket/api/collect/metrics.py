"""Serves metrics of a job that is being recorded."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from hocket.api.collect.request import CollectionMetrics
from hocket.api.progress import Progress
from hocket.api.result import Report
from hocket.base.errors import HocketError, RequestError
from hocket.base.files import write_file
from hocket.chakra.job_folders import find_job
from hocket.recording.folder import no_streams, stream_paths
from hocket.recording.metrics.endpoint import MetricsEndpoint, listening_place
from hocket.recording.metrics.families import Family
from hocket.recording.metrics.openmetrics import classic_text, openmetrics_text
from hocket.recording.metrics.otlp import otlp_json, push, require_url
from hocket.recording.metrics.reader import MetricsReader

__all__ = ["metrics"]


def metrics(request: CollectionMetrics, progress: Progress) -> Report:
    """Looks until the job is over: what cannot be delivered is said once for each reason, and tried again."""
    _check_places(request)
    folder = find_job(request.folder).path
    if request.once and not stream_paths(folder):
        raise no_streams(folder)
    reader, begun, told = MetricsReader(folder), time.time_ns(), ""
    with ExitStack() as stack:
        endpoint = MetricsEndpoint(request.listen) if request.listen else None
        if endpoint is not None:
            stack.callback(endpoint.close)
            progress.say(f"metrics at {endpoint.url}")
        while True:
            families = reader.read()
            if endpoint is not None:
                endpoint.families = families
            try:
                _deliver(request, families, reader.job(), begun)
                told = ""
            except HocketError as error:
                if request.once:
                    raise
                if str(error) != told:
                    told = str(error)
                    progress.note(told)
            if request.once or reader.is_over():
                break
            time.sleep(request.every)
    if request.once and not (request.listen or request.textfile or request.otlp):
        return Report(request, openmetrics_text(families).splitlines())
    ended = "the job is over" if reader.is_over() else "looked once"
    return Report(request, [ended + ("; the last metrics were not delivered" if told else _delivered(request))])


def _check_places(request: CollectionMetrics) -> None:
    """Raises RequestError for places that are none, and HocketError for a folder that is absent, before anything is
    read."""
    if not (request.once or request.listen or request.textfile or request.otlp):
        raise RequestError("say where the metrics go: --listen ADDRESS:PORT, --textfile FILE or --otlp URL; or --once")
    if request.listen is not None:
        listening_place(request.listen)
    if request.otlp is not None:
        require_url(request.otlp)
    # Not made, as other outputs' folders are: node_exporter reads one that is there, and another is a slip.
    if request.textfile and not (folder := Path(request.textfile).absolute().parent).is_dir():
        raise HocketError(f"--textfile {request.textfile}: there is no folder {folder}: make it, or name another")


def _delivered(request: CollectionMetrics) -> str:
    places = [(request.textfile, "wrote"), (request.otlp, "sent to")]
    told = [f"{verb} {place}" for place, verb in places if place]
    return f": {', '.join(told)}" if told else ""


def _deliver(request: CollectionMetrics, families: Sequence[Family], job: str, begun: int) -> None:
    if request.textfile:
        write_file(request.textfile, classic_text(families))
    if request.otlp:
        resource = {"service.name": "hocket", "hocket.job": job}
        push(request.otlp, otlp_json(families, resource, begun, time.time_ns()))
