"""A job whose ranks that do the same compute equally long."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from hocket.chakra import Trace, TraceSet
from hocket.chakra.trace import NodeType

__all__ = ["balanced", "incomparable"]


def balanced(traces: TraceSet) -> TraceSet | None:
    """The traces in which each computation takes the median (of two the shorter) of that of all ranks that do the same
    nodes; None where ranks do not differ so."""
    found: list[Trace] = list(traces.traces)
    differ = False
    for ranks in _alike(traces, with_sizes=True):
        durations = np.stack([traces.traces[rank].duration_ns for rank in ranks])
        computing = traces.traces[ranks[0]].type == NodeType.COMP
        if (durations[:, computing] == durations[0, computing]).all():
            continue
        differ = True
        median = np.sort(durations, axis=0)[(len(ranks) - 1) // 2]
        for rank in ranks:
            trace = traces.traces[rank]
            found[rank] = replace(trace, duration_ns=np.where(computing, median, trace.duration_ns))
    return replace(traces, traces=tuple(found)) if differ else None


def incomparable(traces: TraceSet) -> int:
    """How many ranks do the same nodes as others, but communicate other amounts than some of these and compute for
    other times, as where experts are chosen unevenly: what they do is not the same."""
    same = {rank: ranks for ranks in _alike(traces, with_sizes=True) for rank in ranks}
    found = 0
    for ranks in _alike(traces, with_sizes=False):
        durations = {traces.traces[rank].duration_ns.tobytes() for rank in ranks}
        found += len(ranks) if len(same[ranks[0]]) < len(ranks) and len(durations) > 1 else 0
    return found


def _alike(traces: TraceSet, *, with_sizes: bool) -> list[list[int]]:
    """Ranks with nodes, by what these are, and, `with_sizes`, by what they communicate."""
    alike: dict[bytes, list[int]] = {}
    for rank, trace in enumerate(traces.traces):
        if len(trace):
            sizes = trace.comm_bytes.tobytes() if with_sizes else b""
            alike.setdefault(trace.type.tobytes() + trace.comm_type.tobytes() + sizes, []).append(rank)
    return [*alike.values()]
