"""A job whose ranks that do the same compute equally long."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from hocket.chakra import Trace, TraceSet
from hocket.chakra.roles import TracesByRole, kinds_of_traces
from hocket.chakra.trace import NodeType

__all__ = ["balanced", "incomparable"]


def balanced(traces: TraceSet) -> TraceSet | None:
    """The traces in which each computation takes the median (of two the shorter) of that of all ranks that do the same
    nodes; None where ranks do not differ so."""
    found = _told_apart(traces)
    differ = False
    for ranks in _alike(found, with_sizes=True):
        durations = np.stack([found[rank].duration_ns for rank in ranks])
        computing = found[ranks[0]].type == NodeType.COMP
        if (durations[:, computing] == durations[0, computing]).all():
            continue
        differ = True
        median = np.sort(durations, axis=0)[(len(ranks) - 1) // 2]
        for rank in ranks:
            trace = found[rank]
            found[rank] = replace(trace, duration_ns=np.where(computing, median, trace.duration_ns))
    if not differ:
        return None
    made = TracesByRole(found, traces.traces.roles) if isinstance(traces.traces, TracesByRole) else tuple(found)
    return replace(traces, traces=made)


def incomparable(traces: TraceSet) -> int:
    """How many ranks do the same nodes as others, but communicate other amounts than some of these and compute for
    other times, as where experts are chosen unevenly: what they do is not the same."""
    told, counts = _told_apart(traces), [count for _, count in kinds_of_traces(traces)]
    same = {rank: ranks for ranks in _alike(told, with_sizes=True) for rank in ranks}
    found = 0
    for ranks in _alike(told, with_sizes=False):
        durations = {told[rank].duration_ns.tobytes() for rank in ranks}
        if len(same[ranks[0]]) < len(ranks) and len(durations) > 1:
            found += sum(counts[rank] for rank in ranks)
    return found


def _told_apart(traces: TraceSet) -> list[Trace]:
    """The traces; of those that are known to be alike one each, as their ranks are as many or do as long."""
    return [trace for trace, _ in kinds_of_traces(traces)]


def _alike(traces: Sequence[Trace], *, with_sizes: bool) -> list[list[int]]:
    """Ranks with nodes, by what these are, and, `with_sizes`, by what they communicate."""
    alike: dict[bytes, list[int]] = {}
    for rank, trace in enumerate(traces):
        if len(trace):
            sizes = trace.comm_bytes.tobytes() if with_sizes else b""
            alike.setdefault(trace.type.tobytes() + trace.comm_type.tobytes() + sizes, []).append(rank)
    return [*alike.values()]
