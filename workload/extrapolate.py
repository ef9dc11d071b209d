"""Makes the traces of a larger job from those of a small one: copies of its ranks, some of whose groups grow together.

What grows spans the copies (the data-parallel group of a training job); all other groups, and messages, stay within a
copy. Sizes, as a rank's input, in a group that grows by a factor:

- all_reduce, broadcast, reduce, gather, all_to_all: unchanged (gradient buckets, tokens per rank);
- all_gather: divided by it, rounded up: what is gathered stays as large (sharded parameters: FSDP, ZeRO);
- reduce_scatter: unchanged, so a rank's part of the result is divided by it;
- scatter: multiplied by it, so a rank's part stays.

Elsewhere sizes stay, but for all_reduces of exactly what a reduce_scatter leaves on the rank in a group that grows
(hybrid sharding): they are divided too.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import prod

import numpy as np
from numpy.typing import NDArray

from hocket.base.errors import Infeasible, TraceError
from hocket.chakra.agreement import collectives_by_group
from hocket.chakra.finding import TraceSeverity, at_node, source_of
from hocket.chakra.job_metadata import without_totals
from hocket.chakra.renaming import group_names, rename_groups
from hocket.chakra.trace import CollectiveType, NodeType, Trace, TraceSet
from hocket.chakra.validate import validate

__all__ = ["Growth", "extrapolate", "spanning_groups"]

_EVERYBODY = "0"
_MOST_RANKS = 1 << 20


@dataclass(frozen=True)
class Growth:
    """The groups `groups` become `factor` times as large."""

    groups: frozenset[str]
    factor: int


def spanning_groups(traces: TraceSet) -> frozenset[str]:
    """The group that grows unless told otherwise: the one of all ranks, when no other has collectives.

    Raises TraceError, listing the groups, when there is a choice to make, and when nothing is there to grow; and for
    traces that are not valid.
    """
    _require_valid(traces)
    used = collectives_by_group(traces)
    if not used:
        raise TraceError("these ranks have no collectives: copies of them would have nothing to do with each other")
    if len(used) == 1 and all(len(traces.members(name)) == traces.num_ranks for name in used):
        return frozenset(used)
    raise TraceError(
        "which groups span the copies (the data-parallel ones)? Name each with its new size, such as "
        f"--group {min(used)}=64; there are {_listed(traces, used)}"
    )


def extrapolate(traces: TraceSet, growths: Sequence[Growth]) -> tuple[TraceSet, list[str]]:
    """The traces of the larger job, and what was assumed, in words.

    Copy c of rank r becomes rank r + c * num_ranks. Growths happen one after the other; a later one grows all copies
    of its groups. A group that stays within a copy is called NAME.c in copy c.
    Raises TraceError, naming the node or rank, for traces that are not valid, groups that have no collectives, and
    ranks in none of the groups that grow, or in several; and inputs in these groups that are cut unevenly. Raises
    Infeasible for more ranks than a job can have here.
    """
    num_ranks = traces.num_ranks * prod(growth.factor for growth in growths)
    if num_ranks > _MOST_RANKS:
        raise Infeasible(f"{num_ranks} ranks are too many: a job has at most {_MOST_RANKS}")
    _require_valid(traces)
    larger = TraceSet(tuple(_named(trace, traces) for trace in traces.traces), traces.groups, traces.paths)
    notes: list[str] = []
    families = {name: {name} for growth in growths for name in growth.groups}
    for growth in growths:
        grown = frozenset(name for family in growth.groups for name in families[family])
        larger, changes = _grow(larger, grown, growth.factor)
        for names in families.values():
            kept = names - grown
            names |= {copy for name in kept for copy in _copies(name, growth.factor)}
            names -= kept
        notes += _notes(traces, growth, changes)
    return larger, [
        f"{traces.num_ranks} ranks become {larger.num_ranks}",
        *notes,
        "other groups, and messages, stay within each copy of the ranks",
        "each rank computes as long as recorded (weak scaling), with the recorded jitter in every copy",
    ]


def _require_valid(traces: TraceSet) -> None:
    errors = [finding for finding in validate(traces) if finding.severity is TraceSeverity.ERROR]
    if errors:
        raise TraceError(f"{errors[0].text} (one of {len(errors)} errors; `hocket trace validate` shows all)")


def _notes(traces: TraceSet, growth: Growth, changes: Counter[str]) -> Iterator[str]:
    sizes = {name: len(traces.members(name)) for name in sorted(growth.groups)}
    grown = (f"'{name}' from {size} to {size * growth.factor} ranks" for name, size in sizes.items())
    yield f"{growth.factor} copies, spanned by group {', '.join(grown)}"
    for change, count in sorted(changes.items()):
        if count:
            yield f"  {count} x {change}"


def _named(trace: Trace, traces: TraceSet) -> Trace:
    """The trace with a name for the group of everybody, where its collectives have none."""
    nameless = (trace.type == NodeType.COMM_COLL) & (trace.process_group < 0)
    everybody = len(trace.strings)
    process_group = np.where(nameless, everybody, trace.process_group).astype(np.int32)
    named = replace(trace, strings=(*trace.strings, _EVERYBODY), process_group=process_group)
    return named if "" in traces.groups else rename_groups(named, {"": _EVERYBODY})


def _grow(traces: TraceSet, grown: frozenset[str], factor: int) -> tuple[TraceSet, Counter[str]]:
    """`factor` copies of all ranks; the groups `grown` span them. Counts what changed on the ranks of one copy."""
    _check(traces, grown)
    _check_cuts(traces, grown)
    changes: Counter[str] = Counter()
    resized = [_resized(traces, rank, grown, factor, changes) for rank in range(traces.num_ranks)]
    copies = tuple(
        _copied(trace, rank, copy, traces.num_ranks, factor, grown)
        for copy in range(factor)
        for rank, trace in enumerate(resized)
    )
    return TraceSet(copies, _copied_groups(traces, grown, factor)), changes


def _copied_groups(traces: TraceSet, grown: Collection[str], factor: int) -> dict[str, tuple[int, ...]]:
    groups: dict[str, tuple[int, ...]] = {}
    for name in sorted({*collectives_by_group(traces), *traces.groups}):
        members = traces.members(name)
        copies = [tuple(rank + copy * traces.num_ranks for rank in members) for copy in range(factor)]
        if name not in grown:
            groups |= zip(_copies(name, factor), copies, strict=True)
        elif name in traces.groups:
            groups[name] = tuple(rank for copy in copies for rank in copy)
    return groups


def _check(traces: TraceSet, grown: Collection[str]) -> None:
    used = collectives_by_group(traces)
    for name in sorted(grown):
        if name not in used:
            raise TraceError(
                f"group '{name}' has no collectives, so it cannot span copies of the ranks; there are "
                f"{_listed(traces, used)}"
            )
    counts = Counter(rank for name in grown for rank in traces.members(name))
    for rank in range(traces.num_ranks):
        if counts[rank] != 1:
            raise TraceError(
                f"{source_of(traces, rank)}: rank {rank} is in {counts[rank]} of the groups that span the copies "
                f"({', '.join(sorted(grown))}), and must be in one; there are {_listed(traces, used)}"
            )


def _check_cuts(traces: TraceSet, grown: Collection[str]) -> None:
    for rank, trace in enumerate(traces.traces):
        for row in np.flatnonzero(_in_groups(trace, grown) & (trace.in_splits >= 0)):
            message = "says how the input is cut for the present ranks of the group; for more ranks nobody knows"
            raise TraceError(at_node(trace, source_of(traces, rank), row, "in_split_size", message).text)


def _listed(traces: TraceSet, names: Iterable[str]) -> str:
    return "; ".join(f"'{name}' of ranks {list(traces.members(name))}" for name in sorted(names)) or "no groups"


def _copies(name: str, factor: int) -> list[str]:
    """What a group that stays within a copy is called in each."""
    return [f"{name}.{copy}" for copy in range(factor)]


def _in_groups(trace: Trace, names: Collection[str]) -> NDArray[np.bool_]:
    """Which nodes are in one of the groups (n,)."""
    used = np.unique(trace.process_group[trace.process_group >= 0])
    return np.isin(trace.process_group, [index for index in used if trace.strings[index] in names])


def _resized(traces: TraceSet, rank: int, grown: Collection[str], factor: int, changes: Counter[str]) -> Trace:
    """A rank's trace with the sizes of the larger groups; `changes` counts what happened to how many nodes."""
    trace = traces.traces[rank]
    sizes = trace.comm_bytes.copy()
    is_collective = trace.type == NodeType.COMM_COLL
    in_grown = _in_groups(trace, grown)
    for kind in CollectiveType:
        rows = is_collective & in_grown & (trace.comm_type == kind)
        if kind is CollectiveType.ALL_GATHER:
            _divide(sizes, rows, factor, changes, "ALL_GATHER", "what is gathered stays as large (sharded)")
        elif kind is CollectiveType.SCATTER:
            sizes[rows] *= factor
            changes[f"SCATTER of {factor} times the root's input: each rank's part stays"] += int(rows.sum())
        else:
            changes[f"{kind.name} of the same input"] += int(rows.sum())
    of_shards = is_collective & ~in_grown & (trace.comm_type == CollectiveType.ALL_REDUCE)
    of_shards &= np.isin(trace.comm_bytes, _shards(traces, rank, grown))
    _divide(sizes, of_shards, factor, changes, "ALL_REDUCE", "it is of a reduce-scattered shard, which shrinks")
    return replace(trace, comm_bytes=sizes)


