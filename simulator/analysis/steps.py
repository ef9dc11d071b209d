"""How long each step of a job takes, where its traces tell its steps."""

import numpy as np

from hocket.chakra.steps import NO_STEP
from hocket.simulator.analysis.columns import Columns
from hocket.simulator.prediction import Prediction

__all__ = ["step_table"]


def step_table(prediction: Prediction) -> Columns:
    """A row per step: `step`, its number; `start_ps`, when the first of its nodes starts on any rank, `finish_ps`, when
    the last ends, and `time_ps` between. Nodes that take no time do not count. No rows where no steps are told
    (`hocket.chakra.steps`)."""
    number = prediction.workload.step
    counted = (number != NO_STEP) & (prediction.node_finish_ps > prediction.node_start_ps)
    step, of = np.unique(number[counted], return_inverse=True)
    start, finish = np.full(len(step), np.iinfo(np.int64).max), np.zeros(len(step), np.int64)
    np.minimum.at(start, of, prediction.node_start_ps[counted])
    np.maximum.at(finish, of, prediction.node_finish_ps[counted])
    return {"step": step, "start_ps": start, "finish_ps": finish, "time_ps": finish - start}
