"""What each rank did with its time."""

import numpy as np
from numpy.typing import NDArray

from hocket.simulator.analysis.columns import Columns
from hocket.simulator.analysis.slack import slack
from hocket.simulator.analysis.waits import waits
from hocket.simulator.intervals import covered_ps
from hocket.simulator.models import Model
from hocket.simulator.prediction import Prediction
from hocket.simulator.workload import NodeKind

__all__ = ["COMMUNICATION", "rank_table"]

COMMUNICATION = (NodeKind.COLLECTIVE, NodeKind.SEND, NodeKind.RECEIVE, NodeKind.COMMUNICATION)


def rank_table(prediction: Prediction) -> Columns:
    """A row per rank, int64 picoseconds: `finish_ps`; `compute_ps`; `communication_ps`, in which it takes part in a
    collective or a message; `overlapped_ps`, in which it does both; `exposed_ps` = finish - compute; `kernel_ps`, the
    part of it in which it does neither, but launches a kernel or is in the latency of a kernel's step; `idle_ps`, that
    in which it does nothing at all, and `exposed_wait_ps`, that in which all its communications wait for another rank
    to come; `waited_ps` for other ranks and `caused_wait_ps` to them (sums over
    communications: those at one time count each); `slack_ps`, by which any one of its computations may take longer
    without delaying the job (from its finish to the job's end where it computes nothing); not for model `bound`."""
    workload = prediction.workload
    ranks, rank, stands_for = workload.num_ranks, workload.rank, workload.rank_counts
    start, finish = prediction.node_start_ps, prediction.node_finish_ps
    computing = workload.kind == NodeKind.COMPUTE
    communicating = np.isin(workload.kind, COMMUNICATION)
    either = computing | communicating
    doing = either | (workload.kind == NodeKind.DELAY)
    compute, communication, covered, done = (
        covered_ps(rank[rows], start[rows], finish[rows], ranks) for rows in (computing, communicating, either, doing)
    )
    # Where a communication is past its wait; of a message its sender may have begun before its receiver.
    begun = np.clip(start[prediction.node_cause], start, finish)
    active = covered_ps(rank[either], begun[either], finish[either], ranks)
    waited, caused, found = np.zeros(ranks, np.int64), np.zeros(ranks, np.int64), waits(prediction)
    np.add.at(waited, found.rank, found.wait_ps)
    np.add.at(caused, found.late, found.wait_ps * stands_for[found.rank] // stands_for[found.late])
    ended = np.zeros(ranks, np.int64)
    np.maximum.at(ended, rank, finish)
    table = {
        "finish_ps": ended,
        "compute_ps": compute,
        "communication_ps": communication,
        "overlapped_ps": compute + communication - covered,
        "exposed_ps": ended - compute,
        "kernel_ps": done - covered,
        "idle_ps": ended - done,
        "exposed_wait_ps": covered - active,
        "waited_ps": waited,
        "caused_wait_ps": caused,
    }
    if prediction.model != Model.BOUND:
        table["slack_ps"] = _least_slack(prediction, ended)
    every = {name: workload.by_rank(values) for name, values in table.items()}
    return {"rank": np.arange(workload.job_ranks), **every}


def _least_slack(prediction: Prediction, ended: NDArray[np.int64]) -> NDArray[np.int64]:
    workload = prediction.workload
    least = prediction.time_ps - ended
    computing = workload.kind == NodeKind.COMPUTE
    rank = workload.rank[computing]
    least[rank] = np.iinfo(np.int64).max
    np.minimum.at(least, rank, slack(prediction)[computing])
    return least
