"""Makes traces of one collective, or a ring of messages."""

from __future__ import annotations

from hocket.api.generate.request import CollectiveGeneration
from hocket.api.generate.target import ranks_of
from hocket.api.progress import Progress
from hocket.api.trace.written import WrittenTraces, write_job
from hocket.base.errors import RequestError
from hocket.base.units import parse_bytes
from hocket.workload.collective import Benchmark, CommunicationPattern, generate_collective
from hocket.workload.parsing import parse_nanoseconds, parse_ranks, parse_splits

__all__ = ["perform"]


def perform(request: CollectiveGeneration, progress: Progress) -> WrittenTraces:
    if not request.size and request.pattern != CommunicationPattern.BARRIER:
        raise RequestError(f"--size is missing: {request.pattern} of how many bytes? such as --size 64MiB")
    sizes = tuple(map(parse_bytes, request.size or ["0"]))
    benchmark = Benchmark(
        pattern=CommunicationPattern(request.pattern),
        num_ranks=ranks_of(request),
        size_bytes=sizes[0],
        sizes=sizes if len(sizes) > 1 else (),
        splits=() if request.split is None else parse_splits(request.split),
        groups=tuple(map(parse_ranks, request.group)),
        root=request.root,
        repeat=request.repeat,
        compute_ns=0 if request.compute is None else parse_nanoseconds(request.compute),
    )
    return write_job(request, generate_collective(benchmark), request.written, request.profile, progress)
