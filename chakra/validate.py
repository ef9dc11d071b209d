"""Checks that traces are complete and consistent, and says all that is wrong, not only the first thing."""

from collections.abc import Iterable, Iterator
from itertools import chain
from operator import itemgetter

import numpy as np
from numpy.typing import NDArray

from hocket._core import chakra as engine
from hocket.chakra.agreement import Agreement
from hocket.chakra.finding import TraceFinding, TraceSeverity, at_node, source_of
from hocket.chakra.id_set import IdSet
from hocket.chakra.job_metadata import ASSUMED_WORLD
from hocket.chakra.losses import LOSSES, REPAIRS, Lost, loss_lines, losses_of, malformed_losses
from hocket.chakra.message_agreement import MessageAgreement
from hocket.chakra.reading import TraceFiles
from hocket.chakra.steps import step_fault
from hocket.chakra.subset import is_ordered
from hocket.chakra.trace import CollectiveType, NodeType, Trace, TraceSet
from hocket.chakra.trace_file import TraceFile

__all__ = ["TraceFinding", "TraceSeverity", "validate", "validate_files", "validate_trace"]

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


def validate(traces: TraceSet) -> list[TraceFinding]:
    """All findings in the traces of a job: each rank's own, then those across ranks."""
    collectives, messages = Agreement(traces), MessageAgreement(traces)
    for rank, trace in traces.blocks():
        collectives.add(rank, trace)
        messages.add(rank, trace)
    alone = (validate_trace(trace, source_of(traces, rank)) for rank, trace in enumerate(traces.traces))
    return [*chain.from_iterable(alone), *_in_order(collectives.findings()), *_in_order(messages.findings())]


def validate_trace(trace: Trace, source: str) -> list[TraceFinding]:
    """Findings in one rank's trace; `source` names its file in them."""
    return [*_dependencies(trace, source), *_attributes(trace, source), *_metadata(trace, source)]


def validate_files(traces: TraceFiles, across_ranks: bool = True) -> tuple[list[TraceFinding], int]:
    """What `validate` finds, and the number of nodes, without holding the traces. A trace in which ids do not ascend,
    or nodes depend on later ones, is held whole, without the other ranks, to look for cycles."""
    collectives, messages = Agreement(traces), MessageAgreement(traces)
    alone = [_RankCheck(file) for file in traces.files]
    for rank, trace in traces.blocks():
        alone[rank].add(trace)
        if across_ranks:
            collectives.add(rank, trace)
            messages.add(rank, trace)
    findings = [*chain.from_iterable(check.findings() for check in alone)]
    findings += [*_in_order(collectives.findings()), *_in_order(messages.findings())]
    return findings, sum(check.num_nodes for check in alone)


def _in_order(across_ranks: Iterable[TraceFinding]) -> list[TraceFinding]:
    """By file and node, whatever blocks the nodes came in."""

    def place(finding: TraceFinding) -> tuple[int, str, int]:
        return len(finding.source), finding.source, -1 if finding.node_id is None else finding.node_id

    return sorted(across_ranks, key=place)


class _RankCheck:
    """Findings in one rank's trace, block by block."""

    def __init__(self, file: TraceFile) -> None:
        self._file, self._source = file, str(file.path)
        self._ids, self._last_id, self._ordered = IdSet(), -1, True
        self._dangling: list[TraceFinding] = []
        self._attributes: list[TraceFinding] = []
        self._metadata: list[TraceFinding] = []
        self.num_nodes = 0

    def add(self, trace: Trace) -> None:
        """The next nodes."""
        if self.num_nodes == 0:
            self._metadata = list(_metadata(trace, self._source))
        self.num_nodes += len(trace)
        self._attributes += _attributes(trace, self._source)
        self._ordered = self._ordered and is_ordered(trace, self._last_id)
        if self._ordered and len(trace):
            self._ids.add(trace.id)
            self._last_id = int(trace.id[-1])
            self._dangling += self._absent(trace)

    def findings(self) -> list[TraceFinding]:
        """All of them, when there are no more nodes."""
        if not self._ordered:
            whole = next(self._file.blocks(None))
            return [*_dependencies(whole, self._source), *self._attributes, *self._metadata]
        return [*self._dangling, *self._attributes, *self._metadata]

    def _absent(self, trace: Trace) -> Iterator[TraceFinding]:
        """In an ordered trace there are no cycles and no ids twice, but for dependencies on ids that were left out."""
        for field in ("data_deps", "ctrl_deps"):
            deps: NDArray[np.uint64] = getattr(trace, field)
            owner = np.repeat(np.arange(len(trace)), np.diff(getattr(trace, field.replace("deps", "offset"))))
            for place in np.flatnonzero(~self._ids.has(deps)):
                yield _dangling(trace, self._source, owner[place], field, deps[place])


