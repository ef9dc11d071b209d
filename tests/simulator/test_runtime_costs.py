"""What the kernels of a runtime take: known of the device interpreter and MSCCL++, counted by hand."""

from dataclasses import replace
from fractions import Fraction

import pytest

from hocket.schedule import DEVICE, MSCCLPP, Collective, Kind, Pace, Passes, Program, Protocol
from hocket.schedule.algorithms import build_all
from hocket.simulator import simulate_program
from hocket.topology import load
from hocket.translator import Lowering, lower, priced_protocols

TWO = load("switch:2,bandwidth=100GB/s,latency=100ns")


def broadcast(protocol: str, size: int, chunks: int = 1) -> Program:
    """One message, of all chunks, from rank 0 to rank 1."""
    schedule = next(iter(build_all(Collective(Kind.BROADCAST, 2, size, chunks), TWO)))
    return lower(schedule, "device", Lowering(protocol=protocol))


def test_a_message_takes_the_launch_the_step_and_the_bytes_of_its_thread_block() -> None:
    size = 256 << 10
    program = broadcast("Simple", size)
    pace = DEVICE["Simple"].pace
    assert pace is not None
    paid = pace.start_ps + pace.inside_ps + -(-size * 10**6 // (pace.bandwidth // 10**6))
    assert simulate_program(program, TWO, size, protocols=DEVICE).time_ps == paid


def test_packets_are_twice_the_bytes_on_the_links_and_begin_earlier() -> None:
    links = load("switch:2,bandwidth=1GB/s,latency=0ns")
    size = 16 << 10
    pace = DEVICE["LL"].pace
    assert pace is not None
    carried = 2 * size * 1000  # ps a byte at 1 GB/s; a switch passes on what it has, and kernels need their step beside
    taken = simulate_program(broadcast("LL", size), links, size, protocols=DEVICE).time_ps
    assert taken == pace.start_ps + pace.inside_ps + carried
    small, large = 1 << 10, 16 << 20
    for runtime in (DEVICE, MSCCLPP):
        times = {
            (name, at): simulate_program(broadcast(name, at), TWO, at, protocols=runtime).time_ps
            for name in ("Simple", "LL")
            for at in (small, large)
        }
        assert times["LL", small] < times["Simple", small] and times["Simple", large] < times["LL", large]


def test_steps_between_machines_take_what_those_between_machines_take() -> None:
    far = load("dgx-h100:nodes=2,gpus=1")
    program, size = broadcast("Simple", 1 << 10), 1 << 10
    pace = DEVICE["Simple"].pace
    assert pace is not None
    between = simulate_program(program, far, size, protocols=DEVICE).time_ps
    inside = simulate_program(program, TWO, size, protocols=DEVICE).time_ps
    assert between - inside == pace.between_ps - pace.inside_ps


@pytest.mark.parametrize("chunks", [1, 4])
def test_a_runtime_that_cuts_no_message_has_slices_that_let_all_its_chunks_share_a_slot(chunks: int) -> None:
    program = broadcast("Simple", 4 << 20, chunks)
    counts = [step.count for gpu in program.gpus for block in gpu.thread_blocks for step in block.steps]
    slot = DEVICE["Simple"].slice_bytes
    passes = Passes.of(program, 4 << 20, DEVICE)
    chunk = (4 << 20) // program.chunks_per_loop
    assert len(passes) == -(-chunk * max(counts) // slot)
    assert passes.chunks_per_message >= max(counts)


def test_without_costs_kernels_take_no_time() -> None:
    plain = {"Simple": Protocol(2, 2 << 20, Fraction(1))}
    program, size = broadcast("Simple", 1 << 20), 1 << 20
    slow = {"Simple": replace(plain["Simple"], pace=Pace(10**6, 0, 0, 10**15))}
    without = simulate_program(program, TWO, size, protocols=plain).time_ps
    assert simulate_program(program, TWO, size, protocols=slow).time_ps == without + 10**6
    assert priced_protocols("executor")["Simple"].pace is None
