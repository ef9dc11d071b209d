"""Finds the nodes of different ranks that are one collective."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hocket.chakra import CollectiveType, NodeType
from hocket.schedule import Kind
from hocket.simulator.traces.groups import Groups
from hocket.simulator.traces.nodes import Nodes
from hocket.simulator.traces.numbering import number_equal, occurrence
from hocket.simulator.workload import BARRIER, Call

__all__ = ["Collectives", "match_collectives"]

_KINDS = {
    CollectiveType.ALL_REDUCE: Kind.ALL_REDUCE.value,
    CollectiveType.REDUCE: Kind.REDUCE.value,
    CollectiveType.ALL_GATHER: Kind.ALL_GATHER.value,
    CollectiveType.GATHER: Kind.GATHER.value,
    CollectiveType.SCATTER: Kind.SCATTER.value,
    CollectiveType.BROADCAST: Kind.BROADCAST.value,
    CollectiveType.ALL_TO_ALL: Kind.ALL_TO_ALL.value,
    CollectiveType.REDUCE_SCATTER: Kind.REDUCE_SCATTER.value,
    CollectiveType.REDUCE_SCATTER_BLOCK: Kind.REDUCE_SCATTER.value,
    CollectiveType.BARRIER: BARRIER,
}
_KIND_NAMES = tuple(dict.fromkeys(_KINDS.values()))
_KIND_OF_TYPE = np.array([_KIND_NAMES.index(_KINDS[CollectiveType(code)]) for code in range(len(_KINDS))])
_ROOTED = (Kind.BROADCAST, Kind.REDUCE, Kind.GATHER, Kind.SCATTER)
_SIZE_IS_SHARD = (Kind.ALL_GATHER, Kind.GATHER)  # a rank's input is its block of the buffer
_SIZE_MAY_DIFFER = (Kind.ALL_GATHER, Kind.GATHER, Kind.ALL_TO_ALL, Kind.SCATTER)


@dataclass(frozen=True, eq=False)
class Collectives:
    """Nodes `rows` take part in collective `instance` as member `member` of its group (int64); instance i is
    `calls[call_of[i]]` and that of process group `groups[group_of[i]]`."""

    rows: NDArray[np.int64]
    instance: NDArray[np.int64]
    member: NDArray[np.int64]
    calls: tuple[Call, ...]
    call_of: NDArray[np.int32]
    groups: tuple[str, ...]
    group_of: NDArray[np.int32]
    notes: tuple[str, ...]


def match_collectives(nodes: Nodes, chunks_per_rank: int) -> Collectives:
    """The k-th collective of a process group on one member is the k-th on all.

    Raises TraceError, naming file and node, for missing attributes, unknown kinds, groups and roots, and ranks that
    disagree.
    """
    rows = np.flatnonzero(nodes.type == NodeType.COMM_COLL)
    kind = _kinds(nodes, rows)
    size = np.zeros(len(rows), np.int64)
    sized = kind != _KIND_NAMES.index(BARRIER)
    size[sized] = nodes.required(rows[sized], "comm_bytes", "comm_size")
    groups = Groups(nodes, rows)
    root, rootless = _roots(nodes, rows, kind, groups)
    number = occurrence(groups.of * nodes.traces.num_ranks + nodes.rank[rows])
    instance, first = number_equal(groups.of, number)

    def here(at: int) -> str:
        return f"collective {number[at]} of process group '{groups.names[groups.of[at]]}' is {_KIND_NAMES[kind[at]]}"

    def differs(at: int) -> str:
        ranks, other = groups.members[groups.of[at]], int(first[instance[at]])
        return (
            f"{here(at)} with root {ranks[root[at]]} here, but {_KIND_NAMES[kind[other]]} with root"
            f" {ranks[root[other]]} in {nodes.describe(int(rows[other]))}"
        )

    def differs_in_size(at: int) -> str:
        other = int(first[instance[at]])
        return (
            f"{here(at)} of {size[at]} bytes here, but another rank has {size[other]} bytes"
            f" (first seen in {nodes.describe(int(rows[other]))})"
        )

    leader = first[instance]
    nodes.require((kind == kind[leader]) & (root == root[leader]), rows, differs)
    nodes.require((size == size[leader]) | _is_one_of(kind, _SIZE_MAY_DIFFER), rows, differs_in_size)

    largest = np.zeros(len(first), np.int64)
    np.maximum.at(largest, instance, size)
    uneven = np.zeros(len(first), np.bool_)
    uneven[instance[size != size[leader]]] = True
    uneven &= ~_is_one_of(kind[first], (Kind.SCATTER,))
    calls, call_of = _calls(kind[first], groups, groups.of[first], largest, root[first], chunks_per_rank)
    return Collectives(
        rows=rows,
        instance=instance,
        member=groups.own_position,
        calls=calls,
        call_of=call_of,
        groups=tuple(groups.names),
        group_of=groups.of[first].astype(np.int32),
        notes=tuple(_notes(int(uneven.sum()), rootless)),
    )


def _kinds(nodes: Nodes, rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """The kind of each node, as an index into _KIND_NAMES."""
    code = nodes.required(rows, "comm_type", "comm_type")
    nodes.require(
        code < len(_KIND_OF_TYPE), rows, lambda at: f"comm_type {code[at]} is not a collective of the schema (0..9)"
    )
    return _KIND_OF_TYPE[code]


def _is_one_of(kind: NDArray[np.int64], kinds: tuple[str, ...]) -> NDArray[np.bool_]:
    return np.isin(kind, [_KIND_NAMES.index(name) for name in kinds])


def _roots(
    nodes: Nodes, rows: NDArray[np.int64], kind: NDArray[np.int64], groups: Groups
) -> tuple[NDArray[np.int64], list[str]]:
    """Each node's root as a position in its group, 0 where it has none; and the kinds of nodes that lack one."""
    root = nodes.column("root")[rows]
    rooted = _is_one_of(kind, _ROOTED)
    given = rooted & (root >= 0)
    position = np.zeros(len(rows), np.int64)
    position[given] = groups.position(groups.of[given], root[given])
    nodes.require(
        position >= 0,
        rows,
        lambda at: f"root {root[at]} is not in its process group {list(groups.members[groups.of[at]])}",
    )
    return position, sorted(_KIND_NAMES[index] for index in np.unique(kind[rooted & ~given]))


