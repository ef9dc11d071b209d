"""The checker finds every kind of fault, and names it."""

import dataclasses
from typing import Any

import machines
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from hocket.base.errors import ScheduleError
from hocket.schedule import Bound, Collective, Kind, Schedule, retime, verify
from hocket.schedule.algorithms import build

N, SIZE = 4, 4000  # chunks of 1000 B: 20,000 ps at 50 GB/s
DURATION = machines.LATENCY_PS + 20_000


def timed(kind: Kind = Kind.ALL_REDUCE, blocking: bool = False) -> Schedule:
    return retime(build("ring", Collective(kind, N, SIZE), machines.ring(N)), blocking)


def without(schedule: Schedule, transfer: int) -> Schedule:
    names = ("chunk", "route", "reduce", "start_ps", "finish_ps")
    return dataclasses.replace(schedule, **{name: np.delete(getattr(schedule, name), transfer) for name in names})


def changed(schedule: Schedule, **columns: dict[int, Any]) -> Schedule:
    """The schedule with some entries of some columns replaced."""
    arrays = {}
    for name, entries in columns.items():
        arrays[name] = getattr(schedule, name).copy()
        for at, value in entries.items():
            arrays[name][at] = value
    return dataclasses.replace(schedule, **arrays)


def test_report() -> None:
    report = verify(timed())
    assert report.num_transfers == 2 * (N - 1) * N
    assert report.wire_bytes == 2 * (N - 1) * SIZE
    assert report.time_ps == 2 * (N - 1) * DURATION
    assert report.link_busy_ps.tolist() == [2 * (N - 1) * 20_000] * N
    assert report.describe() == "24 transfers, 23.44 KiB on the wire, 3.12 us"
    assert verify(timed(blocking=True)).link_busy_ps.tolist() == [2 * (N - 1) * DURATION] * N


def cases() -> dict[str, tuple[Schedule, str]]:
    """Wrong schedules and what is said about them."""
    return {
        "leaves out the last delivery": (
            without(timed(), 2 * (N - 1) * N - 1),
            r"rank 0 must hold the sum of chunk 1 at the end, but misses the contribution of rank",
        ),
        "never delivered": (
            without(timed(Kind.ALL_GATHER), (N - 1) * N - 1),
            r"rank 0 must hold chunk 1 at the end, but never gets it",
        ),
        "reduced twice": (
            changed(timed(), reduce={2 * (N - 1) * N - 1: True}),
            r"transfer 23 .* adds the contribution of rank 0 a second time",
        ),
        "copied over what was to be summed": (
            changed(timed(), reduce={0: False}),
            r"must hold the sum of chunk 3 at the end, but misses the contribution of rank 1",
        ),
        "reduces in an all_gather": (
            changed(timed(Kind.ALL_GATHER), reduce={0: True}),
            r"transfer 0 .* reduces, but its collective does not",
        ),
        "sends what it does not hold yet": (
            changed(timed(Kind.ALL_GATHER), chunk={3: 0}),
            r"transfer 3 \(chunk 0, rank 3 -> 0, 0\.\.520000\): rank 3 does not hold the chunk when it sends it",
        ),
        "too short": (
            changed(timed(), finish_ps={0: DURATION - 1}),
            r"transfer 0 .* is too short: latency and serialization take 520000 ps",
        ),
        "link used twice at once": (
            changed(
                retime(build("direct", Collective(Kind.BROADCAST, 2, 2000, 2), machines.ring(2))), start_ps={1: 10_000}
            ),
            r"transfer 1 .* starts on link 0, which transfer 0 \(chunk 0, .*\) holds until 20000",
        ),
        "not sorted": (
            changed(timed(), start_ps={0: 1}),
            r"transfer 1 .* starts before the transfer listed before it; sort by start",
        ),
        "finishes before it starts": (changed(timed(), finish_ps={3: 0}), "transfer 3 .* finish after its start"),
        "unknown chunk": (changed(timed(), chunk={5: N}), "transfer 5: its chunk does not exist"),
        "unknown route": (changed(timed(), route={5: N}), "transfer 5: its route does not exist"),
        "unknown link": (changed(timed(), route_links={2: N}), "route 2: link 4 is not one of the topology's 4 links"),
        "broken route": (
            dataclasses.replace(
                timed(), route_links=np.array([0, 2, 1, 2, 3], np.int32), route_offset=np.array([0, 2, 3, 4, 5])
            ),
            "route 0: link 2 leaves node 2, but the link before it reaches node 1",
        ),
        "empty route": (
            dataclasses.replace(timed(), route_offset=np.array([0, 0, 2, 3, 4])),
            "route 0: needs at least one link",
        ),
        "round trip": (
            dataclasses.replace(
                timed(), route_links=np.array([0, 1, 2, 3, 1, 2, 3], np.int32), route_offset=np.array([0, 4, 5, 6, 7])
            ),
            "route 0: must lead from a rank or switch that computes to another, got node 0 to node 0",
        ),
        "outside the group": (
            dataclasses.replace(timed(), group=np.array([0, 1, 2, 7], np.int32)),
            r"the group \[0, 1, 2, 7\] leaves the topology's 4 ranks",
        ),
        "group of twins": (dataclasses.replace(timed(), group=np.array([0, 1, 1, 3], np.int32)), "4 different ranks"),
        "columns of different length": (
            dataclasses.replace(timed(), reduce=np.zeros(3, bool)),
            "columns of the transfers differ in length",
        ),
        "below its own bound": (
            dataclasses.replace(timed(), bound=Bound(10**12, "latency")),
            r"takes 3120000 ps, less than its lower bound 1000000000000 ps \(latency\)",
        ),
    }


