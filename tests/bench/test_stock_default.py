"""The plain answer on every publicly measured machine is what NCCL's model says."""

from pathlib import Path

import numpy as np
import pytest

from hocket.bench.stock_default import MACHINES, answered


@pytest.mark.shared
def test_every_public_curve_is_answered_as_nccl_s_model_says(shared: Path) -> None:
    folder = shared / "nccl_tests"
    assert {path.stem for path in folder.glob("*.csv")} == set(MACHINES)
    found = [*answered(folder, step=6)]
    assert len(found) == 13
    for name, each in found:
        if each.model_us is not None:
            assert each.as_model == len(each.sizes), (name, each.spec)
        else:  # messages: as measured within a factor of ten
            assert (each.errors > -0.9).all() and (each.errors < 9).all()
    asked = {each.curve.kind for _, each in found if each.model_us is None}
    assert asked == {"all_to_all", "message"}
    small = [each for name, each in found if name == "h100_16gpu_2node_ib_allreduce"]
    assert np.rint(small[0].time_us[0] * 10) == 252
