"""Times of programs for a contest are those of simulations, to the picosecond; instances are simulated as one."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace

import pytest

from hocket.base.errors import ScheduleError, SimulationError
from hocket.schedule import NVIDIA, Collective, Kind, Program
from hocket.schedule.algorithms import build, build_all
from hocket.simulator import simulate_program
from hocket.simulator.program_times import ProgramTimes
from hocket.topology import Topology, load
from hocket.translator import Lowering, lower, priced_profile
from hocket.translator.lowering.instances import replicate
from hocket.translator.msccl.profile import Profile

_SIZES = (1 << 10, 48 << 10, 3 << 20, 24 << 20)


def _programs(kind: Kind, topology: Topology, profile: Profile, chunks: int) -> Iterator[Program]:
    for schedule in build_all(Collective(kind, topology.num_ranks, 1 << 20, chunks), topology):
        for protocol in profile.priced:
            for slots in (1, 2):
                with suppress(ScheduleError):
                    yield lower(schedule, profile, Lowering(protocol=protocol, slots=slots))


@pytest.mark.parametrize("runtime", ["executor", "device"])
@pytest.mark.parametrize("kind", [Kind.ALL_REDUCE, Kind.ALL_GATHER, Kind.ALL_TO_ALL])
@pytest.mark.parametrize("spec", ["dgx-h100:gpus=4", "dgx-h100:nodes=2,gpus=2"])
def test_they_are_those_of_simulations(runtime: str, kind: Kind, spec: str) -> None:
    topology = load(spec)
    profile = priced_profile(runtime, None, topology)
    compared = 0
    for number, program in enumerate(_programs(kind, topology, profile, 2)):
        times = ProgramTimes(program, topology)
        instances = (1, 2, 3, 4)[number % 4]
        several = replicate(program, instances)
        size = -(-_SIZES[number // 4 % 4] // several.chunks_per_loop) * several.chunks_per_loop
        told = simulate_program(several, topology, size, protocols=profile.protocols).time_ps
        assert times.at(size, profile.protocols, instances=instances) == told, (program.name, instances, size)
        compared += 1
    assert compared >= 8


def test_programs_on_other_ranks_and_by_other_protocols() -> None:
    topology = load("dgx-h100:nodes=2,gpus=4")
    profile = priced_profile("executor", None, topology)
    placement = [0, 4, 1, 5]
    collective = Collective(Kind.ALL_REDUCE, 4, 1 << 20, 1)
    for schedule in build_all(collective, load("dgx-h100:gpus=4")):
        try:
            program = lower(schedule, profile)
        except ScheduleError:
            continue
        times = ProgramTimes(program, topology, placement)
        for protocol in profile.priced:
            other = replicate(replace(program, protocol=protocol), 2)
            size = 64 * other.chunks_per_loop * 1000
            told = simulate_program(other, topology, size, protocols=profile.protocols, placement=placement)
            assert times.at(size, profile.protocols, protocol, instances=2) == told.time_ps


def test_what_they_do_not_tell() -> None:
    topology = load("dgx-h100:gpus=4")
    program = lower(next(build_all(Collective(Kind.ALL_REDUCE, 4, 1 << 20, 1), topology)), "executor")
    times = ProgramTimes(program, topology)
    assert times.at(1 << 20, NVIDIA) is None  # without a pace links serve one message after the other
    priced = priced_profile("executor", None, topology).protocols
    with pytest.raises(SimulationError, match="no 3 equal parts"):
        times.at(1 << 20, priced, instances=3)


def test_of_many_passes_the_last_take_as_long_as_those_before() -> None:
    topology = load("dgx-h100:nodes=2,gpus=2")
    profile = priced_profile("executor", None, topology)
    schedule = build("ring", Collective(Kind.ALL_REDUCE, 4, 1 << 20, 2), topology)
    program = lower(schedule, profile, Lowering(protocol="LL"))
    size = 128 << 20
    told = simulate_program(program, topology, size, protocols=profile.protocols).time_ps
    assert ProgramTimes(program, topology).at(size, profile.protocols) == pytest.approx(told, rel=1e-3)


@pytest.mark.parametrize("runtime", ["executor", "device"])
def test_passes_that_repeat_earlier_ones_are_not_simulated(runtime: str) -> None:
    """Whole periods are left out of a call's many passes, and the times stay those of all of them."""
    topology = load("dgx-h100:nodes=2,gpus=2")
    profile = priced_profile(runtime, None, topology)
    programs = list(_programs(Kind.ALL_REDUCE, topology, profile, 1))[::4]
    assert len(programs) >= 8
    for number, program in enumerate(programs):
        protocol = profile.protocols[program.protocol]
        size = (29 * protocol.slice_bytes + 4 * (number % 5)) * program.chunks_per_loop
        told = simulate_program(program, topology, size, protocols=profile.protocols).time_ps
        assert ProgramTimes(program, topology).at(size, profile.protocols) == told, program.name
