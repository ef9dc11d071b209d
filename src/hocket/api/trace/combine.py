"""Writes several jobs as one set of traces."""

from __future__ import annotations

from pathlib import Path

from hocket.api.progress import Progress
from hocket.api.trace.request import TraceCombination
from hocket.api.trace.written import TraceWriter, WrittenTraces
from hocket.base.errors import RequestError
from hocket.chakra.combining import Combination
from hocket.chakra.reading import TraceFiles
from hocket.workload.parsing import parse_ranks

__all__ = ["perform"]


def perform(request: TraceCombination, progress: Progress) -> WrittenTraces:
    if request.place and len(request.place) != len(request.jobs):
        raise RequestError(f"--place is given {len(request.place)} times for {len(request.jobs)} jobs: once for each")
    jobs = [TraceFiles.of_job(path) for path in request.jobs]
    ranks = [parse_ranks(text) for text in request.place]
    if not ranks:
        first = 0
        for job in jobs:
            ranks.append(tuple(range(first, first + job.num_ranks)))
            first += job.num_ranks
    names = [Path(path).resolve().name for path in request.jobs]
    whole = Combination(jobs, names, ranks)
    writer = TraceWriter(request.written, [file for job in jobs for file in job.paths])
    for rank in range(whole.num_ranks):
        writer.write(rank, whole.blocks(rank))
        progress.count(rank + 1, whole.num_ranks, "traces written")
    placed = [f"job {name}: ranks {_spelled(of_job)}" for name, of_job in zip(names, ranks, strict=True)]
    return writer.finish(request, whole.groups, {}, placed)


def _spelled(ranks: tuple[int, ...]) -> str:
    """`0-3,8-11`."""
    runs: list[list[int]] = []
    for rank in ranks:
        if runs and rank == runs[-1][1] + 1:
            runs[-1][1] = rank
        else:
            runs.append([rank, rank])
    return ",".join(str(low) if low == high else f"{low}-{high}" for low, high in runs)
