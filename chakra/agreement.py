"""Checks across ranks: they must join the same collectives in the same order, and every message needs its partner."""

from collections import defaultdict
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from hocket.chakra.finding import Finding, Severity, at_node, source_of
from hocket.chakra.trace import CollectiveType, NodeType, Trace, TraceSet

__all__ = ["collectives_by_group", "disagreements"]

# The others may differ by rank: all_to_all and all_gather of uneven blocks, and what only the root holds.
_SAME_SIZE = (
    CollectiveType.ALL_REDUCE,
    CollectiveType.BROADCAST,
    CollectiveType.REDUCE,
    CollectiveType.REDUCE_SCATTER,
    CollectiveType.REDUCE_SCATTER_BLOCK,
)


def disagreements(traces: TraceSet) -> Iterator[Finding]:
    """Findings about groups, collectives and messages that do not fit together."""
    by_group = collectives_by_group(traces)
    yield from _memberships(traces, by_group)
    for group, rows in by_group.items():
        members = [rank for rank in _members(traces, group) if rank < traces.num_ranks]
        for rank in members[1:]:
            yield from _compare(traces, group, rows, members[0], rank)
    yield from _messages(traces)


def collectives_by_group(traces: TraceSet) -> dict[str, dict[int, NDArray[np.int64]]]:
    """For each process group, each rank's rows of its collectives, in file order ("" and "0" are one group)."""
    found: dict[str, dict[int, NDArray[np.int64]]] = defaultdict(dict)
    for rank, trace in enumerate(traces.traces):
        rows = np.flatnonzero(trace.type == NodeType.COMM_COLL)
        names = [_canonical(traces, trace.strings[name] if name >= 0 else "") for name in trace.process_group[rows]]
        for name in dict.fromkeys(names):
            found[name][rank] = rows[np.array([other == name for other in names])]
    return dict(found)


def _canonical(traces: TraceSet, group: str) -> str:
    return "0" if group == "" and "" not in traces.groups else group


def _members(traces: TraceSet, group: str) -> tuple[int, ...]:
    try:
        return traces.members(group)
    except KeyError:
        return ()


def _memberships(traces: TraceSet, by_group: dict[str, dict[int, NDArray[np.int64]]]) -> Iterator[Finding]:
    for group, rows in by_group.items():
        members = _members(traces, group)
        for rank, own in rows.items():
            if rank in members:
                continue
            message = (
                f"rank {rank} is not in group '{group}' of ranks {list(members)}"
                if members
                else f"group '{group}' is unknown; it must be in the comm-group JSON ({sorted(traces.groups)} are)"
            )
            yield at_node(traces.traces[rank], source_of(traces, rank), own[0], "pg_name", message)


def _compare(
    traces: TraceSet, group: str, rows: dict[int, NDArray[np.int64]], first: int, rank: int
) -> Iterator[Finding]:
    """Findings about the collectives of `rank` against those of the group's first rank."""
    none = np.empty(0, np.int64)
    reference, trace = traces.traces[first], traces.traces[rank]
    theirs, own = rows.get(first, none), rows.get(rank, none)
    source = source_of(traces, rank)
    count = min(len(theirs), len(own))
    theirs_type, own_type = reference.comm_type[theirs[:count]], trace.comm_type[own[:count]]
    different = np.flatnonzero(theirs_type != own_type)
    if len(different):
        # Past the first difference the ranks are out of step, and what stands at the same place means nothing.
        count = int(different[0])
        yield at_node(
            trace,
            source,
            own[count],
            "comm_type",
            f"collective {count} of group '{group}' is {_kind(own_type[count])} here and {_kind(theirs_type[count])} "
            f"on rank {first}",
        )
    elif len(theirs) != len(own):
        message = f"rank {rank} joins {len(own)} collectives of group '{group}', rank {first} joins {len(theirs)}"
        yield Finding(Severity.ERROR, source, "comm_type", message)
    theirs, own, own_type = theirs[:count], own[:count], own_type[:count]
    same_size = np.isin(own_type, _SAME_SIZE)
    roots = (reference.root[theirs] >= 0) & (trace.root[own] >= 0)
    for field, column, mask in (("comm_size", "comm_bytes", same_size), ("comm_root", "root", roots)):
        theirs_value, own_value = getattr(reference, column)[theirs], getattr(trace, column)[own]
        for k in np.flatnonzero(mask & (theirs_value != own_value)):
            yield at_node(
                trace,
                source,
                own[k],
                field,
                f"{_kind(own_type[k])} {k} of group '{group}' has {own_value[k]} here and {theirs_value[k]} "
                f"on rank {first}",
            )


def _kind(number: int) -> str:
    return CollectiveType(number).name if 0 <= number <= max(CollectiveType) else f"collective type {number}"


def _messages(traces: TraceSet) -> Iterator[Finding]:
    sizes: dict[NodeType, dict[tuple[int, int, int], list[int]]] = {}
    for kind, own_field in ((NodeType.COMM_SEND, "comm_src"), (NodeType.COMM_RECV, "comm_dst")):
        sizes[kind] = defaultdict(list)
        for rank, trace in enumerate(traces.traces):
            rows = np.flatnonzero(trace.type == kind)
            yield from _foreign_ends(traces, rank, rows, own_field)
            keys = zip(trace.comm_src[rows], trace.comm_dst[rows], trace.comm_tag[rows], strict=True)
            for (src, dst, tag), size in zip(keys, trace.comm_bytes[rows], strict=True):
                sizes[kind][int(src), int(dst), int(tag)].append(int(size))
    sends, receives = sizes[NodeType.COMM_SEND], sizes[NodeType.COMM_RECV]
    for key in sorted(sends.keys() | receives.keys()):
        src, dst, tag = key
        sent, received = sends.get(key, []), receives.get(key, [])
        channel = f"from rank {src} to rank {dst} with tag {tag}"
        source = source_of(traces, src) if 0 <= src < traces.num_ranks else f"rank {src}"
        if len(sent) != len(received):
            message = f"{len(sent)} sends and {len(received)} receives {channel}"
            yield Finding(Severity.ERROR, source, "comm_tag", message)
        elif sent != received:
            k = next(k for k, (a, b) in enumerate(zip(sent, received, strict=True)) if a != b)
            message = f"message {k} {channel} is sent with {sent[k]} bytes and received with {received[k]}"
            yield Finding(Severity.ERROR, source, "comm_size", message)


def _foreign_ends(traces: TraceSet, rank: int, rows: NDArray[np.int64], own_field: str) -> Iterator[Finding]:
    trace: Trace = traces.traces[rank]
    for field in ("comm_src", "comm_dst"):
        ends = getattr(trace, field)[rows]
        wrong = ends != rank if field == own_field else ends >= traces.num_ranks
        expected = f"this is rank {rank}" if field == own_field else f"the job has ranks 0 to {traces.num_ranks - 1}"
        for row, end in zip(rows[wrong], ends[wrong], strict=True):
            yield at_node(trace, source_of(traces, rank), row, field, f"{end}, but {expected}")
