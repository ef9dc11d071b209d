"""Writes traces without names."""

from __future__ import annotations

from hocket.api.progress import Progress
from hocket.api.trace.request import TraceAnonymization
from hocket.api.trace.written import TraceWriter, WrittenTraces
from hocket.chakra.anonymizing import Anonymizer, described

__all__ = ["perform"]


def perform(request: TraceAnonymization, progress: Progress) -> WrittenTraces:
    traces = request.files.open()
    writer = TraceWriter(request.written, traces.paths)
    anonymizer = Anonymizer(traces.groups)
    for rank, file in enumerate(traces.files):
        writer.write(rank, map(anonymizer.anonymize, file.blocks()))
    return writer.finish(request, anonymizer.groups, {}, list(described(anonymizer)))
