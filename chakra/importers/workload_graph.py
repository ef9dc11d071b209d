"""MLCommons' workload graphs: JSON of nodes as its feeder's `WrapperNode` reads them beside `.et` files.

Keys come in two spellings, as in `Id` and `id`, `ctrlDeps` and `ctrl_deps`. A graph has neither start times nor groups;
those that MLCommons publishes have no types and sizes of collectives either, which `--size` tells.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import msgspec

from hocket.base.errors import FormatError
from hocket.chakra.builder import TraceBuilder
from hocket.chakra.importers.file_rank import rank_of
from hocket.chakra.importers.files import MALFORMED
from hocket.chakra.importers.json_array import JsonArray
from hocket.chakra.importers.rank import Notes, RankTrace
from hocket.chakra.importers.told import NOTHING_TOLD, Told
from hocket.chakra.losses import Loss, Lost
from hocket.chakra.profiled import unsized
from hocket.chakra.repairing import kind_in_name
from hocket.chakra.trace import CollectiveType, NodeType

__all__ = ["is_workload_graph", "read_workload_graph"]

_Count = Annotated[int, msgspec.Meta(ge=0, le=2**60)]
_Rank = Annotated[int, msgspec.Meta(ge=0, le=2**24)]


class _Node(msgspec.Struct):
    """A node, its keys in small letters without underscores."""

    id: _Count
    nodetype: Annotated[int, msgspec.Meta(ge=1, le=int(max(NodeType)))]
    name: str = ""
    datadeps: list[_Count] = []
    ctrldeps: list[_Count] = []
    runtime: Annotated[int, msgspec.Meta(ge=0, le=10**12)] = 0
    iscpuop: bool = False
    numops: _Count | None = None
    tensorsize: _Count | None = None
    commtype: Annotated[int, msgspec.Meta(ge=0, le=int(max(CollectiveType)))] | None = None
    commsize: _Count | None = None
    commsrc: _Rank | None = None
    commdst: _Rank | None = None
    commtag: Annotated[int, msgspec.Meta(ge=0, le=2**31 - 1)] = 0


class _Rest(msgspec.Struct):
    ngpus: Annotated[int, msgspec.Meta(ge=1, le=2**24)] | None = None


def is_workload_graph(head: bytes) -> bool:
    """Whether a file that begins like this is a workload graph."""
    return re.search(rb'"workload_graph"\s*:\s*\[', head) is not None


def read_workload_graph(paths: Sequence[Path], notes: Notes, told: Told = NOTHING_TOLD) -> list[RankTrace]:
    """The ranks of a job, a file each, whose name tells the rank. Raises FormatError, naming the file and the node, for
    what is no graph."""
    found: dict[int, RankTrace] = {}
    for path in paths:
        rank = told.rank if told.rank is not None and len(paths) == 1 else rank_of(path, len(paths))
        if rank in found:
            raise FormatError(f"{path}: another file is of rank {rank} already; import one job at a time")
        found[rank] = _read(rank, path, notes, told, is_alone=len(paths) == 1)
    notes["times, which a workload graph does not have but for durations"] += 1
    return list(found.values())


def _read(rank: int, path: Path, notes: Notes, told: Told, is_alone: bool) -> RankTrace:
    array: JsonArray[dict[str, Any], _Rest] = JsonArray(path, "workload_graph", dict[str, Any], _Rest)
    nodes = [_node(path, fields) for block in array.blocks() for fields in block]
    rows = {node.id: row for row, node in enumerate(nodes)}
    if len(rows) < len(nodes):
        twice = next(node.id for row, node in enumerate(nodes) if rows[node.id] != row)
        raise FormatError(f"{path}: node {twice}: another node has this Id; they must be unique")
    if array.is_cut:
        loss = Loss(Lost.NODE, "file", "its end: it was cut off")
        notes.lose(rank, loss, f"{path} is cut off: what followed its first {len(nodes)} nodes is lost")
    graph = _Graph(rank, path, notes, told, nodes, rows)
    graph.is_world_known = bool(told.world or array.rest.ngpus or not is_alone)
    for node in nodes:
        graph.add(node)
    return RankTrace(rank, array.rest.ngpus, graph.builder.build())


def _node(path: Path, fields: Mapping[str, Any]) -> _Node:
    plain: dict[str, Any] = {}
    shown = next((fields[key] for key in ("Id", "id") if key in fields), "without Id")
    for key, value in fields.items():
        name = key.replace("_", "").lower()
        if name in plain:
            raise FormatError(f"{path}: node {shown}: '{key}' comes twice, in two spellings")
        plain[name] = value
    if "nodetype" not in plain and "type" in plain:
        plain["nodetype"] = plain.pop("type")
    try:
        return msgspec.convert(plain, _Node)
    except MALFORMED as error:
        raise FormatError(f"{path}: node {shown}: {error}") from error


class _Graph:
    """Adds the nodes of a file in its order."""

    def __init__(
        self, rank: int, path: Path, notes: Notes, told: Told, nodes: Sequence[_Node], rows: Mapping[int, int]
    ) -> None:
        self.builder = TraceBuilder({"generator": "MLCommons workload graph"})
        self.is_world_known = True
        self._rank, self._path, self._notes, self._told, self._rows = rank, path, notes, told, rows
        self._on_device = Counter(
            kind_in_name(node.name) for node in nodes if node.nodetype == NodeType.COMM_COLL and not node.iscpuop
        )

    def add(self, node: _Node) -> None:
        common: dict[str, Any] = {
            "duration_ns": node.runtime * 1000,
            "deps": self._deps(node.datadeps),
            "ctrl_deps": self._deps(node.ctrldeps),
            "is_cpu_op": node.iscpuop,
        }
        adders = {
            NodeType.COMM_COLL: self._add_collective,
            NodeType.COMM_SEND: self._add_message,
            NodeType.COMM_RECV: self._add_message,
        }
        adders.get(NodeType(node.nodetype), self._add_other)(node, common)

    def _add_other(self, node: _Node, common: dict[str, Any]) -> None:
        common["num_ops"] = -1 if node.numops is None else node.numops
        common["tensor_bytes"] = -1 if node.tensorsize is None else node.tensorsize
        self.builder.add(NodeType(node.nodetype), node.name, **common)

    def _deps(self, ids: Sequence[int]) -> list[int]:
        absent = sum(node not in self._rows for node in ids)
        if absent:
            loss = Loss(Lost.DEPENDENCY, "", "on a node that is not in the file")
            self._notes.lose(self._rank, loss, "dependencies on nodes that are not in the file: left out", absent)
        return [self._rows[node] for node in ids if node in self._rows]

    def _add_collective(self, node: _Node, common: dict[str, Any]) -> None:
        kind = kind_in_name(node.name) if node.commtype is None else CollectiveType(node.commtype).kind
        size = 0 if kind == "barrier" else node.commsize if node.commsize is not None else self._told.sizes.get(kind)
        if node.iscpuop and node.commtype is None and node.commsize is None and self._on_device[kind]:
            self._notes["the host's calls of collectives, beside the kernels that do them: computation"] += 1
            self.builder.add_comp(node.name, **common)
        elif not self.is_world_known:
            reason = "how many ranks the job has, which no file tells"
            note = f"{kind or 'collective'}: {reason} (--world N tells): left out"
            self._notes.lose(self._rank, Loss(Lost.COLLECTIVE, kind, reason), note)
            self.builder.add_comp(unsized(node.name), **common)
        elif kind and size is not None:
            number = CollectiveType[kind.upper()] if node.commtype is None else CollectiveType(node.commtype)
            if node.commtype is None:
                self._notes["types of collectives, inferred from the names of their nodes"] += 1
            self.builder.add_collective(node.name, number, size, **common)
        else:
            missing = "size" if kind else "type"
            remedy = f" (--size {kind}=BYTES tells it)" if kind else ""
            loss = Loss(Lost.COLLECTIVE, kind, f"its {missing}, which the graph does not tell")
            note = f"{kind or 'collective'}: its {missing}, which the graph does not tell{remedy}: left out"
            self._notes.lose(self._rank, loss, note)
            self.builder.add_comp(unsized(node.name), **common)

    def _add_message(self, node: _Node, common: dict[str, Any]) -> None:
        is_send = node.nodetype == NodeType.COMM_SEND
        kind, peer = ("send", node.commdst) if is_send else ("recv", node.commsrc)
        if peer is None or node.commsize is None:
            missing = "other end" if peer is None else "size"
            loss = Loss(Lost.MESSAGE, kind, f"its {missing}, which the graph does not tell")
            self._notes.lose(self._rank, loss, f"{kind}: its {missing}, which the graph does not tell: left out")
            self.builder.add_comp(unsized(node.name), **common)
        elif is_send:
            self.builder.add_send(node.name, node.commsize, src=self._rank, dst=peer, tag=node.commtag, **common)
        else:
            self.builder.add_recv(node.name, node.commsize, src=peer, dst=self._rank, tag=node.commtag, **common)
