"""What is known of a program's time before it is lowered is never more than what it takes."""

from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hocket.base.errors import ScheduleError
from hocket.schedule import Collective, Kind, Schedule, retime
from hocket.schedule.algorithms import ALGORITHMS, build
from hocket.simulator import simulate_program
from hocket.topology import load
from hocket.translator import Lowering, lower_best, priced_profile
from hocket.translator.lowering.least_time import LeastTime
from hocket.translator.lowering.lower import lower_by
from hocket.translator.lowering.lowering import Strategy

MACHINES = {
    spec: load(spec)
    for spec in (
        "dgx-h100:gpus=4",
        "dgx-h100:nodes=2,gpus=2",
        "dgx-1:gpus=4",
        "torus:2x2,bandwidth=50GB/s,latency=500ns",
        "ring:4,bandwidth=50GB/s,latency=500ns",
    )
}
KINDS = (Kind.ALL_REDUCE, Kind.ALL_GATHER, Kind.REDUCE_SCATTER, Kind.BROADCAST, Kind.ALL_TO_ALL)


@st.composite
def native_schedules(draw: st.DrawFn) -> Schedule:
    topology = MACHINES[draw(st.sampled_from(sorted(MACHINES)))]
    kind, chunks = draw(st.sampled_from(KINDS)), draw(st.integers(1, 4))
    size = 4 * chunks * 16 * draw(st.sampled_from([1, 100, 10_000, 1_000_000]))
    found = []
    for name in ALGORITHMS:
        with suppress(ScheduleError):  # not for this kind, or not here
            found.append(retime(build(name, Collective(kind, 4, size, chunks), topology)))
    return draw(st.sampled_from(found))


@settings(max_examples=60, deadline=None)
@given(
    schedule=native_schedules(),
    runtime=st.sampled_from(["executor", "device"]),
    protocol=st.sampled_from(["Simple", "LL", "LL128"]),
    channels=st.sampled_from([1, 2, 4]),
    slots=st.sampled_from([1, 2]),
    instances=st.sampled_from([1, 2, 4]),
)
def test_no_program_is_quicker(
    schedule: Schedule, runtime: str, protocol: str, channels: int, slots: int, instances: int
) -> None:
    profile = priced_profile(runtime, None, schedule.topology)
    strategy = Strategy(channels, slots, protocol=protocol, instances=instances)
    lowering = Lowering(protocol=protocol, in_place=schedule.collective.kind is not Kind.ALL_TO_ALL)
    try:
        program = lower_by(schedule, profile, lowering, strategy)
    except ScheduleError:
        return
    size = -(-schedule.collective.size_bytes // program.chunks_per_loop) * program.chunks_per_loop
    taken = simulate_program(program, schedule.topology, size, protocols=profile.protocols).time_ps
    least = LeastTime(schedule, profile)
    asked = schedule.collective.size_bytes
    assert least.of(strategy, asked) <= least.reached(strategy, asked) <= taken


def test_what_cannot_be_the_quickest_is_not_lowered_and_named_so() -> None:
    topology = load("dgx-h100:gpus=4")
    schedule = build("ring", Collective(Kind.ALL_REDUCE, 4, 256 << 20, 1), topology)
    found = lower_best(schedule, priced_profile("executor", None, topology)).candidates
    passed = [each for each in found if each.program is None and each.error is None]
    assert found[0].program is not None and passed
    assert all(each.time_ps > found[0].time_ps for each in passed)
    assert {each.strategy.protocol for each in passed} >= {"LL"}


@pytest.mark.parametrize("size", [1 << 10, 1 << 20, 256 << 20])
def test_passing_over_them_changes_no_choice(size: int) -> None:
    topology = load("dgx-h100:gpus=4")
    schedule = retime(build("direct", Collective(Kind.ALL_REDUCE, 4, size, 2), topology))
    profile = priced_profile("executor", None, topology)
    best = lower_best(schedule, profile)
    alone = [
        lower_best(schedule, profile, Lowering(protocol=name, instances=instances))
        for name in ("Simple", "LL", "LL128")
        for instances in (1, 2, 4, 8, 16)
    ]
    assert best.candidates[0].time_ps == min(each.candidates[0].time_ps for each in alone)
