"""Builds a trace node by node."""

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from hocket.chakra.schema import AttributeProto, Node
from hocket.chakra.steps import step_metadata
from hocket.chakra.trace import CollectiveType, NodeType, Trace

__all__ = ["TraceBuilder", "absent_columns", "encode_attributes"]

_ABSENT: dict[str, int] = {
    "is_cpu_op": -1,
    "comm_type": -1,
    "comm_bytes": -1,
    "comm_src": -1,
    "comm_dst": -1,
    "comm_tag": -1,
    "comm_priority": -1,
    "process_group": -1,
    "root": -1,
    "num_ops": -1,
    "tensor_bytes": -1,
    "involved_dims": -1,
    "in_splits": -1,
    "dtype": -1,
}
_DTYPES: dict[str, DTypeLike] = {
    "id": np.uint64,
    "type": np.uint8,
    "name": np.int32,
    "start_us": np.uint64,
    "duration_us": np.uint64,
    "is_cpu_op": np.int8,
    "process_group": np.int32,
    "in_splits": np.int32,
    "dtype": np.int32,
}


class TraceBuilder:
    """Collects the nodes of one rank; ids are 0, 1, ... in the order of the `add_...` calls, which return them.

    Every `add_...` takes the node's `start_us`, `duration_ns` (the schema's duration_micros is that, rounded) and the
    ids it depends on: `deps` (data) and `ctrl_deps`. Sizes are bytes, ranks are world ranks.
    """

    def __init__(self, metadata: Mapping[str, object] | None = None) -> None:
        self._metadata = dict(metadata or {})
        self._strings: dict[str, int] = {}
        self._nodes: list[dict[str, int]] = []
        self._data_deps: list[tuple[int, ...]] = []
        self._ctrl_deps: list[tuple[int, ...]] = []
        self._rest: list[bytes] = []
        self._steps: dict[int, int] = {}  # least id, number

    def __len__(self) -> int:
        return len(self._nodes)

    def add_comp(
        self, name: str, *, num_ops: int = -1, tensor_bytes: int = -1, is_cpu_op: bool = False, **common: Any
    ) -> int:
        """Computation: `duration_ns` of it, or `num_ops` operations on `tensor_bytes`."""
        return self.add(NodeType.COMP, name, num_ops=num_ops, tensor_bytes=tensor_bytes, is_cpu_op=is_cpu_op, **common)

    def add_collective(
        self,
        name: str,
        kind: CollectiveType,
        num_bytes: int,
        *,
        group: str = "",
        root: int = -1,
        in_splits: Sequence[int] = (),
        dtype: str = "",
        **common: Any,
    ) -> int:
        """A collective of a process group; `num_bytes` is the size of this rank's input, `in_splits` (in any unit) how
        it is cut for the members; none: evenly; `dtype` the type of its elements, as PyTorch calls it."""
        if in_splits:
            common["in_splits"] = self._string(str(list(in_splits)))
        if dtype:
            common["dtype"] = self._string(dtype)
        return self.add(
            NodeType.COMM_COLL, name, comm_type=kind, comm_bytes=num_bytes, group=group, root=root, **common
        )

    def add_send(self, name: str, num_bytes: int, *, src: int, dst: int, tag: int = 0, **common: Any) -> int:
        """A message from this rank, `src`, to `dst`."""
        return self.add(
            NodeType.COMM_SEND, name, comm_bytes=num_bytes, comm_src=src, comm_dst=dst, comm_tag=tag, **common
        )

    def add_recv(self, name: str, num_bytes: int, *, src: int, dst: int, tag: int = 0, **common: Any) -> int:
        """A message from `src` to this rank, `dst`."""
        return self.add(
            NodeType.COMM_RECV, name, comm_bytes=num_bytes, comm_src=src, comm_dst=dst, comm_tag=tag, **common
        )

    def add(
        self,
        kind: NodeType,
        name: str,
        *,
        start_us: int = 0,
        duration_ns: int = 0,
        deps: Iterable[int] = (),
        ctrl_deps: Iterable[int] = (),
        group: str = "",
        is_cpu_op: bool = False,
        extra: Mapping[str, int | str] | None = None,
        **attributes: int,
    ) -> int:
        """A node of any type; `attributes` are columns of `Trace`, `extra` attributes that have none. A node in group
        "" has no attribute pg_name."""
        node = _ABSENT | attributes
        node |= {
            "id": len(self._nodes),
            "type": kind,
            "name": self._string(name),
            "start_us": start_us,
            "duration_us": (duration_ns + 500) // 1000,
            "duration_ns": duration_ns,
            "is_cpu_op": is_cpu_op,
            "process_group": self._string(group) if group else -1,
        }
        self._nodes.append(node)
        self._data_deps.append(tuple(deps))
        self._ctrl_deps.append(tuple(ctrl_deps))
        self._rest.append(_encoded(tuple(extra.items())) if extra else b"")
        return node["id"]

    def begin_step(self, number: int) -> None:
        """The nodes from here on are of this step of the job (`hocket.chakra.steps`)."""
        self._steps[len(self)] = number

    def build(self) -> Trace:
        """The trace of the nodes added so far."""
        columns: dict[str, Any] = {
            name: np.array([node[name] for node in self._nodes], _DTYPES.get(name, np.int64))
            for name in (*_DTYPES, *_ABSENT, "duration_ns")
        }
        columns["data_offset"], columns["data_deps"] = _csr(self._data_deps)
        columns["ctrl_offset"], columns["ctrl_deps"] = _csr(self._ctrl_deps)
        columns["rest_offset"] = _offset([len(rest) for rest in self._rest])
        columns["rest"] = np.frombuffer(b"".join(self._rest), np.uint8)
        begins = [(number, begin) for begin, number in self._steps.items() if begin < len(self)]
        metadata = self._metadata | step_metadata(begins)
        return Trace(version="1.0.0", metadata=metadata, strings=tuple(self._strings), **columns)

    def _string(self, text: str) -> int:
        return self._strings.setdefault(text, len(self._strings))


