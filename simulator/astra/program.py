"""Traces as the engine's programs: every rank's nodes in ascending id, checked for what ASTRA-sim cannot run."""

from collections.abc import Callable, Iterator
from dataclasses import fields
from functools import lru_cache
from types import MappingProxyType
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from hocket.base.errors import TraceError
from hocket.chakra import CollectiveType, NodeType, Trace, TraceSet
from hocket.simulator.astra.system import KIND_NAMES

__all__ = ["EVERYBODY", "Action", "AstraNodes", "Resource", "are_alike", "columns_of", "columns_of_one"]

EVERYBODY = ("", "0")  # names of the process group of all ranks
_TAGS = 500_000_000  # collectives have tags from here; those of single messages are cut to below
_MAX_BYTES = 1 << 50


class Action:
    """What a node does (the engine's numbers; no enum, as numpy compares with those ten times as slowly)."""

    SKIP = 0
    REPLAY = 1
    ROOFLINE = 2
    MEMORY = 3
    COLLECTIVE = 4
    BROADCAST = 5
    SEND = 6
    RECEIVE = 7


class Resource:
    """What a node occupies (the engine's numbers)."""

    PROCESSOR = 0
    ACCELERATOR = 1
    NETWORK = 2
    NOTHING = 3


def _by_number(rows: dict[int, int], otherwise: int) -> NDArray[np.uint8]:
    """A table to be indexed by the keys, of up to 255."""
    table = np.full(256, otherwise, np.uint8)
    table[list(rows)] = list(rows.values())
    return table


_ACTION_OF_TYPE = _by_number(
    {
        NodeType.MEM_LOAD: Action.MEMORY,
        NodeType.MEM_STORE: Action.MEMORY,
        NodeType.COMP: Action.REPLAY,
        NodeType.COMM_SEND: Action.SEND,
        NodeType.COMM_RECV: Action.RECEIVE,
        NodeType.COMM_COLL: Action.COLLECTIVE,
    },
    Action.SKIP,
)
_RESOURCE_OF_TYPE = _by_number(
    {NodeType.COMP: Resource.ACCELERATOR, NodeType.COMM_RECV: Resource.NOTHING}, Resource.NETWORK
)
_SEND, _RECEIVE = int(NodeType.COMM_SEND), int(NodeType.COMM_RECV)
_METADATA = int(NodeType.METADATA)
_BROADCAST = int(CollectiveType.BROADCAST)
_KNOWN = ", ".join(collective.name for collective in (*KIND_NAMES, CollectiveType.BROADCAST))
_OTHER_KIND = len(KIND_NAMES)
_KIND_OF_TYPE = _by_number({kind: number for number, kind in enumerate(KIND_NAMES)}, _OTHER_KIND)

# All but what a trace may have of its own and do the same: names, and when it was recorded.
_CONTENT = tuple(
    field.name
    for field in fields(Trace)
    if field.name not in ("version", "metadata", "strings", "name", "start_us", "process_group")
)


def are_alike(traces: tuple[Trace, ...]) -> bool:
    """Whether all ranks do the same, and all of it alone or with everybody: no messages, no groups."""
    first, *others = traces
    messages = (first.type == _SEND) | (first.type == _RECEIVE)
    if messages.any() or not _is_for_everybody(first):
        return False
    distinct = [trace for trace in others if trace is not first]
    content = _content(first) if distinct else []
    return all(_content(trace) == content and _is_for_everybody(trace) for trace in distinct)


def _content(trace: Trace) -> list[bytes]:
    return [getattr(trace, name).tobytes() for name in _CONTENT]


def _is_for_everybody(trace: Trace) -> bool:
    grouped = trace.process_group >= 0
    return not grouped.any() or all(trace.strings[at] in EVERYBODY for at in np.unique(trace.process_group[grouped]))


