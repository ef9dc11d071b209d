"""How long a rank works by itself in each step: between the waits of its threads, whoever they wait for.

What a rank works does not depend on when others come, as its arrivals do: in a pipeline a slow stage lets its
neighbours wait, and works longer itself; it alone.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hocket.recording.recording import Recording
from hocket.recording.waits import NONE

__all__ = ["OwnWork", "own_work", "work_table"]

Numbers = NDArray[np.int64]

_SPANS = 1024  # at most, of a job of any length


@dataclass(frozen=True)
class OwnWork:
    """ns that a rank worked in spans of `width` steps each, a power of two; the first one begins with step
    `first * width`. No span where no step is marked: of what is one step, and what the next, nothing is known."""

    width: int
    first: int
    spans: list[int]

    def wider(self, width: int) -> "OwnWork":
        """The same in spans of `width`, which is no less."""
        places = np.arange(self.first, self.first + len(self.spans)) * self.width // width
        if len(places) == 0:
            return OwnWork(width, 0, [])
        return OwnWork(width, int(places[0]), _added(places - places[0], np.array(self.spans, np.int64)))


def own_work(recording: Recording) -> OwnWork:
    """What the rank worked before each of its waits but the first, by the step of what was waited for."""
    columns = recording.columns
    waited = columns.wait_end != NONE
    if not recording.steps or waited.sum() < 2:
        return OwnWork(1, 0, [])
    gaps = np.array(recording.gaps, np.int64).reshape(-1, 2)
    begin = np.concatenate([columns.wait_begin[waited], gaps[:, 0]])
    end = np.concatenate([columns.wait_end[waited], gaps[:, 1]])
    step = np.concatenate([columns.step[waited], np.full(len(gaps), columns.step.min())])
    order = np.argsort(begin, kind="stable")
    begin, end = begin[order], np.maximum.accumulate(end[order])
    step = np.maximum.accumulate(step[order])  # a wait may come late, in the next step
    worked = np.maximum(0, begin[1:] - end[:-1])
    width = 1
    while step[-1] // width - step[0] // width >= _SPANS:
        width *= 2
    places = step[1:] // width
    return OwnWork(width, int(places[0]), _added(places - places[0], worked))


def work_table(works: Sequence[OwnWork]) -> Numbers:
    """The ranks' work by spans, of those spans that all of them have."""
    width = max(work.width for work in works)
    works = [work.wider(width) for work in works]
    begin = max(work.first for work in works)
    end = min(work.first + len(work.spans) for work in works)
    return np.array([work.spans[begin - work.first : max(begin, end) - work.first] for work in works], np.int64)


def _added(places: Numbers, values: Numbers) -> list[int]:
    sums = np.zeros(int(places.max(initial=-1)) + 1, np.int64)
    np.add.at(sums, places, values)
    return list(map(int, sums))
