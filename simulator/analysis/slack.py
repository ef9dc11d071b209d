"""By how much each node may be late without delaying the job."""

import numpy as np
from numpy.typing import NDArray

from hocket._core import simulator as engine
from hocket.simulator.prediction import Prediction

__all__ = ["slack"]


def slack(prediction: Prediction) -> NDArray[np.int64]:
    """Picoseconds by which each node of the workload may end later, alone, while the job takes no longer (int64).

    To first order: as if computations kept their order on each rank, and as if a collective took as long from its last
    member whichever that is. The nodes of the critical path have none.
    """
    workload = prediction.workload
    return engine.slack(
        rank_offset=workload.rank_offset,
        kind=workload.engine_kind,
        operand=workload.operand,
        dependency_offset=workload.dependency_offset,
        dependency=workload.dependency,
        start_ps=prediction.node_start_ps,
        finish_ps=prediction.node_finish_ps,
        cause=prediction.node_cause,
    )