def absent_columns(num_nodes: int) -> dict[str, NDArray[Any]]:
    """The columns of a `Trace` of as many nodes that have no attribute and no dependency, for callers to fill."""
    columns: dict[str, NDArray[Any]] = {
        name: np.zeros(num_nodes, _DTYPES.get(name, np.int64)) for name in (*_DTYPES, "duration_ns")
    }
    columns |= {name: np.full(num_nodes, -1, _DTYPES.get(name, np.int64)) for name in _ABSENT}
    for name in ("data", "ctrl"):
        columns[f"{name}_offset"], columns[f"{name}_deps"] = np.zeros(num_nodes + 1, np.int64), np.empty(0, np.uint64)
    return columns | {"rest_offset": np.zeros(num_nodes + 1, np.int64), "rest": np.empty(0, np.uint8)}


def _csr(rows: list[tuple[int, ...]]) -> tuple[NDArray[np.int64], NDArray[np.uint64]]:
    return _offset([len(row) for row in rows]), np.fromiter(chain.from_iterable(rows), np.uint64)


def _offset(lengths: list[int]) -> NDArray[np.int64]:
    offset = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=offset[1:])
    return offset


@lru_cache(maxsize=4096)
def _encoded(attributes: tuple[tuple[str, int | str], ...]) -> bytes:
    """Nodes that follow each other mostly say the same."""
    return encode_attributes(dict(attributes))


def encode_attributes(attributes: Mapping[str, int | str]) -> bytes:
    """Attributes that have no column, as fields of a Node message: a part of `Trace.rest`."""
    node = Node()
    for name, value in attributes.items():
        member = "string_val" if isinstance(value, str) else "int64_val"
        node.attr.append(AttributeProto(name=name, **{member: value}))
    return bytes(node.SerializeToString())
