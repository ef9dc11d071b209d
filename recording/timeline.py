"""A rank's calls as an execution trace: what each thread did in order, compute between its calls."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from hocket._core import chakra as engine
from hocket.chakra import CollectiveType, NodeType, Trace
from hocket.chakra.builder import absent_columns, encode_attributes
from hocket.chakra.importers.lanes import Operator
from hocket.chakra.steps import NO_STEP, step_metadata
from hocket.recording.calls import CallShape
from hocket.recording.distinct import distinct
from hocket.recording.matching import Numbering
from hocket.recording.nccl.join import Attributes
from hocket.recording.recording import Recording
from hocket.recording.waits import NONE

__all__ = ["attributes_of", "build_trace", "step_begins", "window"]

Numbers = NDArray[np.int64]

_GAP = -1  # computation between calls that no operator tells of: `chain_threads` counts operators from -2 down
_MESSAGES = {"send": NodeType.COMM_SEND, "recv": NodeType.COMM_RECV}


def window(recording: Recording) -> tuple[int, int]:
    """When the recorded part of a rank begins and ends: steps' marks where there are, else its calls. Times in ns.

    (0, 0) where there are no calls.
    """
    columns = recording.columns
    if len(recording) == 0:
        return 0, 0
    first = int(columns.start.min())
    last = max(int(column.max()) for column in (columns.start, columns.end, columns.wait_end))
    begins = [t for number, t in recording.steps if number == columns.step[0] - 1]
    ends = [t for number, t in recording.steps if number == columns.step[-1]]
    return min([first, *begins]), max([last, *ends])


def build_trace(
    recording: Recording,
    numbering: Numbering,
    sizes: Numbers,
    tags: Numbers,
    origin: int,
    operators: Mapping[int, Sequence[Operator]],
    chosen: Mapping[int, Attributes],
) -> Trace:
    """The trace of a rank, which has at least one call; `origin` is the time of its microsecond 0, `sizes` and
    `tags` are each call's (`scatters.sizes_in_trace`, `messages.tags_in_trace`), `operators` what threads computed as
    far as it was profiled, `chosen` what NCCL's profile tells of calls, by their rows.

    Each thread is a chain of data dependencies. A call depends on the compute before its issue; where a thread waited
    for a call, the compute that follows depends on it; between issue and wait both run side by side. The messages of a
    batch are issued at once: nothing that the thread does comes between them. Of each recorded step the nodes are told
    (`hocket.chakra.steps`).
    """
    columns = recording.columns
    # From whom a receive from anyone is that never ended is not known.
    kept = np.flatnonzero((columns.peer != NONE) | ~_is_message(recording))
    spans = [operator for thread in sorted(operators) for operator in operators[thread]]
    times = np.array([(span.start, span.end, span.lane) for span in spans], np.int64).reshape(-1, 3)
    numbers, marks = step_begins(recording)
    what, begin, end, deps_offset, deps, mark_nodes = engine.chain_threads(
        [
            column[kept]
            for column in (
                columns.start,
                columns.thread,
                columns.wait_begin,
                columns.wait_end,
                columns.wait_thread,
                columns.batch,
            )
        ],
        [np.ascontiguousarray(column) for column in times.T],
        np.array(marks, np.int64),
        int(columns.thread[0]) if len(recording) else 0,
        window(recording)[1],
    )
    strings: dict[str, int] = {}
    nodes = absent_columns(len(what))
    nodes["id"] = np.arange(len(what), dtype=np.uint64)
    nodes["data_offset"], nodes["data_deps"] = deps_offset, deps
    nodes["is_cpu_op"][:] = 0
    duration = end - begin
    _leave_out_gaps(recording, what, begin, duration)

    _fill_computations(nodes, what, spans, strings)
    calls = np.flatnonzero(what >= 0)
    rows = kept[what[calls]]
    begin[calls] = columns.begin[rows]
    duration[calls] = np.where(columns.end[rows] == NONE, 0, columns.end[rows] - columns.begin[rows])
    _fill_calls(nodes, calls, recording, rows, numbering, sizes, tags, strings)
    nodes["rest_offset"], nodes["rest"] = _rest(recording, rows, calls, len(what), chosen)

    nodes["start_us"] = ((begin - origin) // 1000).astype(np.uint64)
    nodes["duration_ns"] = duration
    nodes["duration_us"] = ((duration + 500) // 1000).astype(np.uint64)
    # Of steps that begin with the same node only the last has nodes.
    steps = {first: number for first, number in zip(mark_nodes.tolist(), numbers, strict=True) if first < len(what)}
    told = step_metadata([(number, first) for first, number in steps.items()])
    return Trace(version="1.0.0", metadata=told, strings=tuple(strings), **nodes)


def _leave_out_gaps(recording: Recording, what: Numbers, begin: Numbers, duration: Numbers) -> None:
    """Takes what of the computations between calls lies between windows of steps, where nothing was recorded."""
    computed = np.flatnonzero(what == _GAP)
    starts, lengths = begin[computed], duration[computed]
    ends = starts + lengths
    for first, last in recording.gaps:
        lengths -= np.maximum(0, np.minimum(ends, last) - np.maximum(starts, first))
    for first, last in recording.gaps:
        starts = np.where((starts >= first) & (starts < last), np.minimum(ends, last), starts)
    begin[computed], duration[computed] = starts, lengths


def _fill_computations(
    nodes: dict[str, NDArray[np.generic]], what: Numbers, spans: Sequence[Operator], strings: dict[str, int]
) -> None:
    """Fills the nodes that are no calls: operators of `spans`, and the gaps between."""
    computations = np.flatnonzero(what < 0)
    named = -2 - what[computations]  # -1 for a gap: the last entry below
    nodes["type"][computations] = NodeType.COMP
    texts = [strings.setdefault(name, len(strings)) for name in (*(span.name for span in spans), "compute")]
    nodes["name"][computations] = np.array(texts, np.int32)[named]
    nodes["num_ops"][computations] = np.array([*(span.num_ops for span in spans), -1], np.int64)[named]
    nodes["tensor_bytes"][computations] = np.array([*(span.tensor_bytes for span in spans), -1], np.int64)[named]


def _is_message(recording: Recording) -> NDArray[np.bool_]:
    return recording.by_shape(lambda shape: shape.kind in _MESSAGES).astype(bool)


def step_begins(recording: Recording) -> tuple[list[int], list[int]]:
    """The number of each recorded step, NO_STEP for what comes after the last that ended; and when it begins."""
    begin, end = window(recording)
    # A script that marks its steps itself begins to count again: of one number the last is meant.
    ends = sorted((time, number) for number, time in dict(recording.steps).items() if begin < time <= end)
    return [*(number for _, number in ends), NO_STEP], [begin, *(time for time, _ in ends)]


def _fill_calls(
    nodes: dict[str, NDArray[np.generic]],
    calls: Numbers,
    recording: Recording,
    rows: Numbers,
    numbering: Numbering,
    sizes: Numbers,
    tags: Numbers,
    strings: dict[str, int],
) -> None:
    """Fills the nodes `calls` from the recording's calls `rows`."""

    def text(value: str) -> int:
        return strings.setdefault(value, len(strings)) if value else -1

    def group(shape: CallShape) -> int:
        return numbering[shape.group.key][0]

    def put(column: str, value: NDArray[np.generic]) -> None:
        nodes[column][calls] = value

    shapes, of_call = recording.shapes, recording.columns.shape[rows]

    def of_shape(values: Sequence[int]) -> Numbers:
        return np.array(values, np.int64)[of_call]

    put("name", of_shape([text(shape.kind) for shape in shapes]))
    put("type", of_shape([_MESSAGES.get(shape.kind, NodeType.COMM_COLL) for shape in shapes]))
    put("process_group", of_shape([text(str(group(shape))) for shape in shapes]))
    put("comm_bytes", sizes[rows])

    collective = of_shape([shape.kind not in _MESSAGES for shape in shapes]).astype(bool)
    kinds = [-1 if shape.kind in _MESSAGES else CollectiveType[shape.kind.upper()] for shape in shapes]
    put("comm_type", of_shape(kinds))
    roots = of_shape([-1 if shape.root is None else shape.root for shape in shapes])
    put("root", np.where(collective, roots, -1))
    put("dtype", np.where(collective, of_shape([text(shape.dtype) for shape in shapes]), -1))
    splits = of_shape([text(str(list(shape.in_splits)) if shape.in_splits else "") for shape in shapes])
    put("in_splits", np.where(collective, splits, -1))

    sends = of_shape([shape.kind == "send" for shape in shapes]).astype(bool)
    peer = recording.columns.peer[rows]
    put("comm_src", np.where(collective, -1, np.where(sends, recording.rank, peer)))
    put("comm_dst", np.where(collective, -1, np.where(sends, peer, recording.rank)))
    put("comm_tag", np.where(collective, -1, tags[rows]))


