"""The profile for ASTRA-sim: what its feeder and workload layer (Chakra feeder v3) accept, and traces turned into it.

Process groups are named by decimal integers; nodes run on the accelerator (`is_cpu_op` false); no METADATA nodes;
every dependency is in the file; collectives are all_reduce, all_gather, reduce_scatter, all_to_all of equal sizes on
all ranks, and broadcast, which ASTRA-sim replays by its duration. The rest (reduce, gather, scatter, barrier) it
refuses, so they become COMP nodes that last as long as was measured.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np

from hocket.base.errors import TraceError
from hocket.chakra.agreement import collectives_by_group
from hocket.chakra.finding import TraceFinding, TraceSeverity, at_node, source_of
from hocket.chakra.renaming import group_names, rename_groups
from hocket.chakra.subset import subset
from hocket.chakra.trace import CollectiveType, NodeType, Trace, TraceSet

__all__ = ["adapt", "adapt_trace", "violations"]

_REPLAYED = (CollectiveType.REDUCE, CollectiveType.GATHER, CollectiveType.SCATTER, CollectiveType.BARRIER)
_MAY_BE_UNEVEN = (CollectiveType.ALL_TO_ALL, CollectiveType.ALL_GATHER)
_EVERYBODY = ("", "0")


def adapt(traces: TraceSet) -> tuple[TraceSet, Counter[str]]:
    """The traces as ASTRA-sim takes them, and how many nodes each change touched (change in words: count).

    Groups whose names are no integers get the smallest free ones, in order of their names; an all_to_all or all_gather
    whose sizes differ gets the largest of its ranks, an upper bound. Raises TraceError when a rank is left without
    nodes or the ranks of a group are not known.
    """
    numbers = _group_numbers(traces)
    changes: Counter[str] = Counter()
    evened = _evened(traces, changes)
    adapted = tuple(adapt_trace(trace, numbers, changes) for trace in evened)
    groups = {numbers[name]: ranks for name, ranks in traces.groups.items() if numbers[name] not in _EVERYBODY}
    return TraceSet(adapted, groups), changes


def adapt_trace(trace: Trace, numbers: Mapping[str, str] | None = None, changes: Counter[str] | None = None) -> Trace:
    """One rank's trace as ASTRA-sim takes it; `numbers` renames groups, `changes` counts what was done.

    Raises TraceError for a group whose name is neither an integer nor in `numbers`: the ranks must agree on one.
    """
    changes = Counter() if changes is None else changes
    is_metadata = trace.type == NodeType.METADATA
    is_collective = trace.type == NodeType.COMM_COLL
    replayed = is_collective & np.isin(trace.comm_type, _REPLAYED)
    block = is_collective & (trace.comm_type == CollectiveType.REDUCE_SCATTER_BLOCK)
    for number in trace.comm_type[replayed]:
        changes[f"{CollectiveType(number).name} replayed as COMP of the measured duration"] += 1
    changes["REDUCE_SCATTER_BLOCK written as REDUCE_SCATTER"] += int(block.sum())
    changes["is_cpu_op set to false"] += int(((trace.is_cpu_op != 0) & ~is_metadata).sum())
    changes["nodes' inputs, outputs and attributes that ASTRA-sim does not read left out"] += int(
        (np.diff(trace.rest_offset) > 0).sum()
    )
    changes["METADATA nodes left out"] += int(is_metadata.sum())
    renamed = rename_groups(trace, _checked_numbers(trace, numbers or {}))
    adapted = replace(
        renamed,
        type=np.where(replayed, NodeType.COMP, trace.type).astype(np.uint8),
        comm_type=np.where(replayed, -1, np.where(block, CollectiveType.REDUCE_SCATTER, trace.comm_type)),
        comm_bytes=np.where(replayed, -1, trace.comm_bytes),
        root=np.where(replayed, -1, trace.root),
        dtype=np.where(replayed, -1, trace.dtype).astype(np.int32),
        in_splits=np.full(len(trace), -1, np.int32),  # even for ASTRA-sim, and of sizes that may have grown
        process_group=np.where(replayed, -1, renamed.process_group).astype(np.int32),
        is_cpu_op=np.zeros(len(trace), np.int8),
        rest_offset=np.zeros(len(trace) + 1, np.int64),
        rest=np.empty(0, np.uint8),
    )
    kept, num_dangling = subset(adapted, ~is_metadata)
    changes["dependencies on absent nodes left out"] += num_dangling
    if not len(kept):
        raise TraceError("a rank has no nodes besides metadata: ASTRA-sim refuses an empty trace")
    return kept


def violations(traces: TraceSet) -> Iterator[TraceFinding]:
    """What ASTRA-sim would refuse, beyond the findings of `validate`; `adapt` removes all of it."""
    for rank, trace in enumerate(traces.traces):
        source = source_of(traces, rank)
        if not len(trace):
            yield TraceFinding(TraceSeverity.ERROR, source, "node", "ASTRA-sim refuses an empty trace")
        for row in np.flatnonzero(trace.type == NodeType.METADATA):
            yield at_node(trace, source, row, "type", "ASTRA-sim stops at METADATA nodes")
        for row in np.flatnonzero(trace.is_cpu_op != 0):
            yield at_node(trace, source, row, "is_cpu_op", "ASTRA-sim runs only nodes whose is_cpu_op is false")
        for row in np.flatnonzero((trace.type == NodeType.COMM_COLL) & np.isin(trace.comm_type, _REPLAYED)):
            kind = CollectiveType(trace.comm_type[row]).name
            yield at_node(trace, source, row, "comm_type", f"ASTRA-sim does not simulate {kind}")
        for row in np.flatnonzero(trace.process_group >= 0):
            name = trace.strings[trace.process_group[row]]
            if name and not name.isdecimal():
                yield at_node(trace, source, row, "pg_name", f"'{name}' is not a decimal integer")
    for rank, uneven, _ in _uneven(traces):
        trace = traces.traces[rank]
        yield at_node(trace, source_of(traces, rank), uneven, "comm_size", "ASTRA-sim needs equal sizes on all ranks")


def _group_numbers(traces: TraceSet) -> dict[str, str]:
    used = collectives_by_group(traces)
    for name in used:
        if name not in traces.groups and name not in _EVERYBODY:
            raise TraceError(
                f"group '{name}': nothing says which ranks are in it, and ASTRA-sim has to know; "
                "name the comm-group JSON with --groups, or put it beside the traces as comm_groups.json"
            )
    names = sorted(set(traces.groups) | set(used))
    everybody = {name for name in _EVERYBODY if set(traces.members(name)) == set(range(traces.num_ranks))}
    numbers = {name: name for name in names if name in everybody or (name not in _EVERYBODY and name.isdecimal())}
    free = (str(number) for number in range(1, len(names) + 1) if str(number) not in numbers)
    return numbers | {name: next(free) for name in names if name not in numbers}


def _checked_numbers(trace: Trace, numbers: Mapping[str, str]) -> Mapping[str, str]:
    """`numbers`, when they have all groups of the trace that are no integers."""
    for name in group_names(trace):
        if name not in numbers and name and not name.isdecimal():
            raise TraceError(
                f"group '{name}': ASTRA-sim names groups by integers, on which all ranks must agree; "
                "write the traces of all ranks together"
            )
    return numbers


def _of_own_sizes(traces: TraceSet) -> Iterator[list[tuple[int, int]]]:
    """Every collective whose ranks may differ in size, as the rank and row of each member's node."""
    for rows in collectives_by_group(traces).values():
        for same_place in zip(*rows.values(), strict=False):
            calls = [(rank, int(row)) for rank, row in zip(rows, same_place, strict=True)]
            if all(traces.traces[rank].comm_type[row] in _MAY_BE_UNEVEN for rank, row in calls):
                yield calls


def _uneven(traces: TraceSet) -> Iterator[tuple[int, int, int]]:
    """Rank, row and wanted size of every node whose size is not the largest of its ranks."""
    for calls in _of_own_sizes(traces):
        sizes = [int(traces.traces[rank].comm_bytes[row]) for rank, row in calls]
        yield from ((*call, max(sizes)) for call, size in zip(calls, sizes, strict=True) if size != max(sizes))


def _evened(traces: TraceSet, changes: Counter[str]) -> list[Trace]:
    """The traces with every all_to_all and all_gather as large as the largest of its ranks."""
    sizes = [trace.comm_bytes.copy() for trace in traces.traces]
    for rank, row, largest in _uneven(traces):
        sizes[rank][row] = largest
        kind = CollectiveType(traces.traces[rank].comm_type[row])
        changes[f"{kind.name} grown to the largest of its ranks"] += 1
    return [replace(trace, comm_bytes=column) for trace, column in zip(traces.traces, sizes, strict=True)]
