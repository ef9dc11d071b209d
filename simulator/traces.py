"""Turns the traces of a job into a workload: matches collectives and messages across ranks."""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from hocket.chakra import CollectiveType, NodeType, Trace, TraceSet
from hocket.core.errors import TraceError
from hocket.schedule import Kind
from hocket.simulator.workload import BARRIER, Call, NodeKind, Workload

__all__ = ["workload_of"]

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
_SIZE_IS_SHARD = {Kind.ALL_GATHER.value, Kind.GATHER.value}  # a rank's input is its block of the buffer
_SIZE_MAY_DIFFER = {Kind.ALL_GATHER.value, Kind.GATHER.value, Kind.ALL_TO_ALL.value, Kind.SCATTER.value}
_PICOSECONDS_PER_NANOSECOND = 1000


def workload_of(traces: TraceSet, chunks_per_rank: int = 1) -> Workload:
    """The job's workload, ranks and nodes in ascending id; collectives are cut into `chunks_per_rank`.

    The k-th collective of a process group on one member is the k-th on all, and the k-th message with a source,
    destination and tag is the k-th receive of these; the order is that of the node ids. A trace counts a collective's
    size as bytes of the input on a rank; where ranks differ (uneven all_to_all, all_gather) the largest counts.
    Raises TraceError, naming rank and node, for duplicate ids, dependencies on absent nodes, missing attributes,
    unknown groups, node types that are not modelled, and ranks that disagree.
    """
    matcher = _Matcher(traces)
    ranks = [_rank_columns(traces, rank, matcher) for rank in range(traces.num_ranks)]
    rank_offset = np.cumsum([0, *(len(columns.kind) for columns in ranks)], dtype=np.int64)
    dependencies = [columns.dependency_count for columns in ranks]
    return Workload(
        rank_offset=rank_offset,
        kind=np.concatenate([columns.kind for columns in ranks]),
        operand=np.concatenate([columns.operand for columns in ranks]),
        member=np.concatenate([columns.member for columns in ranks]),
        node_id=np.concatenate([columns.node_id for columns in ranks]),
        name=np.concatenate([columns.name for columns in ranks]),
        strings=tuple(matcher.strings),
        dependency_offset=np.concatenate([[0], np.cumsum(np.concatenate(dependencies), dtype=np.int64)]),
        dependency=np.concatenate(
            [columns.dependency + start for columns, start in zip(ranks, rank_offset[:-1], strict=True)]
        ),
        collectives=matcher.calls(chunks_per_rank),
        message_src=np.array([key[0] for key in matcher.messages], np.int32),
        message_dst=np.array([key[1] for key in matcher.messages], np.int32),
        message_tag=np.array([key[2] for key in matcher.messages], np.int64),
        message_bytes=np.array([message.size for message in matcher.messages.values()], np.int64),
        notes=matcher.notes(),
    )


@dataclass(eq=False)
class _Columns:
    kind: NDArray[np.uint8]
    operand: NDArray[np.int64]
    member: NDArray[np.int32]
    node_id: NDArray[np.uint64]
    name: NDArray[np.int32]
    dependency_count: NDArray[np.int64]
    dependency: NDArray[np.int64]


def _rank_columns(traces: TraceSet, rank: int, matcher: "_Matcher") -> _Columns:
    trace = traces.traces[rank]
    place = traces.paths[rank] if traces.paths else f"rank {rank}"
    order = np.argsort(trace.id, kind="stable")
    ids = trace.id[order]
    twice = ids[1:][ids[1:] == ids[:-1]]
    if len(twice):
        raise TraceError(f"{place}: node id {twice[0]} occurs twice; ids must be unique within a rank")
    count, dependency = _dependencies(trace, order, ids, place)

    types = trace.type[order]
    kind = np.full(len(trace), NodeKind.NOTHING, np.uint8)
    operand = np.zeros(len(trace), np.int64)
    member = np.zeros(len(trace), np.int32)
    compute = types == NodeType.COMP
    kind[compute] = NodeKind.COMPUTE
    operand[compute] = trace.duration_ns[order][compute] * _PICOSECONDS_PER_NANOSECOND
    for row in np.flatnonzero(~compute & (types != NodeType.METADATA)).tolist():
        node = _Node(rank, place, trace, int(order[row]))
        kind[row], operand[row], member[row] = matcher.match(node)
    strings = np.array([matcher.string(text) for text in trace.strings], np.int32)
    return _Columns(kind, operand, member, ids, strings[trace.name[order]], count, dependency)


