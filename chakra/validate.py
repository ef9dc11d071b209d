"""Checks that traces are complete and consistent, and says all that is wrong, not only the first thing."""

from collections.abc import Iterator
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from hocket._core import chakra as engine
from hocket.chakra.agreement import disagreements
from hocket.chakra.finding import Finding, Severity, at_node, source_of
from hocket.chakra.steps import step_fault
from hocket.chakra.trace import CollectiveType, NodeType, Trace, TraceSet

__all__ = ["Finding", "Severity", "validate", "validate_trace"]

_MAX_CYCLES = 16

# Column of `Trace` and attribute of the schema that a node of each type must have.
_REQUIRED = {
    NodeType.COMM_COLL: (("comm_type", "comm_type"), ("comm_bytes", "comm_size")),
    NodeType.COMM_SEND: (
        ("comm_src", "comm_src"),
        ("comm_dst", "comm_dst"),
        ("comm_tag", "comm_tag"),
        ("comm_bytes", "comm_size"),
    ),
}
_REQUIRED[NodeType.COMM_RECV] = _REQUIRED[NodeType.COMM_SEND]
_SIZES = (
    ("comm_bytes", "comm_size", -1),
    ("num_ops", "num_ops", -1),
    ("tensor_bytes", "tensor_size", -1),
    ("duration_ns", "duration_ns", 0),
)


def validate(traces: TraceSet) -> list[Finding]:
    """All findings in the traces of a job: each rank's own, then those across ranks."""
    alone = (validate_trace(trace, source_of(traces, rank)) for rank, trace in enumerate(traces.traces))
    return [*chain.from_iterable(alone), *disagreements(traces)]


def validate_trace(trace: Trace, source: str) -> list[Finding]:
    """Findings in one rank's trace; `source` names its file in them."""
    return [*_dependencies(trace, source), *_attributes(trace, source), *_metadata(trace, source)]


def _dependencies(trace: Trace, source: str) -> Iterator[Finding]:
    duplicates, dangling, dangling_id, cycles = engine.find_dependency_faults(trace, _MAX_CYCLES)
    for row in duplicates:
        yield at_node(trace, source, row, "id", "another node has this id; ids must be unique")
    for row, node_id in zip(dangling, dangling_id, strict=True):
        of_row = trace.data_deps[trace.data_offset[row] : trace.data_offset[row + 1]]
        field = "data_deps" if node_id in of_row else "ctrl_deps"
        yield at_node(trace, source, row, field, f"depends on node {node_id}, which is not in the file")
    for cycle in cycles:
        ids = " -> ".join(str(trace.id[row]) for row in (*cycle, cycle[0]))
        yield at_node(trace, source, cycle[0], "data_deps/ctrl_deps", f"depends on itself: {ids}")


def _metadata(trace: Trace, source: str) -> Iterator[Finding]:
    if fault := step_fault(trace.metadata):
        yield Finding(Severity.ERROR, source, "metadata", fault)


def _attributes(trace: Trace, source: str) -> Iterator[Finding]:
    for row in np.flatnonzero(trace.type == NodeType.INVALID):
        yield at_node(trace, source, row, "type", "INVALID_NODE; every node needs a type")
    for kind, required in _REQUIRED.items():
        for column, attribute in required:
            values: NDArray[np.int64] = getattr(trace, column)
            for row in np.flatnonzero((trace.type == kind) & (values == -1)):
                yield at_node(trace, source, row, attribute, f"missing; a {kind.name} node needs it")
    is_collective = trace.type == NodeType.COMM_COLL
    unknown = is_collective & ((trace.comm_type < -1) | (trace.comm_type > max(CollectiveType)))
    for row in np.flatnonzero(unknown):
        yield at_node(trace, source, row, "comm_type", f"no collective has the number {trace.comm_type[row]}")
    for column, attribute, least in _SIZES:
        values = getattr(trace, column)
        for row in np.flatnonzero(values < least):
            yield at_node(trace, source, row, attribute, f"{values[row]} is negative")
