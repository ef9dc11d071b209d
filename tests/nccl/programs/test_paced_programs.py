"""Programs of any origin at the pace of NCCL's rings."""

from hocket.nccl.programs.pace import paced_as_rings
from hocket.nccl.programs.spec import model_of
from hocket.schedule import Collective, Kind
from hocket.schedule.algorithms import build_all
from hocket.simulator import simulate_program
from hocket.topology import load
from hocket.translator import Lowering, lower_best

US = 10**6  # ps


def test_a_program_pays_the_launch_the_step_and_the_rate_of_a_ring() -> None:
    topology, size = load("dgx-a100:gpus=2"), 1 << 20
    schedule = next(iter(build_all(Collective(Kind.BROADCAST, 2, size, 1), topology)))
    program = lower_best(schedule, "executor").program
    passes = paced_as_rings(program, model_of(topology.name, 2), size)
    assert passes.pace is not None
    # NCCL 2.30's tuning.cc: 8.4 us before any step of Ring/Simple, 3.4 us a step over NVLink
    assert (passes.pace.start_ps, passes.pace.inside_ps) == (8_400_000, 3_400_000)
    # One message over the NVSwitch: 1 MiB at 300 GB/s is 3.5 us, and its two links have 0.35 us of latency each, less
    # than the block needs for its bytes and its step.
    carried = 3_495_254 + 2 * 350_000
    block = -(-size * US // (passes.pace.bandwidth // 10**6))
    assert simulate_program(program, topology, size).time_ps == carried
    paid = simulate_program(program, topology, size, passes=passes).time_ps
    assert paid == 8_400_000 + max(carried, 3_400_000 + block)


def test_the_protocol_of_the_program_is_the_one_whose_pace_it_has() -> None:
    topology, size = load("dgx-a100:gpus=2"), 1 << 20
    schedule = next(iter(build_all(Collective(Kind.BROADCAST, 2, size, 1), topology)))
    program = lower_best(schedule, "executor", Lowering(protocol="LL")).program
    pace = paced_as_rings(program, model_of(topology.name, 2), size).pace
    assert pace is not None and (pace.start_ps, pace.inside_ps) == (6_600_000, 600_000)