def _divide(
    sizes: NDArray[np.int64], rows: NDArray[np.bool_], factor: int, changes: Counter[str], kind: str, reason: str
) -> None:
    changes[f"{kind} rounded up, as {factor} does not divide its input"] += int((sizes[rows] % factor > 0).sum())
    changes[f"{kind} of 1/{factor} the input: {reason}"] += int(rows.sum())
    sizes[rows] = -(-sizes[rows] // factor)


def _shards(traces: TraceSet, rank: int, grown: Collection[str]) -> list[int]:
    """Bytes that the rank's reduce_scatters in the groups leave on it."""
    trace = traces.traces[rank]
    scattering = np.isin(trace.comm_type, (CollectiveType.REDUCE_SCATTER, CollectiveType.REDUCE_SCATTER_BLOCK))
    shards = []
    for row in np.flatnonzero(scattering & _in_groups(trace, grown)):
        size, members = int(trace.comm_bytes[row]), len(traces.members(trace.strings[trace.process_group[row]]))
        if size and size % members == 0:
            shards.append(size // members)
    return shards


def _copied(trace: Trace, rank: int, copy: int, num_ranks: int, factor: int, grown: Collection[str]) -> Trace:
    """Copy `copy` of a rank: other world ranks, other names of the groups that stay within it.

    The root of a group that grows stays in copy 0.
    """
    shift = copy * num_ranks
    names = {name: _copies(name, factor)[copy] for name in group_names(trace) if name not in grown}
    metadata = without_totals(trace.metadata) | {"world_size": num_ranks * factor}
    if "rank" in metadata:
        metadata["rank"] = rank + shift
    return replace(
        rename_groups(trace, names),
        metadata=metadata,
        comm_src=_shifted(trace.comm_src, shift),
        comm_dst=_shifted(trace.comm_dst, shift),
        root=np.where(_in_groups(trace, grown), trace.root, _shifted(trace.root, shift)),
    )


def _shifted(ranks: NDArray[np.int64], shift: int) -> NDArray[np.int64]:
    return np.where(ranks >= 0, ranks + shift, ranks)