def _dependencies(trace: Trace, source: str) -> Iterator[TraceFinding]:
    duplicates, dangling, dangling_id, cycles = engine.find_dependency_faults(trace, _MAX_CYCLES)
    for row in duplicates:
        yield at_node(trace, source, row, "id", "another node has this id; ids must be unique")
    for row, node_id in zip(dangling, dangling_id, strict=True):
        of_row = trace.data_deps[trace.data_offset[row] : trace.data_offset[row + 1]]
        field = "data_deps" if node_id in of_row else "ctrl_deps"
        yield _dangling(trace, source, row, field, node_id)
    for cycle in cycles:
        ids = " -> ".join(str(trace.id[row]) for row in (*cycle, cycle[0]))
        yield at_node(trace, source, cycle[0], "data_deps/ctrl_deps", f"depends on itself: {ids}")


def _dangling(trace: Trace, source: str, row: np.intp, field: str, node_id: np.uint64) -> TraceFinding:
    message = f"depends on node {node_id}, which is not in the file (convert --profile astra-sim leaves such out)"
    return at_node(trace, source, row, field, message)


def _metadata(trace: Trace, source: str) -> Iterator[TraceFinding]:
    if fault := step_fault(trace.metadata):
        yield TraceFinding(TraceSeverity.ERROR, source, "metadata", fault)
    for text in malformed_losses(trace.metadata):
        fault = f"'{text}' in {LOSSES} or {REPAIRS}: no COUNT WHAT KIND: REASON, so that nothing tells what was lost"
        yield TraceFinding(TraceSeverity.ERROR, source, "metadata", fault)
    if trace.metadata.keys() & ASSUMED_WORLD.keys():
        ranks = trace.metadata.get("world_size")
        fault = f"nobody told how many ranks the job has: taken to be {ranks}; hocket trace import --world N tells"
        yield TraceFinding(TraceSeverity.WARNING, source, "metadata", fault)
    losses = losses_of(trace.metadata)
    for what in Lost:
        severity = TraceSeverity.ERROR if what.is_communication else TraceSeverity.WARNING
        for line in loss_lines({loss: count for loss, count in losses.items() if loss.what is what}):
            remedy = "; import it with what tells them, or take it so with --accept-losses" * what.is_communication
            yield TraceFinding(severity, source, LOSSES, line + remedy)


def _attributes(trace: Trace, source: str) -> Iterator[TraceFinding]:
    """In the order of the rows, whatever blocks they come in."""
    for row, attribute, message in sorted(_wrong_attributes(trace), key=itemgetter(0)):
        yield at_node(trace, source, row, attribute, message)


def _wrong_attributes(trace: Trace) -> Iterator[tuple[np.intp, str, str]]:
    """Rows, with the attribute and what is wrong with it."""
    for row in np.flatnonzero(trace.type == NodeType.INVALID):
        yield row, "type", "INVALID_NODE; every node needs a type"
    for kind, required in _REQUIRED.items():
        for column, attribute in required:
            values: NDArray[np.int64] = getattr(trace, column)
            for row in np.flatnonzero((trace.type == kind) & (values == -1)):
                yield row, attribute, f"missing; a {kind.name} node needs it"
    is_collective = trace.type == NodeType.COMM_COLL
    unknown = is_collective & ((trace.comm_type < -1) | (trace.comm_type > max(CollectiveType)))
    for row in np.flatnonzero(unknown):
        yield row, "comm_type", f"no collective has the number {trace.comm_type[row]}"
    for column, attribute, least in _SIZES:
        values = getattr(trace, column)
        for row in np.flatnonzero(values < least):
            yield row, attribute, f"{values[row]} is negative"
