"""How long each step of a job takes, where its traces mark steps."""

import re

import numpy as np

from hocket.simulator.analysis.columns import Columns
from hocket.simulator.prediction import Prediction

__all__ = ["step_table"]

_MARK = re.compile(r"(?:ProfilerStep|[Ss]tep)[ _#]?(\d+)")


def step_table(prediction: Prediction) -> Columns:
    """A row a step: `step`, its number; `finish_ps`, when its last node ends on any rank; `time_ps` since the step
    before. No rows where nothing marks steps.

    A node named `ProfilerStep#3` (PyTorch's profiler) or `step 3` begins step 3 on its rank: it and the nodes after it,
    in ascending id, are that step's, up to the next such node; those before the first mark are part of the first step.
    """
    workload = prediction.workload
    number_of = np.array(
        [int(found[1]) if (found := _MARK.fullmatch(text)) else -1 for text in workload.strings] or [-1]
    )
    number = number_of[workload.name]
    marks = np.flatnonzero(number >= 0)
    if not len(marks):
        return {name: np.zeros(0, np.int64) for name in ("step", "finish_ps", "time_ps")}
    # Of each node the last mark at or before it, and if that is another rank's the first of its own.
    rank = workload.rank
    nodes = np.arange(len(number))
    mark = marks[np.maximum(np.searchsorted(marks, nodes, side="right") - 1, 0)]
    first_of_rank = marks[np.minimum(np.searchsorted(marks, workload.rank_offset[rank]), len(marks) - 1)]
    mark = np.where(rank[mark] == rank, mark, first_of_rank)
    counted = rank[mark] == rank
    step, of = np.unique(number[mark[counted]], return_inverse=True)
    finish = np.zeros(len(step), np.int64)
    np.maximum.at(finish, of, prediction.node_finish_ps[counted])
    finish = np.maximum.accumulate(finish)
    return {"step": step, "finish_ps": finish, "time_ps": np.diff(finish, prepend=0)}
