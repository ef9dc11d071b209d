"""Makes the traces of a larger job from those of a small one."""

from __future__ import annotations

from hocket.api.extrapolate.request import Extrapolation
from hocket.api.progress import Progress
from hocket.api.trace.written import WrittenTraces, check_place, write_job
from hocket.base.errors import RequestError
from hocket.base.strict_yaml import nearest
from hocket.chakra import TraceSet, read_traces
from hocket.workload.extrapolate import Growth, extrapolate, spanning_groups

__all__ = ["perform"]


def perform(request: Extrapolation, progress: Progress) -> WrittenTraces:
    """The larger job. Its result's first lines say what was assumed."""
    if [request.data_parallel, request.ranks, request.group or None].count(None) != 2:
        raise RequestError("say how large: one of --data-parallel 8x, --ranks 1024, --group NAME=64")
    traces = read_traces(request.traces, request.groups)
    check_place(request.written, traces.paths)
    larger, notes = extrapolate(traces, _growths(traces, request))
    return write_job(request, larger, request.written, request.profile, progress, notes)


def _growths(traces: TraceSet, request: Extrapolation) -> list[Growth]:
    """What grows, and how many times."""
    if request.group:
        return _dimensions(traces, request.group)
    if request.data_parallel is not None:
        factor = _times(request.data_parallel.removesuffix("x"), 1, request.data_parallel)
    else:
        factor = _times(str(request.ranks), traces.num_ranks, f"--ranks {request.ranks}")
    return [Growth(spanning_groups(traces), factor)]


def _dimensions(traces: TraceSet, sizes: tuple[str, ...]) -> list[Growth]:
    """Groups that grow as many times and share no rank are one dimension, and grow together."""
    dimensions: list[tuple[int, set[str], set[int]]] = []
    for text in sizes:
        name, _, size = text.rpartition("=")
        members = _members(traces, name)
        factor = _times(size, len(members), text)
        for times, names, ranks in dimensions:
            if times == factor and ranks.isdisjoint(members):
                names.add(name)
                ranks.update(members)
                break
        else:
            dimensions.append((factor, {name}, set(members)))
    return [Growth(frozenset(names), factor) for factor, names, _ in dimensions]


def _times(size: str, now: int, text: str) -> int:
    """How many times `now` the size is. Raises RequestError unless it is a whole number of times."""
    if not size.isdecimal() or len(size) > 9 or int(size) < 1 or int(size) % now:
        raise RequestError(f"{text}: a whole number of times the present size, {now}, is needed")
    return int(size) // now


def _members(traces: TraceSet, name: str) -> tuple[int, ...]:
    try:
        return traces.members(name)
    except KeyError:
        raise RequestError(f"--group {name}: no such group; {nearest(name, {*traces.groups, '0'})}") from None