def _dependencies(
    trace: Trace, order: NDArray[np.int64], ids: NDArray[np.uint64], place: str
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Data and control dependencies as rows in id order: how many each row has, and all of them row after row."""
    owner = np.concatenate(
        [np.repeat(np.arange(len(trace)), np.diff(offset)) for offset in (trace.data_offset, trace.ctrl_offset)]
    )
    wanted = np.concatenate([trace.data_deps, trace.ctrl_deps])
    found = np.searchsorted(ids, wanted)
    absent = np.flatnonzero(ids[np.minimum(found, len(ids) - 1)] != wanted) if len(ids) else np.arange(0)
    if len(absent):
        raise TraceError(
            f"{place}: node {trace.id[owner[absent[0]]]} depends on node {wanted[absent[0]]}, which does not exist"
        )
    row_of = np.empty(len(trace), np.int64)
    row_of[order] = np.arange(len(trace))
    owner_row = row_of[owner]
    return np.bincount(owner_row, minlength=len(trace)), found[np.argsort(owner_row, kind="stable")].astype(np.int64)


@dataclass(frozen=True, slots=True)
class _Node:
    """One communication node, for reading and for messages."""

    rank: int
    place: str
    trace: Trace
    row: int

    def __str__(self) -> str:
        return f"{self.place}: node {self.trace.id[self.row]} ({self.trace.strings[self.trace.name[self.row]]})"

    def required(self, column: str, attribute: str) -> int:
        value = int(getattr(self.trace, column)[self.row])
        if value < 0:
            raise TraceError(f"{self}: attribute {attribute} is missing")
        return value


@dataclass(slots=True)
class _Instance:
    """A collective that is being matched: what its first member said."""

    number: int
    first: _Node
    group: tuple[int, ...]
    kind: str
    root: int
    sizes: set[int] = field(default_factory=set)


@dataclass(slots=True)
class _Message:
    number: int
    size: int
    first: _Node
    ends: set[int] = field(default_factory=set)


class _Matcher:
    """Numbers collectives, messages and names across the ranks, in the order in which it meets them."""

    def __init__(self, traces: TraceSet) -> None:
        self.messages: dict[tuple[int, int, int, int], _Message] = {}  # (src, dst, tag, how many before)
        self.strings: dict[str, int] = {}
        self._traces = traces
        self._instances: dict[tuple[str, int], _Instance] = {}
        self._counts: dict[tuple[object, ...], int] = {}
        self._rootless: set[str] = set()
        self._groups: dict[str, tuple[int, ...]] = {}
        self._positions: dict[str, dict[int, int]] = {}  # of each rank in each group

    def string(self, text: str) -> int:
        return self.strings.setdefault(text, len(self.strings))

    def match(self, node: _Node) -> tuple[NodeKind, int, int]:
        """The node's kind, operand and member number."""
        node_type = int(node.trace.type[node.row])
        if node_type == NodeType.COMM_COLL:
            return self._collective(node)
        if node_type in (NodeType.COMM_SEND, NodeType.COMM_RECV):
            return self._message(node, NodeKind.SEND if node_type == NodeType.COMM_SEND else NodeKind.RECEIVE)
        name = NodeType(node_type).name if node_type in set(NodeType) else str(node_type)
        raise TraceError(f"{node}: nodes of type {name} are not modelled; remove them or use COMP nodes")

    def calls(self, chunks_per_rank: int) -> tuple[Call, ...]:
        return tuple(_call(instance, chunks_per_rank) for instance in self._instances.values())

    def notes(self) -> tuple[str, ...]:
        return tuple(self._notes())

    def _notes(self) -> Iterator[str]:
        uneven = [instance for instance in self._instances.values() if _uneven(instance)]
        if uneven:
            yield f"{len(uneven)} uneven collectives are simulated with every rank at the largest rank's size"
        if self._rootless:
            yield f"{', '.join(sorted(self._rootless))} without a root in the trace: the group's first rank is the root"
        unreceived = sum(message.ends == {NodeKind.SEND} for message in self.messages.values())
        if unreceived:
            yield f"{unreceived} messages are sent but never received"

    def _next(self, *key: object) -> int:
        """How often the key was asked for before."""
        count = self._counts.get(key, 0)
        self._counts[key] = count + 1
        return count

    def _collective(self, node: _Node) -> tuple[NodeKind, int, int]:
        trace = node.trace
        code = node.required("comm_type", "comm_type")
        if code not in _KINDS:
            raise TraceError(f"{node}: comm_type {code} is not a collective of the schema (0..9)")
        kind = _KINDS[CollectiveType(code)]
        size = 0 if kind == BARRIER else node.required("comm_bytes", "comm_size")
        name = trace.strings[trace.process_group[node.row]] if trace.process_group[node.row] >= 0 else ""
        group = self._group(node, name)
        if node.rank not in self._positions[name]:
            raise TraceError(f"{node}: its process group '{name}' is ranks {list(group)}, without rank {node.rank}")
        root = self._root(node, kind, group)
        key = (name, self._next(node.rank, name))
        instance = self._instances.setdefault(key, _Instance(len(self._instances), node, group, kind, root))
        if (instance.kind, instance.root) != (kind, root):
            raise TraceError(
                f"{node}: collective {key[1]} of process group '{name}' is {kind} with root {group[root]} here,"
                f" but {instance.kind} with root {group[instance.root]} in {instance.first}"
            )
        instance.sizes.add(size)
        if len(instance.sizes) > 1 and kind not in _SIZE_MAY_DIFFER:
            raise TraceError(
                f"{node}: collective {key[1]} of process group '{name}' is {kind} of {size} bytes here, but another"
                f" rank has {min(instance.sizes - {size})} bytes (first seen in {instance.first})"
            )
        return NodeKind.COLLECTIVE, instance.number, self._positions[name][node.rank]

    def _group(self, node: _Node, name: str) -> tuple[int, ...]:
        if name in self._groups:
            return self._groups[name]
        try:
            group = self._traces.members(name)
        except KeyError:
            raise TraceError(
                f"{node}: process group '{name}' is unknown; expected it in comm_groups.json beside the traces"
            ) from None
        if max(group) >= self._traces.num_ranks:
            raise TraceError(
                f"{node}: process group '{name}' has rank {max(group)}, but there are traces of"
                f" {self._traces.num_ranks} ranks only"
            )
        self._groups[name] = group
        self._positions[name] = {rank: position for position, rank in enumerate(group)}
        return group

    def _root(self, node: _Node, kind: str, group: tuple[int, ...]) -> int:
        if kind not in (Kind.BROADCAST, Kind.REDUCE, Kind.GATHER, Kind.SCATTER):
            return 0
        root = int(node.trace.root[node.row])
        if root < 0:
            self._rootless.add(kind)
            return 0
        if root not in group:
            raise TraceError(f"{node}: root {root} is not in its process group {list(group)}")
        return group.index(root)

    def _message(self, node: _Node, end: NodeKind) -> tuple[NodeKind, int, int]:
        own, peer = ("comm_src", "comm_dst") if end is NodeKind.SEND else ("comm_dst", "comm_src")
        claimed = int(getattr(node.trace, own)[node.row])
        other = node.required(peer, peer)
        if claimed not in (-1, node.rank):
            raise TraceError(f"{node}: {own} is {claimed}, expected this rank, {node.rank}")
        if other == node.rank or other >= self._traces.num_ranks:
            raise TraceError(f"{node}: {peer} is {other}, expected another of the {self._traces.num_ranks} ranks")
        src, dst = (node.rank, other) if end is NodeKind.SEND else (other, node.rank)
        tag, size = int(node.trace.comm_tag[node.row]), node.required("comm_bytes", "comm_size")
        key = (src, dst, tag, self._next(end, src, dst, tag))
        message = self.messages.setdefault(key, _Message(len(self.messages), size, node))
        if message.size != size:
            raise TraceError(
                f"{node}: message {key[3]} from rank {src} to rank {dst} with tag {tag} has {size} bytes here, but"
                f" {message.size} bytes in {message.first}"
            )
        message.ends.add(end)
        return end, message.number, 0


def _uneven(instance: _Instance) -> bool:
    return len(instance.sizes) > 1 and instance.kind != Kind.SCATTER


def _call(instance: _Instance, chunks_per_rank: int) -> Call:
    """A trace counts the input of a rank; a collective's size is its larger buffer (Collective)."""
    blocks = len(instance.group) if instance.kind in _SIZE_IS_SHARD else 1
    return Call(instance.kind, instance.group, max(instance.sizes) * blocks, instance.root, chunks_per_rank)
