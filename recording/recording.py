"""A rank's stream read back: its calls in columns, each with completion and wait."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hocket.base.errors import FormatError
from hocket.recording.calls import CallColumns, CallShape, GroupKey
from hocket.recording.graphs import Replayed
from hocket.recording.limits import RecordingFacts, limits_of
from hocket.recording.lost_lines import without_lost
from hocket.recording.session_calls import columns_of, group_of, on_devices, shape_of
from hocket.recording.sessions import read_session
from hocket.recording.stream_lines import (
    ClockLine,
    CoresLine,
    CostLine,
    EndLine,
    ErrorLine,
    GroupLine,
    Meta,
    NcclLine,
    OperatorsLine,
    Session,
    ShapeLine,
    StepLine,
    UnseenLine,
)
from hocket.recording.waits import NONE

__all__ = ["Recording", "read_recording"]

Numbers = NDArray[np.int64]


@dataclass(frozen=True)
class Recording:
    """What one rank recorded. `steps` holds (number, end); `offsets` (t, offset to rank 0's clock, round trip).

    `errors` tell what the hook could not describe, `unseen` what communicates and is not recorded or not timed, `lost`
    what the stream lost and is therefore not here. `cost` is what the hook in Python told that it took, `cores` what
    the process had of its host's cores; `stepped_ns` by how much its wall clock was set while it ran, 0 where that is
    not known. Of a stream that a cap in bytes `cut`, the first `dropped` calls are gone, `first_step` is not whole, and
    `uncommon` calls are left out because another rank does not have them any more; `holes` are the numbers of
    collectives that took place and are not here: the group, the first and how many. `gaps` are the times (ns) between
    windows of steps, from when to when nothing was recorded. `no_operators` is why there is no
    profile of its operators, "" where there is, None where nobody asked for one; `nccl` where NCCL's profiler plugin
    wrote and why it has no times, None where it was not offered.
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
    unseen: tuple[str, ...]
    lost: tuple[str, ...]
    no_operators: str | None
    nccl: NcclLine | None
    ended: bool
    failed: bool
    first_step: int
    cut: bool
    dropped: int
    stepped_ns: int = 0
    cost: CostLine | None = None
    cores: CoresLine | None = None
    uncommon: int = 0
    gaps: tuple[tuple[int, int], ...] = ()
    holes: tuple[tuple[GroupKey, int, int], ...] = ()

    def __len__(self) -> int:
        """The number of calls."""
        return len(self.columns.start)

    @cached_property
    def own_work(self) -> Numbers:
        """For each call how long the rank had then been at its own work, ns: since the end of the last wait of any of
        its threads; where the device tells when the call began there, since the last call's end on the device, for the
        host runs ahead; and since recording went on behind a gap. NONE before the first."""
        columns = self.columns
        on_device = (columns.begin != columns.start) & (columns.begin != NONE)
        resumed = np.array([end for _, end in self.gaps], np.int64)
        by_host = _since(columns.start, np.concatenate([columns.wait_end, resumed]))
        if not on_device.any():
            return by_host
        told = on_device | (columns.start != columns.issued)
        return np.where(on_device, _since(columns.begin, np.concatenate([columns.end[told], resumed])), by_host)

    def by_shape(self, value: Callable[[CallShape], int]) -> Numbers:
        """For each call the value of its shape."""
        return np.array([value(shape) for shape in self.shapes], dtype=np.int64)[self.columns.shape]

    def timed(self, begin: Numbers, end: Numbers) -> "Recording":
        """The same with other times of its operations."""
        return replace(self, columns=replace(self.columns, begin=begin, end=end))

    def shifted(self, shift: Callable[[Numbers], Numbers]) -> "Recording":
        """The same with `shift` applied to all times of calls and steps."""
        times = {
            name: getattr(self.columns, name) for name in ("issued", "start", "begin", "end", "wait_begin", "wait_end")
        }
        columns = {
            name: np.where(column == NONE, NONE, shift(np.where(column == NONE, 0, column)))
            for name, column in times.items()
        }
        ends = shift(np.array([t for _, t in self.steps], dtype=np.int64)).tolist()
        steps = tuple((number, end) for (number, _), end in zip(self.steps, ends, strict=True))
        turns = shift(np.array(self.gaps, np.int64).ravel()).tolist()
        gaps = tuple(zip(turns[::2], turns[1::2], strict=True))
        return replace(self, columns=replace(self.columns, **columns), steps=steps, gaps=gaps)


def _since(times: Numbers, ends: Numbers) -> Numbers:
    """How long before each time the last end was that is not later; NONE where there is none."""
    ends = np.sort(ends[ends != NONE])
    last = np.searchsorted(ends, times, side="right") - 1
    return np.where(last < 0, NONE, times - np.concatenate([ends, [0]])[last])


def read_recording(path: Path, part: str = "", files: Sequence[Path] = ()) -> Recording:
    """The last session in a stream, or a window of steps of it; a killed process leaves its last line torn and zero
    bytes behind it. `files` as in `read_session`.

    What never took place is left out, and what cannot be understood because other lines were lost, which `lost` tells.

    Raises FormatError naming the file, and the line where one is broken.
    """
    found = read_session(path, part, files)
    session, lost = without_lost(_without_cancelled(found.session))
    (meta,) = session.of(Meta)
    ends = session.of(EndLine)
    operators, nccl = session.of(OperatorsLine), session.of(NcclLine)
    shapes, numbers = _shapes(session)
    steps = tuple((line.n, line.t) for line in session.of(StepLine))
    columns, shapes, untold, bounded, replayed = on_devices(
        found, session, columns_of(session, shapes, numbers, found), shapes
    )
    has_nccl = bool(nccl) and not nccl[-1].problem
    untimed = _untimed(0 if has_nccl else untold, bounded, replayed)
    keys = {line.id: group_of(line).key for line in session.of(GroupLine)}
    return Recording(
        path=path,
        rank=meta.rank,
        world=meta.world,
        job=meta.job,
        boot=meta.boot,
        meta=meta,
        shapes=shapes,
        columns=columns,
        steps=steps,
        offsets=tuple((line.t, line.offset, line.round_trip) for line in session.of(ClockLine)),
        errors=tuple(dict.fromkeys(f"{line.op}: {line.message}" for line in session.of(ErrorLine))),
        unseen=tuple(
            dict.fromkeys(
                [
                    *(line.what for line in session.of(UnseenLine)),
                    *untimed,
                    *limits_of(_facts(meta, shapes, columns, [number for number, _ in steps], found.cut)),
                ]
            )
        ),
        lost=lost,
        no_operators=operators[-1].problem if operators else None,
        nccl=nccl[-1] if nccl else None,
        ended=bool(ends),
        failed=bool(ends) and not ends[0].ok,
        stepped_ns=_stepped(meta, ends[0]) if ends else 0,
        cost=next(iter(session.of(CostLine)), None),
        cores=next(iter(session.of(CoresLine)[-1:]), None),
        first_step=found.first_step,
        cut=found.cut,
        dropped=found.dropped,
        gaps=found.gaps,
        holes=tuple((keys[group], first, count) for group, first, count in replayed.holes if group in keys),
    )


def _facts(
    meta: Meta, shapes: Sequence[CallShape], columns: CallColumns, steps: Sequence[int], cut: bool
) -> RecordingFacts:
    return RecordingFacts(
        torch=meta.torch,
        mpi=meta.mpi,
        hook=meta.hook,
        backends=frozenset(shape.group.backend for shape in shapes),
        timed=bool((columns.start != columns.issued).any()),
        asynchronous=any(shape.is_async for shape in shapes),
        first_step=int(columns.step.min(initial=np.iinfo(np.int64).max)) if len(columns.step) else 0,
        cut=cut,
        gaps=steps[-1] - steps[0] + 1 - len(steps) if steps else 0,
    )


def _stepped(meta: Meta, end: EndLine) -> int:
    """What the wall clock went more than the monotonic one from the begin to the end."""
    return end.epoch_ns - meta.epoch_ns - (end.t - meta.perf_ns) if end.epoch_ns else 0


def _without_cancelled(session: Session) -> Session:
    """The session without the operations that never took place."""
    cancelled = session.numbers["x"][:, 0]
    return replace(session, numbers=session.numbers_of(lambda ids: ~np.isin(ids, cancelled)))


def _shapes(session: Session) -> tuple[tuple[CallShape, ...], dict[int, int]]:
    """The shapes, and where among them each number of the stream is."""
    groups = {line.id: group_of(line) for line in session.of(GroupLine)}
    lines = session.of(ShapeLine)
    try:
        shapes = tuple(shape_of(line, groups[line.group]) for line in lines)
    except KeyError as error:
        raise FormatError(
            f"{session.path}: a shape refers to an operation {error} that Hocket does not know"
        ) from error
    return shapes, {line.id: index for index, line in enumerate(lines)}


def _untimed(untold: int, bounded: int, replayed: Replayed) -> list[str]:
    lines = []
    if untold:
        lines.append(f"when {untold} calls on devices began and ended there: they have the host's times")
    if bounded:
        lines.append(
            f"when {bounded} asynchronous calls on devices ended before they were waited for: they end at the wait, "
            "or share the time until then with those of their group that they would overlap"
        )
    if replayed.calls:
        lines.append(
            f"when {replayed.calls} calls in {replayed.replays} replays of graphs ran: they have the replay's times"
        )
    if replayed.unknown_replays:
        lines.append(
            f"{replayed.unknown_calls} calls in {replayed.unknown_replays} replays of graphs are not recorded: the "
            "capture of these graphs is not in what there is of the stream"
        )
    return lines
