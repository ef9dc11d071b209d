"""rotated_doubling: neighbours exchange, in as many steps as the size is worth, on all links at once."""

import numpy as np
import pytest
from homes import LINK

from hocket.base.errors import ScheduleError
from hocket.schedule import Collective, Kind, bound_of_any_chunks, retime, verify
from hocket.schedule.algorithms import build
from hocket.topology import load


@pytest.mark.parametrize(("size", "halved"), [(2**10, 0), (2**16, 0), (2**18, 2), (2**22, 3)])
@pytest.mark.parametrize("spec", ["torus:4x4", "hypercube:4", "ring:4xhypercube:2"])
def test_steps_and_bytes_go_with_the_size(spec: str, size: int, halved: int) -> None:
    topology, pieces = load(f"{spec},{LINK}"), 8
    schedule = build("rotated_doubling", Collective(Kind.ALL_REDUCE, 16, size, pieces), topology)
    verify(schedule)
    assert schedule.time_ps == 4 + halved  # steps
    sent = 16 * pieces * (2 - 2 / 2**halved + (4 - halved) / 2**halved)
    assert np.bincount(schedule.src).tolist() == [sent] * 16
    assert len(schedule.route_links) == len(schedule.route_offset) - 1  # neighbours
    # Every link carries the same.
    assert len(set(np.bincount(schedule.route).tolist())) == 1


@pytest.mark.parametrize(("size", "percent"), [(2**14, 101), (2**16, 101), (2**18, 120), (2**20, 101), (2**22, 101)])
def test_it_comes_to_the_bound_where_one_dimension_at_a_time_does_not(size: int, percent: int) -> None:
    torus = load(f"torus:4x4,{LINK}")
    collective = Collective(Kind.ALL_REDUCE, 16, size, 16)
    timed = retime(build("rotated_doubling", collective, torus))
    verify(timed)
    assert timed.time_ps * 100 <= bound_of_any_chunks(collective, torus).time_ps * percent


@pytest.mark.parametrize("spec", ["ring:8", "mesh:4x4", "torus:4x3", "torus:8x4", "switch:8"])
def test_other_dimensions_are_refused(spec: str) -> None:
    topology = load(f"{spec},{LINK}")
    with pytest.raises(ScheduleError, match=r"^rotated_doubling needs links between ranks, in dimensions of two"):
        build("rotated_doubling", Collective(Kind.ALL_REDUCE, topology.num_ranks, 1024), topology)
