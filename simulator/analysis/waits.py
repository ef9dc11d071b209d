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
    """Ranks that others waited for, the worst first, or one of those that do alike where it stands for them: `rank`,
    `caused_wait_ps` (the sum over those that waited), `waits` (how many), `ranks_kept_waiting`."""
    found, workload = waits(prediction), prediction.workload
    num_ranks, stands_for = workload.num_ranks, workload.rank_counts
    caused, count, kept = (np.zeros(num_ranks, np.int64) for _ in range(3))
    np.add.at(caused, found.late, found.wait_ps * stands_for[found.rank])
    np.add.at(count, found.late, stands_for[found.rank])
    pairs = np.unique(np.stack([found.late, found.rank]), axis=1)
    np.add.at(kept, pairs[0], stands_for[pairs[1]])
    late = np.flatnonzero(count)
    late = late[np.argsort(-(caused // stands_for)[late], kind="stable")]
    each = {"caused_wait_ps": caused, "waits": count, "ranks_kept_waiting": kept}
    shared = {name: -(-values[late] // stands_for[late]) for name, values in each.items()}
    return {"rank": workload.rank_numbers[late], **shared}
