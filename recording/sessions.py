"""A rank's session out of the files of its stream: all segments that are left, or those of one window of steps."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec
import numpy as np

from hocket.base.errors import FormatError
from hocket.recording.segments import segment_number, segment_paths
from hocket.recording.stream_lines import (
    BackwardLine,
    ClockLine,
    EndLine,
    GraphLine,
    GroupLine,
    InternalLine,
    Meta,
    SegmentLine,
    Session,
    StepLine,
)

__all__ = ["RankSession", "parts_of", "read_session"]

_NEVER = np.iinfo(np.int64).max


@dataclass(frozen=True)
class RankSession:
    """`session` begins in training step `first_step`; `marks` tell from which time on (ns) its calls are of which step,
    in order of time. The first step is `cut` where its begin is not there: `dropped` calls of
    this rank come before, whose segments the cap has removed. `part` is the window of steps that was asked for; `gaps`
    tell from when to when (ns) nothing was recorded, between two windows."""

    session: Session
    first_step: int
    marks: tuple[tuple[int, int], ...]
    cut: bool
    dropped: int
    part: str
    gaps: tuple[tuple[int, int], ...] = ()


def read_session(stream: Path, part: str = "", files: Sequence[Path] = ()) -> RankSession:
    """The last session of the stream `stream/rank3.stream`, whole or in segments, or what it has of a window `part`.
    `files` are those that it had when somebody looked: some may have been dropped meanwhile.

    Raises FormatError naming file and line; and for a window that no segment is of.
    """
    paths = [path for path in files if path.exists()] or segment_paths(stream)
    if not paths:
        raise FormatError(f"{stream}: no such stream")
    segments = [Session.read(path) for path in paths]
    last = segments[-1].of(Meta)
    segments = [segment for segment in segments if segment.of(Meta) == last]
    chosen = _of_part(segments, part) if part else segments
    if not chosen:
        raise FormatError(f"{stream}: nothing of window {part}; it has {_told(segments)}")
    session = _joined(stream, chosen)
    calls = session.numbers["c"][:, 0]
    heads = chosen[0].of(SegmentLine)
    (meta,) = session.of(Meta)
    step = meta.step if not heads or heads[0].step is None or not heads[0].n else heads[0].step
    begins = bool(heads) and (heads[0].n == 0 or (bool(part) and heads[0].part == part))
    cut = bool(heads) and not begins
    first = int(calls.min(initial=_NEVER))
    later = segments[segments.index(chosen[-1]) + 1 :]
    session = _only(session, first, _NEVER) if heads else session
    if later:
        session = _with_ends(session, later)
    marks = [(line.t, line.n + 1) for line in session.of(StepLine)]
    marks += [(line.t, line.step) for line in session.of(SegmentLine) if line.step is not None]
    dropped = first if cut and len(calls) else 0
    return RankSession(session, step, tuple(sorted(marks)), cut, dropped, part, tuple(_gaps(session)))


def parts_of(stream: Path) -> list[str]:
    """The windows of steps of which a stream has segments, in order; reads only the begins of its files."""
    found: dict[str, None] = {}
    for path in segment_paths(stream):
        with path.open("rb") as file:
            for line in (file.readline(), file.readline()):
                if line.startswith(b'{"k":"segment",'):
                    found[msgspec.json.decode(line, type=SegmentLine).part] = None
    return [part for part in found if part]


def _of_part(segments: Sequence[Session], part: str) -> list[Session]:
    """The segments of a window. Where it is kept with what a cap would have dropped, those before it too."""
    of = [n for n, segment in enumerate(segments) if any(line.part == part for line in segment.of(SegmentLine))]
    if not of:
        return []
    kept = segments[0].path.parent.parent.name == part  # windows/<part>/stream
    return list(segments[0 if kept else of[0] : of[-1] + 1])


def _gaps(session: Session) -> Iterator[tuple[int, int]]:
    """From when to when nothing was recorded: a segment begins in a later step than the one that the lines before it
    came to, and no call was issued between."""
    issues = np.sort(session.numbers["c"][:, 3])
    last: tuple[int, int] | None = None
    for line in session.records:
        if isinstance(line, StepLine):
            last = line.t, line.n + 1
        elif isinstance(line, SegmentLine) and line.step is not None:
            if last is not None and line.step > last[1]:
                before, behind = np.searchsorted(issues, [last[0], line.t]).tolist()
                if before == behind:
                    yield last[0], line.t
            last = line.t, line.step


def _told(segments: Sequence[Session]) -> str:
    parts = dict.fromkeys(line.part for segment in segments for line in segment.of(SegmentLine) if line.part)
    return f"windows {', '.join(parts)}" if parts else "no windows of steps"


def _joined(stream: Path, segments: Sequence[Session]) -> Session:
    """One session of several, what stands in each of them once."""
    if segment_number(segments[0].path) is None:
        return segments[0]
    seen: set[object] = set()
    records = []
    for number, segment in enumerate(segments):
        for record in segment.records:
            if isinstance(record, GroupLine | ClockLine | GraphLine):
                told = ("graph", record.id) if isinstance(record, GraphLine) else record
                if told in seen:
                    continue
                seen.add(told)
            if number == 0 or not isinstance(record, Meta):
                records.append(record)
    numbers = {letter: np.concatenate([s.numbers[letter] for s in segments]) for letter in segments[0].numbers}
    return Session(stream, records, numbers, sum(segment.torn for segment in segments))


def _only(session: Session, first: int, last: int) -> Session:
    """The session with the lines of the operations `first` to `last`: others are of calls that are not there."""
    numbers = session.numbers_of(lambda ids: (ids >= first) & (ids <= last))
    records = []
    for record in session.records:
        if isinstance(record, BackwardLine | InternalLine):
            ids = tuple(number for number in record.ids if first <= number <= last)
            if not ids:
                continue
            record = msgspec.structs.replace(record, ids=ids)
        records.append(record)
    return replace(session, numbers=numbers, records=records)


def _with_ends(session: Session, later: Sequence[Session]) -> Session:
    """A session that goes on, with what its operations left to later segments, and an end: it lacks nothing."""
    calls = session.numbers["c"][:, 0]
    if not len(calls):
        return replace(session, records=[*session.records, EndLine(True)])
    ends = [_only(segment, int(calls.min()), int(calls.max())) for segment in later]
    numbers = {
        letter: rows if letter == "c" else np.concatenate([rows, *(segment.numbers[letter] for segment in ends)])
        for letter, rows in session.numbers.items()
    }
    more = [record for end in ends for record in end.records if isinstance(record, BackwardLine | InternalLine)]
    return replace(session, numbers=numbers, records=[*session.records, *more, EndLine(True)])