def _rest(
    recording: Recording, rows: Numbers, calls: Numbers, num_nodes: int, chosen: Mapping[int, Attributes]
) -> tuple[Numbers, NDArray[np.uint8]]:
    """What a trace's columns do not hold (`attributes_of`), and what NCCL chose."""
    shape, batch = recording.columns.shape[rows], recording.columns.batch[rows]
    alone = np.where(np.isin(rows, list(chosen)), rows, -1)  # calls that are unlike all others
    first, which = distinct(shape, batch, alone)
    kinds = zip(shape[first].tolist(), batch[first].tolist(), alone[first].tolist(), strict=True)
    texts = [
        encode_attributes({**attributes_of(recording.shapes[shape], batch), **chosen.get(row, {})})
        for shape, batch, row in kinds
    ]
    lengths = np.array([len(text) for text in texts], np.int64)
    begins = np.cumsum(lengths) - lengths
    offset = np.zeros(num_nodes + 1, np.int64)
    offset[calls + 1] = lengths[which]
    np.cumsum(offset, out=offset)
    places = np.arange(offset[-1]) + np.repeat(begins[which] - offset[calls], lengths[which])
    return offset, np.frombuffer(b"".join(texts), np.uint8)[places]


def attributes_of(shape: CallShape, batch: int) -> dict[str, int | str]:
    """A call's attributes without a column: the batch of a message, by its number on this rank, the reduction, the
    graph whose replay called it, and the device's stream that was current at the issue."""
    attributes: dict[str, int | str] = {} if batch == NONE else {"batch": batch}
    attributes |= {} if shape.reduction is None else {"reduce_op": shape.reduction}
    attributes |= {} if shape.graph is None else {"graph": shape.graph}
    return attributes | ({} if shape.stream is None else {"stream": shape.stream})
