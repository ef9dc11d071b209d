"""A session's lines made into the calls of its rank: each with completion and wait, on devices with their times."""

from collections.abc import Callable, Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from hocket.chakra.c10d import OPERATIONS
from hocket.recording.calls import CallColumns, CallShape, Group
from hocket.recording.device_times import by_devices
from hocket.recording.distinct import distinct
from hocket.recording.graphs import Replayed, Template, with_replays
from hocket.recording.operations import PEER_TO_PEER
from hocket.recording.sessions import RankSession
from hocket.recording.stream_lines import (
    BackwardLine,
    GraphLine,
    GroupLine,
    InternalLine,
    ReplayLine,
    Session,
    ShapeLine,
)
from hocket.recording.waits import NONE, Calls, find_waits

__all__ = ["columns_of", "group_of", "on_devices", "shape_of"]

Numbers = NDArray[np.int64]


def columns_of(
    session: Session,
    shapes: tuple[CallShape, ...],
    numbers: dict[int, int],
    found: RankSession,
) -> CallColumns:
    """The calls of a session by the host's times; `numbers` tell where among the shapes each number of it is."""
    lines = session.numbers
    calls = lines["c"][np.argsort(lines["c"][:, 0], kind="stable")]
    ids, shape_ids, sequence, start, thread = calls.T

    def rows_of(wanted: Numbers) -> Numbers:
        return np.searchsorted(ids, wanted)

    shape_ids[rows_of(lines["s"][:, 0])] = lines["s"][:, 1]
    done = np.full(len(ids), NONE)
    done[rows_of(lines["d"][:, 0])] = lines["d"][:, 1]
    batch = np.full(len(ids), NONE)
    batch[rows_of(lines["b"][:, 0])] = lines["b"][:, 1]
    known, at = distinct(shape_ids)
    shape = np.array([numbers[number] for number in shape_ids[known].tolist()], dtype=np.int64)[at]
    asynchronous = np.array([shape.is_async for shape in shapes], dtype=bool)[shape]
    seen = _with_batches(_seen_waits(session, rows_of), batch)
    waits = find_waits(Calls(start, thread, done, asynchronous), seen, _together(session.of(InternalLine), rows_of))
    message = np.array([shape.kind in PEER_TO_PEER for shape in shapes], dtype=bool)[shape]
    peer = np.array([NONE if shape.peer is None else shape.peer for shape in shapes], dtype=np.int64)[shape]
    waited = waits.end != NONE
    # The callback may come late; and not at all where there is a wait. On a device a wait ends before the operation.
    waits_for_all = np.array([shape.stream is None for shape in shapes], dtype=bool)[shape]
    end = np.where(waited & ((done == NONE) | (waits_for_all & (waits.end < done))), waits.end, done)
    marks = np.searchsorted(np.array([t for t, _ in found.marks], dtype=np.int64), start, side="right")
    return CallColumns(
        shape=shape,
        sequence=np.where(message, -1, sequence),
        step=np.array([found.first_step, *(number for _, number in found.marks)], dtype=np.int64)[marks],
        thread=thread,
        issued=start,
        start=start,
        begin=start,
        end=end,
        # A synchronous call waits from its issue on: what it does before it blocks is no work of the script.
        wait_begin=np.where(waited & ~asynchronous, start, waits.begin),
        wait_end=waits.end,
        wait_thread=np.where(waited, waits.thread, thread),
        peer=np.where(peer == NONE, waits.peer, peer),
        batch=batch,
    )


