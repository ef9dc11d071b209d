"""What each rank did with its time."""

from pathlib import Path

import numpy as np

import hocket
from hocket.simulator.analysis.critical_path import critical_path
from hocket.simulator.analysis.rank_timeline import rank_parts_ps, rank_timeline
from hocket.simulator.analysis.ranks import rank_table


def test_parts_of_a_ranks_time_are_none_below_nothing(tmp_path: Path) -> None:
    """In a program senders begin before their receivers do: what a rank did not wait for is no negative wait."""
    found = hocket.synthesize("all_gather", "dgx-h100:nodes=2,gpus=4", "16MiB", engine="trees", chunks=4)
    program = tmp_path / "program.xml"
    found.translate("executor", output=program)
    prediction = hocket.simulate(str(program), size="16MiB", topology="dgx-h100:nodes=2,gpus=4").prediction
    ranks = rank_table(prediction)
    parts = rank_parts_ps(ranks)
    assert parts.min() >= 0
    assert (parts.sum(axis=0) == ranks["finish_ps"]).all()
    # Its kernel is launched before anything else, and steps take time of their own: that is not idle.
    launch_ps = critical_path(prediction).parts()["launch"]
    assert launch_ps > 0 and critical_path(prediction).parts().keys() <= {"launch", "step latency", "message", "memory"}
    assert (ranks["kernel_ps"] >= launch_ps).all() and (ranks["idle_ps"] < launch_ps).all()
    first = rank_timeline(prediction).rows[0][1]
    assert first.startswith("k" * (launch_ps * len(first) // prediction.time_ps))
    assert np.all(ranks["exposed_wait_ps"] <= ranks["communication_ps"])
