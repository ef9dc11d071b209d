"""Writes a part of a job's traces."""

from __future__ import annotations

import re

from hocket.api.progress import Progress
from hocket.api.trace.request import TraceSlice
from hocket.api.trace.written import TraceWriter, WrittenTraces
from hocket.base.errors import RequestError
from hocket.base.units import parse_time
from hocket.chakra.slicing import TraceSelection, slice_traces
from hocket.workload.parsing import parse_ranks

__all__ = ["microseconds", "perform"]

_RANGE = re.compile(r"([0-9]{0,19}):([0-9]{0,19})")
_PS_PER_US = 10**6


def perform(request: TraceSlice, progress: Progress) -> WrittenTraces:
    selection = TraceSelection(
        steps=None if request.steps is None else _range("--steps", request.steps),
        nodes=None if request.nodes is None else _range("--nodes", request.nodes),
        time_us=None if request.time is None else microseconds(request.time),
        ranks=None if request.ranks is None else parse_ranks(request.ranks),
    )
    if selection == TraceSelection():
        raise RequestError("which part? Name one with --steps, --nodes, --time or --ranks")
    traces = request.files.open()
    writer = TraceWriter(request.written, traces.paths)
    left, changes = slice_traces(traces, selection, writer.write)
    names = ", ".join(f"{rank} -> {new}" for new, rank in enumerate(selection.ranks or ()))
    return writer.finish(request, left, changes, [f"ranks: {names}"] if names else [])


def _range(option: str, text: str) -> tuple[int, int]:
    found = _RANGE.fullmatch(text)
    first, end = (int(found[1] or 0), int(found[2] or 2**63 - 1)) if found else (0, 0)
    if first >= end or end >= 2**63:
        raise RequestError(f"{option} {text}: expected a first number and one behind the last, such as 2:4")
    return first, end


def microseconds(text: str) -> tuple[int, int]:
    """Microseconds of A:B; a start is of the part when its microsecond is."""
    first, colon, end = text.partition(":")
    times = tuple(-(-parse_time(time) // _PS_PER_US) for time in (first or "0ns", end or "100000s"))
    if not colon or times[0] >= times[1]:
        raise RequestError(f"--time {text}: expected two times, the first before the second, such as 10ms:20ms")
    return times[0], times[1]
