"""A rank's stream read back: its calls in columns, each with completion and wait."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hocket.base.errors import FormatError
from hocket.chakra.c10d import OPERATIONS
from hocket.recording.lost_lines import without_lost
from hocket.recording.operations import PEER_TO_PEER
from hocket.recording.stream_lines import (
    BackwardLine,
    ClockLine,
    EndLine,
    ErrorLine,
    GroupLine,
    InternalLine,
    Meta,
    OperatorsLine,
    Session,
    ShapeLine,
    StepLine,
)
from hocket.recording.waits import NONE, Calls, find_waits

__all__ = ["CallColumns", "CallShape", "Group", "GroupKey", "Recording", "read_recording"]

Numbers = NDArray[np.int64]

# Sorted members, and which of the groups with these members, in order of creation.
GroupKey = tuple[tuple[int, ...], int]


@dataclass(frozen=True)
class Group:
    """A process group as one rank knows it: `ranks` in group order, `order` among groups of the same members."""

    name: str
    description: str
    ranks: tuple[int, ...]
    backend: str
    order: int

    @property
    def key(self) -> GroupKey:
        """What identifies a group on all ranks; names need not."""
        return tuple(sorted(self.ranks)), self.order

    @property
    def title(self) -> str:
        """What people call it."""
        return self.name if self.description in ("", "undefined") else self.description


@dataclass(frozen=True)
class CallShape:
    """What calls have in common. Sizes are bytes, `root` and `peer` world ranks.

    `in_splits` are the parts of the input for the group's ranks (rows of the tensor, or bytes), empty when all are the
    same. `stream` is CUDA's that was current at the issue, None elsewhere. `line` is the script's that issued it, as
    file:number, "" when not known.
    """

    op: str
    kind: str
    group: Group
    input_bytes: int
    output_bytes: int
    dtype: str
    is_async: bool
    root: int | None
    peer: int | None
    tag: int
    reduction: str | None
    in_splits: tuple[int, ...]
    stream: int | None
    line: str

    @property
    def num_bytes(self) -> int:
        """What MLCommons' converter counts: this rank's input; a message's size. A scatter's is its root's."""
        if self.kind == "scatter":
            return self.input_bytes or self.output_bytes * len(self.group.ranks)
        return self.output_bytes if self.kind == "recv" else self.input_bytes


@dataclass(frozen=True)
class CallColumns:
    """The calls of a rank in order of issue, a column an aspect; NONE (of `waits`) where there is none.

    `shape` counts in `Recording.shapes`. Times are ns. `end` is when completion was seen, `wait_begin` to `wait_end`
    when a thread waited for the call. `sequence` is its number in its group, -1 for messages; `peer` a message's
    other end as a world rank, which of a receive from any source only the wait knows; `batch` which of the rank's
    batches it was issued in.
    """

    shape: Numbers
    sequence: Numbers
    step: Numbers
    thread: Numbers
    start: Numbers
    end: Numbers
    wait_begin: Numbers
    wait_end: Numbers
    wait_thread: Numbers
    peer: Numbers
    batch: Numbers


@dataclass(frozen=True)
class Recording:
    """What one rank recorded. `steps` holds (number, end); `offsets` (t, offset to rank 0's clock, round trip).

    `errors` tell what the hook could not describe, `lost` what the stream lost and is therefore not here.
    `no_operators` is why there is no profile of its operators, "" where there is, None where nobody asked for one.
    """

    path: Path
    rank: int
    world: int
    job: str
    boot: str
    meta: Meta
    shapes: tuple[CallShape, ...]
    columns: CallColumns
    steps: tuple[tuple[int, int], ...]
    offsets: tuple[tuple[int, int, int], ...]
    errors: tuple[str, ...]
    lost: tuple[str, ...]
    no_operators: str | None
    ended: bool
    failed: bool

    def __len__(self) -> int:
        """The number of calls."""
        return len(self.columns.start)

    def by_shape(self, value: Callable[[CallShape], int]) -> Numbers:
        """For each call the value of its shape."""
        return np.array([value(shape) for shape in self.shapes], dtype=np.int64)[self.columns.shape]

    def completed(self, end: Numbers) -> "Recording":
        """The same with other times of completion."""
        return replace(self, columns=replace(self.columns, end=end))

    def shifted(self, shift: Callable[[Numbers], Numbers]) -> "Recording":
        """The same with `shift` applied to all times of calls and steps."""
        times = {name: getattr(self.columns, name) for name in ("start", "end", "wait_begin", "wait_end")}
        columns = {
            name: np.where(column == NONE, NONE, shift(np.where(column == NONE, 0, column)))
            for name, column in times.items()
        }
        ends = shift(np.array([t for _, t in self.steps], dtype=np.int64)).tolist()
        steps = tuple((number, end) for (number, _), end in zip(self.steps, ends, strict=True))
        return replace(self, columns=replace(self.columns, **columns), steps=steps)