class AstraNodes:
    """The nodes of all ranks of a job as columns, ascending by rank and id; `of` takes any column of `Trace`."""

    def __init__(self, traces: TraceSet) -> None:
        self.traces = traces
        sizes = np.array([len(trace) for trace in traces.traces], np.int64)
        self.rank_offset = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        rank = np.repeat(np.arange(len(sizes), dtype=np.int64), sizes)
        ids = np.concatenate([trace.id for trace in traces.traces])
        self._order = np.lexsort((ids, rank))
        self.rank = rank
        self.id = ids[self._order]
        repeated = np.flatnonzero((self.id[1:] == self.id[:-1]) & (rank[1:] == rank[:-1]))
        if len(repeated):
            self.refuse(repeated[0], "another node has this id; ids must be unique")
        self.type = self.of("type")

    def __len__(self) -> int:
        return len(self.id)

    def of(self, column: str) -> NDArray[Any]:
        """A column of the traces, in the order of the nodes."""
        columns = [getattr(trace, column) for trace in self.traces.traces]
        in_order: NDArray[Any] = np.concatenate(columns)[self._order]
        return in_order

    def groups(self) -> NDArray[np.object_]:
        """The name of each node's process group, None for everybody."""
        names = np.full(len(self), None, object)
        for rank, trace in enumerate(self.traces.traces):
            for row in np.flatnonzero(trace.process_group >= 0):
                names[self.rank_offset[rank] + row] = trace.strings[trace.process_group[row]]
        in_order: NDArray[np.object_] = names[self._order]
        return in_order

    def describe(self, node: int) -> str:
        """`file: node 3 'name'`, for messages."""
        rank = int(self.rank[node])
        trace = self.traces.traces[rank]
        name = trace.strings[trace.name[self._order[node] - self.rank_offset[rank]]]
        source = self.traces.paths[rank] if self.traces.paths else f"rank {rank}"
        return f"{source}: node {self.id[node]} '{name}'"

    def refuse(self, node: int, reason: str) -> NoReturn:
        """Raises TraceError about a node."""
        raise TraceError(f"{self.describe(int(node))}: {reason}")

    def require(self, holds: NDArray[np.bool_], reason: str | Callable[[int], str]) -> None:
        """Raises TraceError about the first node for which `holds` is false."""
        if not holds.all():
            wrong = int(holds.argmin())
            self.refuse(wrong, reason if isinstance(reason, str) else reason(wrong))

    def dependencies(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Offsets of each node's dependencies, data and control, and the nodes that they are, as rows."""
        if not any(len(trace.data_deps) or len(trace.ctrl_deps) for trace in self.traces.traces):
            return np.zeros(len(self) + 1, np.int64), np.zeros(0, np.int64)
        owner, wanted = (np.concatenate(parts) for parts in zip(*self._edges(), strict=True))
        position = np.empty(len(self), np.int64)
        position[self._order] = np.arange(len(self))
        owner = position[owner]
        known, dense = np.unique(self.id, return_inverse=True)
        key = self.rank * len(known) + dense
        place = np.minimum(np.searchsorted(known, wanted), len(known) - 1)
        wanted_key = self.rank[owner] * len(known) + place
        row = np.minimum(np.searchsorted(key, wanted_key), len(self) - 1)
        absent = np.flatnonzero((known[place] != wanted) | (key[row] != wanted_key))
        if len(absent):
            self.refuse(owner[absent[0]], f"depends on node {wanted[absent[0]]}, which is not in the file")
        by_owner = np.argsort(owner, kind="stable")
        offset = np.concatenate([[0], np.cumsum(np.bincount(owner, minlength=len(self)))])
        return offset.astype(np.int64), row[by_owner]

    def _edges(self) -> Iterator[tuple[NDArray[np.int64], NDArray[np.uint64]]]:
        """Rows in file order and the ids that they depend on."""
        traces = self.traces.traces
        files = np.cumsum([len(trace) + 1 for trace in traces[:-1]], dtype=np.int64) - 1  # between their offsets
        for offset, deps in (("data_offset", "data_deps"), ("ctrl_offset", "ctrl_deps")):
            counts = np.diff(np.concatenate([getattr(trace, offset) for trace in traces]))
            owner = np.repeat(np.arange(len(self)), np.delete(counts, files))
            yield owner, np.concatenate([getattr(trace, deps) for trace in traces])


@lru_cache(maxsize=64)
def columns_of_one(
    trace: Trace, paths: tuple[str, ...], replay_only: bool
) -> tuple[AstraNodes, MappingProxyType[str, NDArray[Any]]]:
    """Nodes and columns of a trace that all ranks have (`are_alike`); kept for the next setup."""
    nodes = AstraNodes(TraceSet((trace,), {}, paths))
    return nodes, MappingProxyType(columns_of(nodes, 1, replay_only))


def columns_of(nodes: AstraNodes, num_ranks: int, replay_only: bool = False) -> dict[str, NDArray[Any]]:
    """The engine's columns, with every collective native, of everybody and on all dimensions.

    With `replay_only` every node only lasts as long as was recorded.

    Raises TraceError, naming file and node, for an empty trace, METADATA nodes, missing or impossible attributes,
    duplicate ids and dependencies on absent nodes.
    """
    for rank, trace in enumerate(nodes.traces.traces):
        if not len(trace):
            source = nodes.traces.paths[rank] if nodes.traces.paths else f"rank {rank}"
            raise TraceError(f"{source}: ASTRA-sim refuses an empty trace")
    nodes.require(
        nodes.type != _METADATA,
        "ASTRA-sim stops at METADATA nodes; `hocket trace convert --profile astra-sim` leaves them out",
    )
    action = np.full(len(nodes), Action.REPLAY, np.uint8) if replay_only else _ACTION_OF_TYPE[nodes.type]
    comm_type = nodes.of("comm_type")
    action[(action == Action.COLLECTIVE) & (comm_type == _BROADCAST)] = Action.BROADCAST
    is_cpu = nodes.of("is_cpu_op") == 1
    resource = _RESOURCE_OF_TYPE[nodes.type]
    resource[is_cpu] = Resource.PROCESSOR
    duration_us = nodes.of("duration_us")
    nodes.require(duration_us <= 1 << 40, "duration_micros is too long")
    offset, dependency = nodes.dependencies()
    return {
        "rank_offset": nodes.rank_offset,
        "action": action,
        "resource": resource,
        "kind": _kinds(nodes, action, comm_type),
        "duration_ns": np.maximum(duration_us * 1000, 1).astype(np.int64),
        "bytes": nodes.of("comm_bytes"),
        "tag": nodes.of("comm_tag") % _TAGS,
        "priority": np.maximum(nodes.of("comm_priority"), 0),
        "num_ops": nodes.of("num_ops"),
        "tensor_bytes": nodes.of("tensor_bytes"),
        "peer": _peers(nodes, action, num_ranks),
        "group": np.full(len(nodes), -1, np.int32),
        "custom": np.full(len(nodes), -1, np.int32),
        "dimensions": np.full(len(nodes), 0b1111, np.uint32),
        "dependency_offset": offset,
        "dependency": dependency,
    }


def _kinds(nodes: AstraNodes, action: NDArray[np.uint8], comm_type: NDArray[np.int64]) -> NDArray[np.uint8]:
    kind = _KIND_OF_TYPE[np.minimum(comm_type.view(np.uint64), 255)]  # none is 2^64 - 1
    is_collective = action == Action.COLLECTIVE
    nodes.require(
        ~is_collective | (kind < _OTHER_KIND),
        f"ASTRA-sim does not simulate this collective (comm_type); it knows {_KNOWN}."
        " `hocket trace convert --profile astra-sim` replays others by their duration",
    )
    size = nodes.of("comm_bytes")
    nodes.require(~is_collective | ((size >= 0) & (size <= _MAX_BYTES)), "comm_size is missing or out of range")
    return kind


def _peers(nodes: AstraNodes, action: NDArray[np.uint8], num_ranks: int) -> NDArray[np.int32]:
    """The other end of each message; -1 for other nodes."""
    is_send, is_receive = action == Action.SEND, action == Action.RECEIVE
    is_message = is_send | is_receive
    if not is_message.any():
        return np.full(len(nodes), -1, np.int32)
    peer = np.where(is_send, nodes.of("comm_dst"), np.where(is_receive, nodes.of("comm_src"), -1))
    nodes.require(
        ~is_message | ((peer >= 0) & (peer < num_ranks)),
        lambda node: f"{'comm_dst' if is_send[node] else 'comm_src'} is missing or no rank of 0..{num_ranks - 1}",
    )
    nodes.require(~is_message | (peer != nodes.rank), "a rank cannot send to itself")
    size = nodes.of("comm_bytes")
    nodes.require(~is_message | ((size > 0) & (size <= _MAX_BYTES)), "comm_size is missing or out of range")
    nodes.require(~is_message | (nodes.of("comm_tag") >= 0), "comm_tag is missing; ASTRA-sim needs it on messages")
    return peer.astype(np.int32)
