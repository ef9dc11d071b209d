"""What a stream lost: a page that never reached the disk takes lines with it, and others refer to them.

What cannot be understood any more is left out and told; the rest is as good as ever.
"""

from dataclasses import replace

import msgspec
import numpy as np
from numpy.typing import NDArray

from hocket.recording.stream_lines import REPLAYS, BackwardLine, GroupLine, InternalLine, Session, ShapeLine

__all__ = ["without_lost"]

Numbers = NDArray[np.int64]


def without_lost(session: Session) -> tuple[Session, tuple[str, ...]]:
    """The session without what refers to a line that is not there, and what to say of that."""
    told = [f"torn lines in its stream: {session.torn}"] if session.torn else []
    session, unissued = _only_of(session, session.numbers["c"][:, 0])
    if unissued:
        more = f" and {len(unissued) - 1} more" if len(unissued) > 1 else ""
        told.append(f"a line refers to an operation {min(unissued)}{more} that no line tells of")
    session, undescribed = _without_undescribed(session)
    if len(undescribed):
        calls = "1 call is" if len(undescribed) == 1 else f"{len(undescribed)} calls are"
        told.append(f"{calls} without description, from sequence {undescribed[0]} on")
    return session, tuple(told)


def _only_of(session: Session, ids: Numbers) -> tuple[Session, set[int]]:
    """The session with the lines of the operations `ids` only, and of which others it has lines."""
    numbers = session.numbers_of(lambda own: np.isin(own, ids))
    strange = session.numbers_of(lambda own: ~np.isin(own, ids))
    others = {number for letter, rows in strange.items() if letter != REPLAYS for number in rows[:, 0].tolist()}
    wanted = set(ids.tolist())
    records = list(session.records)
    for place, line in enumerate(records):
        if isinstance(line, BackwardLine | InternalLine):
            others.update(set(line.ids) - wanted)
            records[place] = msgspec.structs.replace(line, ids=tuple(number for number in line.ids if number in wanted))
    return replace(session, records=records, numbers=numbers), others


def _without_undescribed(session: Session) -> tuple[Session, Numbers]:
    """The session without calls whose shape, or the group of it, no line tells of, and these calls' numbers in their
    groups."""
    groups = {line.id for line in session.of(GroupLine)}
    records = [line for line in session.records if not isinstance(line, ShapeLine) or line.group in groups]
    session = replace(session, records=records)
    shapes = np.array([line.id for line in session.of(ShapeLine)], dtype=np.int64)
    calls, received = session.numbers["c"], session.numbers["s"]
    known = np.isin(received[:, 1], shapes)
    described = np.isin(calls[:, 1], shapes) | np.isin(calls[:, 0], received[known, 0])
    lost = ~described | np.isin(calls[:, 0], received[~known, 0])
    if not lost.any():
        return session, calls[lost, 2]
    return _only_of(session, calls[~lost, 0])[0], calls[lost, 2]
