"""Patterns that are kept from size to size are those that each size would have had."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hocket.base.errors import ScheduleError
from hocket.schedule import Collective, Kind
from hocket.schedule.algorithms import ALGORITHMS, pattern
from hocket.simulator import simulate_collective, simulate_schedule
from hocket.topology import load

LINK = "bandwidth=50GB/s,latency=500ns"
TOPOLOGIES = {shape: load(f"{shape},{LINK}") for shape in ("ring:8", "torus:2x4", "switch:6", "fully_connected:5")}
TOPOLOGIES["dgx-h100"] = load("dgx-h100")
KINDS = [kind for kind in Kind if kind is not Kind.CUSTOM]
SIZES = st.integers(0, 10**9)


@given(
    st.sampled_from(sorted(TOPOLOGIES)),
    st.sampled_from(KINDS),
    st.sampled_from([name for name, algorithm in ALGORITHMS.items() if not algorithm.by_size]),
    st.integers(1, 4),
    SIZES,
)
def test_moves_do_not_depend_on_sizes_unless_an_algorithm_says_so(
    shape: str, kind: Kind, name: str, chunks: int, size: int
) -> None:
    topology = TOPOLOGIES[shape]
    try:
        found, empty = (
            pattern(name, Collective(kind, topology.num_ranks, bytes, chunks), topology) for bytes in (size, 0)
        )
    except ScheduleError:
        return  # whatever the size
    for column in ("src", "dst", "step", "connection", "chunk", "reduce"):
        assert np.array_equal(getattr(found, column), getattr(empty, column)), column


@given(st.sampled_from(sorted(TOPOLOGIES)), st.sampled_from(KINDS), st.sampled_from(sorted(ALGORITHMS)), SIZES, SIZES)
def test_a_size_takes_what_its_own_schedule_takes_whatever_was_simulated_before(
    shape: str, kind: Kind, name: str, before: int, size: int
) -> None:
    topology = TOPOLOGIES[shape]
    collective = Collective(kind, topology.num_ranks, size)
    try:
        simulate_collective(Collective(kind, topology.num_ranks, before), topology, name)
        schedule = pattern(name, collective, topology).spelled_out()
    except ScheduleError:
        with pytest.raises(ScheduleError):
            simulate_collective(collective, topology, name)
        return
    assert simulate_collective(collective, topology, name).time_ps == simulate_schedule(schedule).time_ps


def test_uneven_blocks_follow_a_kept_pattern_too() -> None:
    topology = TOPOLOGIES["fully_connected:5"]
    simulate_collective(Collective(Kind.ALL_GATHER, 5, 5_000_000), topology, "direct")
    uneven = Collective.uneven(Kind.ALL_GATHER, 5, [0, 1_000_000, 0, 0, 4_000_000])
    # The largest block, 4 MB, goes to every rank on its own link: 80 us + 500 ns.
    assert simulate_collective(uneven, topology, "direct").time_ps == 80_500_000
