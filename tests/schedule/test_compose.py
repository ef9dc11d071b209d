"""Schedules turned around in time and joined, checked by the verifier."""

import machines
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hocket.base.errors import ScheduleError
from hocket.schedule import Collective, Kind, Schedule, concatenate, retime, reverse, verify
from hocket.schedule.algorithms import build

N = 5


@st.composite
def timed(draw: st.DrawFn, kind: Kind, name: str) -> Schedule:
    topology = draw(machines.topologies(N))
    collective = Collective(kind, N, 10_007, draw(st.integers(1, 2)), root=2)
    return retime(build(name, collective, topology), draw(st.booleans()))


@settings(max_examples=40)
@given(
    st.one_of(
        timed(Kind.ALL_GATHER, "ring"),
        timed(Kind.ALL_GATHER, "direct"),
        timed(Kind.BROADCAST, "double_binary_tree"),
        timed(Kind.GATHER, "direct"),
    )
)
def test_reverse_does_the_mirrored_collective_on_the_reversed_topology(schedule: Schedule) -> None:
    mirrored = reverse(schedule)
    verify(mirrored)
    mirror = {Kind.ALL_GATHER: Kind.REDUCE_SCATTER, Kind.BROADCAST: Kind.REDUCE, Kind.GATHER: Kind.SCATTER}
    assert mirrored.collective.kind is mirror[schedule.collective.kind]
    assert mirrored.topology.reversed().fingerprint == schedule.topology.fingerprint
    if schedule.blocking:
        assert mirrored.time_ps <= schedule.time_ps


@settings(max_examples=40)
@given(timed(Kind.ALL_GATHER, "direct"))
def test_reduce_scatter_then_all_gather_is_all_reduce(backwards: Schedule) -> None:
    scatter = reverse(backwards)
    gather = retime(build("ring", backwards.collective, scatter.topology), scatter.blocking)
    whole = concatenate(scatter, gather, Collective(Kind.ALL_REDUCE, N, 10_007, backwards.collective.chunks_per_rank))
    verify(whole)
    assert whole.time_ps <= scatter.time_ps + gather.time_ps


def test_untimed_schedules_compose_in_steps() -> None:
    topology = machines.ring(N)
    gather = build("ring", Collective(Kind.ALL_GATHER, N, 1000), topology)
    scatter = build("ring", Collective(Kind.REDUCE_SCATTER, N, 1000), topology)
    whole = concatenate(scatter, gather, Collective(Kind.ALL_REDUCE, N, 1000))
    verify(whole)
    assert whole.time_ps == 2 * (N - 1)
    verify(reverse(gather))


def test_refuses_what_does_not_fit() -> None:
    topology = machines.ring(N)
    gather = build("ring", Collective(Kind.ALL_GATHER, N, 1000), topology)
    with pytest.raises(ScheduleError, match="all_reduce has no mirror image in time"):
        reverse(build("ring", Collective(Kind.ALL_REDUCE, N, 1000), topology))
    with pytest.raises(ScheduleError, match="topology differs"):
        concatenate(reverse(gather), gather, Collective(Kind.ALL_REDUCE, N, 1000))
    other = build("ring", Collective(Kind.ALL_GATHER, N, 1000), topology, np.arange(N, dtype=np.int32)[::-1].copy())
    with pytest.raises(ScheduleError, match="group differs"):
        concatenate(gather, other, Collective(Kind.ALL_REDUCE, N, 1000))