@pytest.mark.parametrize("case", list(cases()))
def test_names_the_fault(case: str) -> None:
    schedule, message = cases()[case]
    with pytest.raises(ScheduleError, match=message):
        verify(schedule)


def test_two_arrivals_of_which_one_overwrites_are_a_race() -> None:
    # On a mesh of 2 x 2 rank 3 gets chunk 0 from rank 1 and from rank 2 in the same step.
    schedule = build("direct", Collective(Kind.BROADCAST, 4, 4), machines.mesh(2, 2))
    links = [
        int(np.flatnonzero((schedule.topology.src == a) & (schedule.topology.dst == b))[0])
        for a, b in [(0, 1), (0, 2), (1, 3), (2, 3)]
    ]
    schedule = dataclasses.replace(
        schedule,
        route_offset=np.arange(5),
        route_links=np.array(links, np.int32),
        chunk=np.zeros(4, np.int32),
        route=np.arange(4, dtype=np.int32),
        reduce=np.zeros(4, bool),
        start_ps=np.array([0, 0, 1, 1]),
        finish_ps=np.array([1, 1, 2, 2]),
    )
    with pytest.raises(ScheduleError, match="arrives at the same instant and one of them overwrites it"):
        verify(schedule)


@settings(max_examples=100)
@given(st.data())
def test_no_transfer_of_a_native_schedule_can_be_left_out(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(["ring", "direct", "double_binary_tree"]))
    schedule = build(name, Collective(Kind.ALL_REDUCE, data.draw(st.integers(2, 6)), SIZE), machines.switch(6))
    assume(schedule.num_transfers > 0)
    with pytest.raises(ScheduleError):
        verify(without(schedule, data.draw(st.integers(0, schedule.num_transfers - 1))))


@settings(max_examples=100)
@given(st.data())
def test_any_columns_are_judged_without_a_crash(data: st.DataObject) -> None:
    integers = st.lists(st.integers(-2, 9), min_size=24, max_size=24)
    columns = data.draw(
        st.sets(st.sampled_from(["chunk", "route", "start_ps", "finish_ps", "route_links"]), min_size=1)
    )
    schedule = timed()
    arrays = {}
    for name in columns:
        before = getattr(schedule, name)
        arrays[name] = np.resize(np.array(data.draw(integers)), len(before)).astype(before.dtype)
    try:
        verify(dataclasses.replace(schedule, **arrays))
    except ScheduleError as error:
        assert str(error)