def read_recording(path: Path) -> Recording:
    """The last session in a stream; a killed process leaves its last line torn and zero bytes behind it.

    What never took place is left out, and what cannot be understood because other lines were lost, which `lost` tells.

    Raises FormatError naming the file, and the line where one is broken.
    """
    session, lost = without_lost(_without_cancelled(Session.read(path)))
    (meta,) = session.of(Meta)
    ends = session.of(EndLine)
    operators = session.of(OperatorsLine)
    shapes, numbers = _shapes(session)
    steps = tuple((line.n, line.t) for line in session.of(StepLine))
    return Recording(
        path=path,
        rank=meta.rank,
        world=meta.world,
        job=meta.job,
        boot=meta.boot,
        meta=meta,
        shapes=shapes,
        columns=_columns(session, shapes, numbers, steps, meta.step),
        steps=steps,
        offsets=tuple((line.t, line.offset, line.round_trip) for line in session.of(ClockLine)),
        errors=tuple(dict.fromkeys(f"{line.op}: {line.message}" for line in session.of(ErrorLine))),
        lost=lost,
        no_operators=operators[-1].problem if operators else None,
        ended=bool(ends),
        failed=bool(ends) and not ends[0].ok,
    )


def _without_cancelled(session: Session) -> Session:
    """The session without the operations that never took place."""
    cancelled = session.numbers["x"][:, 0]
    numbers = {letter: rows[~np.isin(rows[:, 0], cancelled)] for letter, rows in session.numbers.items()}
    return replace(session, numbers=numbers)


def _shapes(session: Session) -> tuple[tuple[CallShape, ...], dict[int, int]]:
    """The shapes, and where among them each number of the stream is."""
    groups = {
        line.id: Group(line.name, line.description, line.ranks, line.backend, line.order)
        for line in session.of(GroupLine)
    }
    lines = session.of(ShapeLine)
    try:
        shapes = tuple(_shape(line, groups[line.group]) for line in lines)
    except KeyError as error:
        raise FormatError(
            f"{session.path}: a shape refers to an operation {error} that Hocket does not know"
        ) from error
    return shapes, {line.id: index for index, line in enumerate(lines)}


def _shape(line: ShapeLine, group: Group) -> CallShape:
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


def _columns(
    session: Session,
    shapes: tuple[CallShape, ...],
    numbers: dict[int, int],
    steps: tuple[tuple[int, int], ...],
    first_step: int,
) -> CallColumns:
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
    known, at = np.unique(shape_ids, return_inverse=True)
    shape = np.array([numbers[number] for number in known.tolist()], dtype=np.int64)[at]
    asynchronous = np.array([shape.is_async for shape in shapes], dtype=bool)[shape]
    seen = _with_batches(_seen_waits(session, rows_of), batch)
    waits = find_waits(Calls(start, thread, done, asynchronous), seen, _together(session.of(InternalLine), rows_of))
    message = np.array([shape.kind in PEER_TO_PEER for shape in shapes], dtype=bool)[shape]
    peer = np.array([NONE if shape.peer is None else shape.peer for shape in shapes], dtype=np.int64)[shape]
    waited = waits.end != NONE
    # The callback may come late; and not at all where there is a wait. On a device a wait ends before the operation.
    waits_for_all = np.array([shape.stream is None for shape in shapes], dtype=bool)[shape]
    end = np.where(waited & ((done == NONE) | (waits_for_all & (waits.end < done))), waits.end, done)
    ended = np.searchsorted(np.array([t for _, t in steps], dtype=np.int64), start, side="right")
    return CallColumns(
        shape=shape,
        sequence=np.where(message, -1, sequence),
        step=np.array([first_step, *(number + 1 for number, _ in steps)], dtype=np.int64)[ended],
        thread=thread,
        start=start,
        end=end,
        # A synchronous call waits from its issue on: what it does before it blocks is no work of the script.
        wait_begin=np.where(waited & ~asynchronous, start, waits.begin),
        wait_end=waits.end,
        wait_thread=np.where(waited, waits.thread, thread),
        peer=np.where(peer == NONE, waits.peer, peer),
        batch=batch,
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