def _calls(
    kind: NDArray[np.int64],
    groups: Groups,
    group: NDArray[np.int64],
    largest: NDArray[np.int64],
    root: NDArray[np.int64],
    chunks_per_rank: int,
) -> tuple[tuple[Call, ...], NDArray[np.int32]]:
    """The distinct calls, and which of them each instance is.

    A trace counts the input of a rank; a collective's size is its larger buffer (Collective)."""
    blocks = np.where(_is_one_of(kind, _SIZE_IS_SHARD), np.array([len(ranks) for ranks in groups.members])[group], 1)
    distinct_group = {ranks: number for number, ranks in enumerate(dict.fromkeys(groups.members))}
    same_ranks = np.array([distinct_group[ranks] for ranks in groups.members], np.int64)[group]
    call_of, first = number_equal(kind, same_ranks, largest * blocks, root)
    calls = tuple(
        Call(
            _KIND_NAMES[kind[at]],
            groups.members[group[at]],
            int(largest[at] * blocks[at]),
            int(root[at]),
            chunks_per_rank,
        )
        for at in first.tolist()
    )
    return calls, call_of.astype(np.int32)


def _notes(num_uneven: int, rootless: list[str]) -> Iterator[str]:
    if num_uneven:
        yield f"{num_uneven} uneven collectives are simulated with every rank at the largest rank's size"
    if rootless:
        yield f"{', '.join(rootless)} without a root in the trace: the group's first rank is the root"
