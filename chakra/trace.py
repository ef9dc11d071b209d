"""The execution-trace data model: one rank's nodes as columns, and the traces of all ranks of a job."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from functools import lru_cache
from typing import Protocol, SupportsIndex

import numpy as np
from numpy.typing import NDArray

from hocket.base.collectives import Kind

__all__ = ["CollectiveType", "NodeType", "Trace", "TraceSet", "TraceSource", "members_of"]


class NodeType(IntEnum):
    """`NodeType` of et_def.proto (Chakra 0.0.4 and later)."""

    INVALID = 0
    METADATA = 1
    MEM_LOAD = 2
    MEM_STORE = 3
    COMP = 4
    COMM_SEND = 5
    COMM_RECV = 6
    COMM_COLL = 7


class CollectiveType(IntEnum):
    """`CollectiveCommType` of et_def.proto."""

    ALL_REDUCE = 0
    REDUCE = 1
    ALL_GATHER = 2
    GATHER = 3
    SCATTER = 4
    BROADCAST = 5
    ALL_TO_ALL = 6
    REDUCE_SCATTER = 7
    REDUCE_SCATTER_BLOCK = 8
    BARRIER = 9

    @property
    def kind(self) -> str:
        """A `Kind`, or `barrier`."""
        return Kind.REDUCE_SCATTER if self is CollectiveType.REDUCE_SCATTER_BLOCK else self.name.lower()


@dataclass(frozen=True, eq=False, repr=False)
class Trace:
    """One rank's execution trace: a row per node, in file order, n rows.

    `id` uint64; `type` uint8 (NodeType); `name` int32, an index into `strings`; `start_us`, `duration_us` uint64 (the
    schema's fields); `duration_ns` int64: Hocket's attribute `duration_ns` where present, else 1000 * duration_us.
    Attributes, -1 where a node lacks them: `is_cpu_op` int8; `comm_type` int64 (CollectiveType); `comm_bytes` int64
    (attribute `comm_size`: bytes of the input of a collective on this rank, as MLCommons' converter counts, or of a
    message); `comm_src`, `comm_dst`, `comm_tag`, `comm_priority` int64 (world ranks); `process_group` int32, an index
    into `strings` (attribute `pg_name`); `num_ops`, `tensor_bytes` int64 (attribute `tensor_size`);
    `root` int64 (Hocket's attribute `comm_root`, a world rank); `involved_dims` int64 (ASTRA-sim's `involved_dim`:
    bit d is set where a collective involves network dimension d, and one more bit is behind the last);
    `in_splits` int32, an index into `strings`: PyTorch's attribute `in_split_size`, such as "[3, 5]", how a rank's
    input is cut for the members of the group, in group order and in any unit; `dtype` int32, an index into `strings`:
    Hocket's attribute `dtype`, the type of a collective's elements by PyTorch's name, such as bfloat16.
    Dependencies are node ids, in CSR form: those of row k are `data_deps[data_offset[k]:data_offset[k+1]]`
    (uint64 ids, int64 offsets), and the same for `ctrl_deps`. `rest` (uint8, int64 offsets) holds the serialized fields
    of each node that have no column, where they were asked for: they are written as they were read.
    `metadata` holds the attributes of the file's GlobalMetadata.
    """

    version: str
    metadata: dict[str, object]
    strings: tuple[str, ...]
    id: NDArray[np.uint64]
    type: NDArray[np.uint8]
    name: NDArray[np.int32]
    start_us: NDArray[np.uint64]
    duration_us: NDArray[np.uint64]
    duration_ns: NDArray[np.int64]
    is_cpu_op: NDArray[np.int8]
    comm_type: NDArray[np.int64]
    comm_bytes: NDArray[np.int64]
    comm_src: NDArray[np.int64]
    comm_dst: NDArray[np.int64]
    comm_tag: NDArray[np.int64]
    comm_priority: NDArray[np.int64]
    process_group: NDArray[np.int32]
    root: NDArray[np.int64]
    num_ops: NDArray[np.int64]
    tensor_bytes: NDArray[np.int64]
    involved_dims: NDArray[np.int64]
    in_splits: NDArray[np.int32]
    dtype: NDArray[np.int32]
    data_offset: NDArray[np.int64]
    data_deps: NDArray[np.uint64]
    ctrl_offset: NDArray[np.int64]
    ctrl_deps: NDArray[np.uint64]
    rest_offset: NDArray[np.int64]
    rest: NDArray[np.uint8]

    def __repr__(self) -> str:
        return f"<Trace of {len(self.id)} nodes>"

    def __len__(self) -> int:
        return len(self.id)

    def text(self, column: NDArray[np.int32], row: SupportsIndex) -> str:
        """The string of a row in one of the columns of strings, "" where the node lacks it."""
        index = column[row]
        return self.strings[index] if index >= 0 else ""


@dataclass(frozen=True, repr=False)
class TraceSet:
    """The traces of a job, `traces[r]` rank r's, and its process groups: name to world ranks in group order.

    The groups come from the comm-group JSON (`{"1": [0, 1], ...}`, ASTRA-sim's format) beside the traces. The names
    "" and "0" mean all ranks and need no entry. `traces` may make each trace when it is asked for
    (`hocket.chakra.roles.TracesByRole`).
    """

    traces: Sequence[Trace]
    groups: dict[str, tuple[int, ...]] = field(default_factory=dict)
    paths: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"<TraceSet of {self.num_ranks} ranks, {len(self.groups)} process groups>"

    def blocks(self) -> Iterator[tuple[int, Trace]]:
        """Ranks and their nodes: what checks and counts go through (`hocket.chakra.reading.TraceFiles` has more)."""
        yield from enumerate(self.traces)

    @property
    def num_ranks(self) -> int:
        return len(self.traces)

    def members(self, group: str) -> tuple[int, ...]:
        """World ranks of a process group, in group order. Raises KeyError when it is unknown."""
        return members_of(group, self.groups, self.num_ranks)


def members_of(group: str, groups: Mapping[str, tuple[int, ...]], num_ranks: int) -> tuple[int, ...]:
    """World ranks of a process group of a job, in group order. Raises KeyError when it is unknown."""
    if group in groups:
        return groups[group]
    if group in ("", "0"):
        return _everyone(num_ranks)
    raise KeyError(group)


@lru_cache(maxsize=2)
def _everyone(num_ranks: int) -> tuple[int, ...]:
    """One object: of thousands of ranks each asks for all."""
    return tuple(range(num_ranks))


class TraceSource(Protocol):
    """The traces of a job, in memory (`TraceSet`) or in files (`hocket.chakra.reading.TraceFiles`)."""

    @property
    def groups(self) -> dict[str, tuple[int, ...]]: ...

    @property
    def paths(self) -> tuple[str, ...]: ...

    @property
    def num_ranks(self) -> int: ...

    def members(self, group: str) -> tuple[int, ...]: ...

    def blocks(self) -> Iterator[tuple[int, Trace]]: ...
