"""Who waited for whom in collectives and messages."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hocket.simulator.analysis.columns import Columns
from hocket.simulator.prediction import Prediction

__all__ = ["Waits", "caused_waits", "waits"]


@dataclass(frozen=True, eq=False)
class Waits:
    """Columns, a row a wait: rank `rank` (int32) was in a collective, or at a receive, for `wait_ps` (int64) before
    rank `late` (int32) came, without which it could not have ended; `node` (int64) is its row in the workload."""

    node: NDArray[np.int64]
    rank: NDArray[np.int32]
    late: NDArray[np.int32]
    wait_ps: NDArray[np.int64]


def waits(prediction: Prediction) -> Waits:
    """All waits for another rank. A rank that comes late because it waited elsewhere counts as late all the same: the
    critical path tells where a chain of waits begins."""
    cause, start = prediction.node_cause, prediction.node_start_ps
    node = np.flatnonzero(start[cause] > start)
    rank = prediction.workload.rank
    return Waits(node, rank[node], rank[cause[node]], (start[cause] - start)[node])


def caused_waits(prediction: Prediction) -> Columns:
    """Ranks that others waited for, the worst first: `rank`, `caused_wait_ps` (the sum over those that waited),
    `waits` (how many), `ranks_kept_waiting`."""
    found = waits(prediction)
    num_ranks = prediction.workload.num_ranks
    caused = np.zeros(num_ranks, np.int64)
    np.add.at(caused, found.late, found.wait_ps)
    count = np.bincount(found.late, minlength=num_ranks)
    pairs = np.unique(found.late.astype(np.int64) * num_ranks + found.rank)
    kept = np.bincount(pairs // max(num_ranks, 1), minlength=num_ranks)
    late = np.flatnonzero(count)
    late = late[np.argsort(-caused[late], kind="stable")]
    return {"rank": late, "caused_wait_ps": caused[late], "waits": count[late], "ranks_kept_waiting": kept[late]}