def on_devices(
    found: RankSession, session: Session, columns: CallColumns, shapes: tuple[CallShape, ...]
) -> tuple[CallColumns, tuple[CallShape, ...], int, int, Replayed]:
    """The calls by their devices' times, and as the replays of graphs called them; the shapes of those, of how many
    calls devices told nothing, of how many the end is only known to be before their wait, and what the replays were."""
    ids = np.sort(session.numbers["c"][:, 0])
    streams = np.array([NONE if shape.stream is None else shape.stream for shape in shapes], np.int64)[columns.shape]
    groups = np.array([line.group for line in session.of(ShapeLine)], np.int64)[columns.shape]
    sizes = np.array([shape.num_bytes for shape in shapes], np.int64)[columns.shape]
    columns, bounded = by_devices(columns, ids, session.numbers, streams, groups, sizes)
    told_of = np.concatenate([session.numbers[letter][:, 0] for letter in "re"])
    told_calls = (streams != NONE) & np.isin(ids, told_of)
    lanes = dict(zip(streams[told_calls].tolist(), columns.thread[told_calls].tolist(), strict=True))
    untold = int(((streams != NONE) & ~told_calls).sum())
    templates = {}
    known = {line.id: group_of(line) for line in session.of(GroupLine)}
    for graph in session.of(GraphLine):
        if all(line.group in known for line in graph.shapes):  # else lost
            captured = tuple(
                msgspec.structs.replace(shape_of(line, known[line.group]), graph=graph.id) for line in graph.shapes
            )
            templates[graph.id] = Template.of(graph, captured, len(shapes))
            shapes += captured
    marks = np.array([t for t, _ in found.marks], np.int64)
    numbered = np.array([found.first_step, *(number for _, number in found.marks)], np.int64)
    told = {n: (begin, end) for n, begin, end in session.numbers["g"].tolist()}
    columns, replayed = with_replays(columns, templates, session.of(ReplayLine), (marks, numbered), told, lanes)
    return columns, shapes, untold, bounded, replayed


def group_of(line: GroupLine) -> Group:
    """As a stream tells of it."""
    return Group(line.name, line.description, line.ranks, line.backend, line.order)


def shape_of(line: ShapeLine, group: Group) -> CallShape:
    """As a stream tells of it. Raises KeyError for an operation that is not known."""
    return CallShape(
        op=line.op,
        kind=line.kind or OPERATIONS[line.op].kind,
        group=group,
        input_bytes=line.input_bytes,
        output_bytes=line.output_bytes,
        dtype=line.dtype,
        is_async=bool(line.is_async),
        root=line.root,
        peer=line.peer,
        tag=line.tag,
        reduction=line.reduce,
        in_splits=line.in_splits,
        stream=line.stream,
        line=line.at,
    )


def _seen_waits(session: Session, rows_of: Callable[[Numbers], Numbers]) -> Numbers:
    """The table of waits for `find_waits`; the end of an autograd pass counts last."""
    found = []
    for letter in "wa":
        ids, begin, duration, thread, *peer = session.numbers[letter].T
        peers = peer[0] if peer else np.full(len(ids), NONE)
        found.append(np.stack([rows_of(ids), begin, begin + duration, thread, peers], axis=1))
    return np.concatenate([*found, _together(session.of(BackwardLine), rows_of)])


def _together(lines: Sequence[BackwardLine | InternalLine], rows_of: Callable[[Numbers], Numbers]) -> Numbers:
    """Rows of such a table for all that the lines name."""
    found = [np.empty((0, 5), np.int64)]
    for line in lines:
        rows = rows_of(np.array(line.ids, dtype=np.int64))
        found.append(np.insert(np.tile([line.t0, line.t1, line.thread, NONE], (len(rows), 1)), 0, rows, axis=1))
    return np.concatenate(found)


def _with_batches(seen: Numbers, batch: Numbers) -> Numbers:
    """The waits and, behind them, one for each message of a batch whose last message was waited for.

    NCCL gives a batch one Work, which is recorded as its last message's.
    """
    members = np.flatnonzero(batch != NONE)
    _, inverse = np.unique(batch[members], return_inverse=True)
    last = np.zeros(len(members), dtype=np.int64)
    np.maximum.at(last, inverse, members)
    first_wait = np.full(len(batch), -1)
    first_wait[seen[::-1, 0]] = np.arange(len(seen))[::-1]
    wait = first_wait[last[inverse]]
    shared = seen[wait[wait >= 0]]
    shared[:, 0] = members[wait >= 0]
    return np.concatenate([seen, shared])
