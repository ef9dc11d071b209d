"""Writes traces from several places as those of one job."""

from __future__ import annotations

from pathlib import Path

from hocket.api.progress import Progress
from hocket.api.trace.request import TraceMerge
from hocket.api.trace.written import TraceWriter, WrittenTraces
from hocket.base.errors import RequestError
from hocket.chakra.merging import Merge, trace_paths
from hocket.workload.parsing import parse_ranks

__all__ = ["perform"]


def perform(request: TraceMerge, progress: Progress) -> WrittenTraces:
    if request.ranks is not None and request.in_order:
        raise RequestError("--ranks names the ranks, --in-order takes them as they come: choose one")
    paths = [file for path in request.paths for file in trace_paths(Path(path))]
    merged = Merge(paths, parse_ranks(request.ranks) if request.ranks else None, request.in_order)
    writer = TraceWriter(request.written, [str(file.path) for file in merged.files])
    for rank in range(len(merged.files)):
        writer.write(rank, merged.blocks(rank))
    numbered = enumerate(zip(merged.files, merged.numbers, strict=True))
    origins = [
        f"rank {rank}{'' if number == rank else f' (was {number})'}: {file.path}" for rank, (file, number) in numbered
    ]
    return writer.finish(request, merged.groups, merged.changes, origins)
