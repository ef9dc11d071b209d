"""The longest chain of transfers that wait for each other."""

import numpy as np
import pytest

from hocket._core.schedule import Chains
from hocket.base.errors import ScheduleError
from hocket.schedule import Collective, Kind, dependencies, retime
from hocket.schedule.algorithms import build_all
from hocket.topology import load


@pytest.mark.parametrize("kind", [Kind.ALL_REDUCE, Kind.ALL_GATHER, Kind.BROADCAST])
def test_it_is_that_of_the_dependencies(kind: Kind) -> None:
    numbers = np.random.default_rng(1)
    for untimed in build_all(Collective(kind, 8, 1 << 20, 2), load("dgx-h100:nodes=2,gpus=4")):
        schedule = retime(untimed)
        offset, waited = dependencies(schedule)
        step = numbers.random(schedule.num_transfers)
        done = np.zeros(len(step))
        for transfer in range(len(step)):
            done[transfer] = step[transfer] + done[waited[offset[transfer] : offset[transfer + 1]]].max(initial=0)
        assert Chains(schedule.transfers).longest(step) == done.max(), schedule.generator


def test_a_step_for_each_transfer_is_needed() -> None:
    (schedule, *_) = build_all(Collective(Kind.ALL_GATHER, 4, 1 << 20, 1), load("dgx-h100:gpus=4"))
    with pytest.raises(ScheduleError, match="a step for each transfer"):
        Chains(schedule.transfers).longest(np.zeros(1))
