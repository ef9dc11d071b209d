"""Writes what a rank recorded as a part: the table that ranks are matched by, the other columns, the head."""

import struct
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from hocket.base.files import atomic_write
from hocket.recording.calls import CallShape, Group, GroupKey
from hocket.recording.distinct import distinct
from hocket.recording.operations import PEER_TO_PEER
from hocket.recording.parts.head import ChannelSpan, GroupSpan, PartHead, PartSource, ShapeHead, Stored
from hocket.recording.parts.packing import pack, pack_table
from hocket.recording.recording import Recording
from hocket.recording.waits import NONE

__all__ = ["FOOTER", "MAGIC", "TABLE", "write_part"]

Numbers = NDArray[np.int64]

# Behind the head: its length and CRC-32, and what this is.
FOOTER = struct.Struct("<QI12s")
MAGIC = b"hocket-part1"

# The table's columns. `lasts` counts from `begin`, `wait_begin` from `start`, that from `begin`; `own` is own_work,
# `bounded` is 1 for calls on a device whose stream did not wait for them: only bounds of their times are known.
TABLE = ("row", "shape", "sequence", "step", "begin", "lasts", "start", "wait_begin", "own", "bounded")


def write_part(recording: Recording, sources: Sequence[PartSource], path: Path) -> None:
    """Writes a recording, by its rank's own clock. Raises HocketError, naming the file, when it cannot be written."""
    columns = recording.columns
    first, shape = distinct(columns.shape)
    shapes = [recording.shapes[number] for number in columns.shape[first].tolist()]
    numbers = {group: at for at, group in enumerate(dict.fromkeys(shape.group for shape in shapes))}
    order, spans, channels = _in_order(recording, shapes, shape, numbers)
    matched = _matched(recording) | {"shape": shape}
    if all(span.consecutive for span in spans):
        del matched["sequence"]
    table, rows = pack_table({"row": order, **{name: column[order] for name, column in matched.items()}})
    pieces: list[NDArray[Any]] = [rows]
    stored: dict[str, Stored] = {}
    begin = rows.nbytes
    for name, column in _others(recording).items():
        packed, values = pack(column)
        stored[name] = Stored(packed, begin)
        if values is not None:
            pieces.append(values)
            begin += values.nbytes
    head = PartHead(
        sources=tuple(sources),
        path=str(recording.path),
        meta=recording.meta,
        offsets=recording.offsets,
        errors=recording.errors,
        unseen=recording.unseen,
        lost=recording.lost,
        no_operators=recording.no_operators,
        nccl=recording.nccl,
        ended=recording.ended,
        failed=recording.failed,
        first_step=recording.first_step,
        cut=recording.cut,
        dropped=recording.dropped,
        stepped_ns=recording.stepped_ns,
        cost=recording.cost,
        cores=recording.cores,
        holes=recording.holes,
        uncommon=recording.uncommon,
        gaps=recording.gaps,
        groups=tuple(numbers),
        shape_heads=tuple(ShapeHead.of(shape, numbers) for shape in shapes),
        calls=len(recording),
        steps=len(recording.steps),
        last_step=int(columns.step.max(initial=NONE)),
        starts=_extremes(columns.start.tolist()),
        marks=_extremes([t for number, t in recording.steps if len(recording) and number == columns.step[0] - 1]),
        table=table,
        columns=stored,
        spans=spans,
        channels=channels,
    )
    text = msgspec.json.encode(head)
    with atomic_write(path, "wb") as file:
        for piece in pieces:
            file.write(piece.tobytes())
        file.write(text + FOOTER.pack(len(text), zlib.crc32(text), MAGIC))


def _matched(recording: Recording) -> dict[str, Numbers]:
    """The columns of the table, in order of issue."""
    columns = recording.columns
    return {
        "sequence": columns.sequence,
        "step": columns.step,
        "begin": columns.begin,
        "lasts": _from(columns.begin, columns.end),
        "start": columns.start - columns.begin,
        "wait_begin": _from(columns.start, columns.wait_begin),
        "own": recording.own_work,
        "bounded": _bounded(recording),
    }


def _bounded(recording: Recording) -> Numbers:
    columns = recording.columns
    on_device = recording.by_shape(lambda shape: shape.stream is not None).astype(bool)
    bounded: Numbers = (on_device & (columns.wait_begin == columns.wait_end)).astype(np.int64)
    return bounded


def _extremes(times: Sequence[int]) -> tuple[int, ...]:
    return (min(times), max(times)) if times else ()


def _others(recording: Recording) -> dict[str, Numbers]:
    """The columns that matching does not need; times relative to one another, so that they take few bytes."""
    columns = recording.columns
    return {
        "thread": columns.thread,
        "issued": columns.issued - columns.start,
        "wait_end": _from(columns.start, columns.wait_end),
        "wait_thread": columns.wait_thread,
        "peer": columns.peer,
        "batch": columns.batch,
        "step_numbers": np.array([number for number, _ in recording.steps], np.int64),
        "step_ends": np.array([t for _, t in recording.steps], np.int64),
    }


def _from(start: Numbers, times: Numbers) -> Numbers:
    return np.where(times == NONE, NONE, times - start)


def _in_order(
    recording: Recording, shapes: Sequence[CallShape], shape: Numbers, numbers: dict[Group, int]
) -> tuple[Numbers, tuple[GroupSpan, ...], tuple[ChannelSpan, ...]]:
    """The rows of all calls in the table's order, collectives by group and number, messages by channel, and where each
    group and channel lies."""

    def by_shape(values: Sequence[int]) -> Numbers:
        return np.array(values, np.int64)[shape]

    first: dict[GroupKey, int] = {}  # two may have the same members and order: to other ranks they are one
    groups = by_shape([first.setdefault(shape.group.key, numbers[shape.group]) for shape in shapes])
    kinds = by_shape([PEER_TO_PEER.index(shape.kind) if shape.kind in PEER_TO_PEER else -1 for shape in shapes])
    sequence = recording.columns.sequence
    parts: list[Numbers] = []
    spans, channels, begin = [], [], 0
    for number in range(len(numbers)):
        rows = np.flatnonzero((groups == number) & (kinds < 0))
        if len(rows):
            own = sequence[rows]
            if (own[1:] < own[:-1]).any():
                rows = rows[np.argsort(own, kind="stable")]
                own = sequence[rows]
            consecutive = bool((own[1:] - own[:-1] == 1).all())
            spans.append(GroupSpan(number, begin, len(rows), int(own[0]), consecutive))
            parts.append(rows)
            begin += len(rows)
    messages = np.flatnonzero(kinds >= 0)
    tags, sizes = by_shape([shape.tag for shape in shapes]), by_shape([shape.num_bytes for shape in shapes])
    keys = np.stack([kinds, recording.columns.peer, groups, tags], axis=1)[messages]
    values, which = np.unique(keys, axis=0, return_inverse=True)
    for at, (kind, peer, group, tag) in enumerate(values.tolist()):
        rows = messages[which == at]
        of_all = np.unique(sizes[rows])
        size = int(of_all[0]) if len(of_all) == 1 else None
        channels.append(ChannelSpan(kind, peer, group, tag, begin, len(rows), size))
        parts.append(rows)
        begin += len(rows)
    return np.concatenate([np.empty(0, np.int64), *parts]), tuple(spans), tuple(channels)
