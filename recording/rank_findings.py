"""What there is to say of a rank by itself."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hocket.recording.agreement import unreceived
from hocket.recording.intervals import covered
from hocket.recording.kinds import KindSums, sent_messages
from hocket.recording.mismatch import Mismatch
from hocket.recording.own_work import OwnWork, own_work
from hocket.recording.recording import Recording
from hocket.recording.timeline import window
from hocket.recording.unwaited import Unwaited, find_unwaited

__all__ = ["RankFindings", "examine_rank"]

Numbers = NDArray[np.int64]


@dataclass(frozen=True)
class RankFindings:
    """Of a rank: how many operations it issued in how many steps that ended, its times in ns without those in which
    nothing was recorded, the messages it sent by
    group, its receives that did not end, its calls without a wait, what it worked by itself."""

    rank: int
    operations: int
    steps: int
    elapsed_ns: int
    communication_ns: int
    exposed_ns: int
    sent: list[KindSums]
    unreceived: list[Mismatch]
    unwaited: Unwaited | None
    own_work: OwnWork


def examine_rank(recording: Recording, group_of_shape: list[int]) -> RankFindings:
    """Looks at all calls of a rank; `group_of_shape` has the number of each shape's group."""
    begin, end = window(recording)
    columns = recording.columns
    gaps = np.clip(np.array(recording.gaps, np.int64).reshape(-1, 2), begin, end).T
    return RankFindings(
        rank=recording.rank,
        operations=len(recording),
        steps=len(set(np.unique(columns.step).tolist()) & {number for number, _ in recording.steps}),
        elapsed_ns=end - begin - covered(*gaps),
        communication_ns=_covered_beside(
            gaps,
            np.concatenate([columns.begin, columns.wait_begin]),
            np.concatenate([columns.end, columns.wait_end]),
        ),
        exposed_ns=_covered_beside(gaps, columns.wait_begin, columns.wait_end),
        sent=sent_messages(recording, group_of_shape),
        unreceived=list(unreceived(recording)),
        unwaited=find_unwaited(recording),
        own_work=own_work(recording),
    )


def _covered_beside(gaps: Numbers, begin: Numbers, end: Numbers) -> int:
    """The same of the intervals without what of them lies in `gaps`, begins and ends."""
    together = np.concatenate([begin, gaps[0]]), np.concatenate([end, gaps[1]])
    return covered(*together) - covered(*gaps)
