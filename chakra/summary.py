"""What a job's traces hold, counted."""

from collections import Counter
from dataclasses import dataclass

import numpy as np

from hocket.chakra.trace import CollectiveType, NodeType, TraceSet

__all__ = ["CollectiveRow", "Summary", "summarize"]


@dataclass(frozen=True)
class CollectiveRow:
    """Communication of one kind, group and size: how many nodes on how many ranks, and their measured time."""

    kind: str
    group: str
    num_bytes: int
    num_nodes: int
    num_ranks: int
    total_bytes: int
    duration_us: int


@dataclass(frozen=True)
class Summary:
    """Counts over all ranks; `communication` is sorted by total bytes, largest first."""

    num_ranks: int
    num_nodes: int
    nodes_per_type: dict[str, int]
    num_dependencies: int
    groups: dict[str, tuple[int, ...]]
    communication: tuple[CollectiveRow, ...]


def summarize(traces: TraceSet) -> Summary:
    """Counts the nodes of all ranks; sizes are bytes, -1 where a node has none."""
    types: Counter[int] = Counter()
    nodes: Counter[tuple[str, str, int]] = Counter()
    duration_us: Counter[tuple[str, str, int]] = Counter()
    ranks: dict[tuple[str, str, int], set[int]] = {}
    for rank, trace in enumerate(traces.traces):
        types.update(int(kind) for kind in trace.type)
        for row in np.flatnonzero(trace.type >= NodeType.COMM_SEND):
            group = trace.strings[trace.process_group[row]] if trace.process_group[row] >= 0 else ""
            key = (_kind(int(trace.type[row]), int(trace.comm_type[row])), group, int(trace.comm_bytes[row]))
            nodes[key] += 1
            duration_us[key] += int(trace.duration_us[row])
            ranks.setdefault(key, set()).add(rank)
    rows = [
        CollectiveRow(*key, count, len(ranks[key]), count * max(key[2], 0), duration_us[key])
        for key, count in nodes.items()
    ]
    return Summary(
        num_ranks=traces.num_ranks,
        num_nodes=sum(map(len, traces.traces)),
        nodes_per_type={kind.name: types[kind] for kind in NodeType if types[kind]},
        num_dependencies=sum(len(trace.data_deps) + len(trace.ctrl_deps) for trace in traces.traces),
        groups=dict(traces.groups),
        communication=tuple(sorted(rows, key=lambda row: (-row.total_bytes, row.kind, row.group, row.num_bytes))),
    )


def _kind(node_type: int, comm_type: int) -> str:
    if node_type != NodeType.COMM_COLL:
        return NodeType(node_type).name.removeprefix("COMM_").lower()
    return CollectiveType(comm_type).name.lower() if 0 <= comm_type <= max(CollectiveType) else "no comm_type"
