"""Writes traces for another reader."""

from __future__ import annotations

from collections import Counter

from hocket.api.progress import Progress
from hocket.api.trace.request import TraceConversion
from hocket.api.trace.written import TraceWriter, WrittenTraces, write_job
from hocket.chakra.profile import TraceProfile
from hocket.chakra.writing import SCHEMA_VERSION

__all__ = ["perform"]


def perform(request: TraceConversion, progress: Progress) -> WrittenTraces:
    """What ASTRA-sim needs concerns the whole job; else the traces go through block by block."""
    traces = request.files.open()
    writer = TraceWriter(request.written, traces.paths)
    if request.profile == TraceProfile.ASTRA_SIM:
        return write_job(request, traces.read(complete=True), request.written, request.profile, progress)
    changes: Counter[str] = Counter()
    for rank, file in enumerate(traces.files):
        num_nodes = writer.write(rank, file.blocks(complete=True))
        if file.era.is_old:
            changes[f"nodes of schema {file.era} written as of {SCHEMA_VERSION}"] += num_nodes
    return writer.finish(request, traces.groups, changes)
