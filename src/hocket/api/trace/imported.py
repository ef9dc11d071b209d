"""Turns what other tools recorded into traces."""

from __future__ import annotations

from pathlib import Path

from hocket.api.progress import Progress
from hocket.api.trace.request import TraceImport
from hocket.api.trace.written import WrittenTraces, check_place, write_job
from hocket.chakra import TraceSet, write_trace
from hocket.chakra.groups import FILE_NAMES, write_groups
from hocket.chakra.importers import ImportedJob, import_traces

__all__ = ["perform"]


def perform(request: TraceImport, progress: Progress) -> WrittenTraces:
    job = import_traces(request.paths, request.source)
    notes = [f"note: {note}" + (f" ({count})" if count > 1 else "") for note, count in job.notes.items()]
    if job.missing:
        return _write_some(request, job, notes)
    traces = TraceSet(tuple(job.traces.values()), job.groups)
    return write_job(request, traces, request.written, request.profile, progress, after=notes)


def _write_some(request: TraceImport, job: ImportedJob, notes: list[str]) -> WrittenTraces:
    """Writes the traces of a job of which not all ranks are there."""
    place, folder = request.written, Path(request.written.output)
    check_place(place)
    for rank, trace in job.traces.items():
        write_trace(folder / f"{place.prefix}.{rank}.et{'.gz' * place.gzip}", trace, request.profile)
    write_groups(folder / FILE_NAMES[0], job.groups)
    num_nodes = sum(map(len, job.traces.values()))
    shown = ", ".join(map(str, job.missing[:8])) + (", ..." if len(job.missing) > 8 else "")
    missing = f"note: the traces of ranks {shown}: {len(job.missing)} of {job.world} ranks are missing"
    return WrittenTraces(request, folder, place.prefix, len(job.traces), num_nodes, {}, after=[missing, *notes])
