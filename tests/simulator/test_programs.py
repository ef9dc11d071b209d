"""Programs of an interpreter in the simulator: closed forms, what the protocol and the slots cost, real programs."""

import csv
from functools import partial
from pathlib import Path

import in_process
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hocket.base.errors import DeadlockError, HocketError, SimulationError
from hocket.schedule import FIFO_DEPTH, Collective, Gpu, Kind, Program, Step, StepType, ThreadBlock, execute
from hocket.schedule.algorithms import build
from hocket.simulator import simulate_collective, simulate_program
from hocket.topology import load
from hocket.translator import Lowering, lower, read_xml

MIB = 1 << 20
WIRE = "fully_connected:2,bandwidth=1GB/s,latency=1us"  # 1 byte = 1 ns = 1,000 ps


def step(kind: str, count: int = 1, offset: int = 0) -> Step:
    return Step(StepType(kind), "i", offset, "i", offset, count)


def broadcast(*steps: tuple[str, int], chunks: int, protocol: str = "Simple") -> Program:
    """Rank 0 sends, rank 1 receives; `steps`: offset is the sum of the counts before."""
    blocks = []
    for send, receive in ((1, -1), (-1, 0)):
        listed, offset = [], 0
        for kind, count in steps:
            listed.append(step(kind if send == 1 else "r", count, offset))
            offset += count
        blocks.append(ThreadBlock(send, receive, 0, tuple(listed)))
    gpus = tuple(Gpu(chunks, chunks, 0, (block,)) for block in blocks)
    return Program("two", Kind.BROADCAST, chunks, 1, protocol, True, False, 0, 0, gpus)


def test_one_message_takes_its_route() -> None:
    # 1 MiB in one slice: 1,048,576 ns + 1 us
    assert simulate_program(broadcast(("s", 1), chunks=1), load(WIRE), MIB).time_ps == (MIB + 1000) * 1000


@pytest.mark.parametrize(("protocol", "numerator", "denominator"), [("LL", 2, 1), ("LL128", 16, 15)])
def test_flags_of_the_low_latency_protocols_are_bytes_on_the_wire(
    protocol: str, numerator: int, denominator: int
) -> None:
    size = 15 * 1024  # one slice of both
    prediction = simulate_program(broadcast(("s", 1), chunks=1, protocol=protocol), load(WIRE), size)
    assert prediction.time_ps == (size * numerator // denominator + 1000) * 1000
    assert prediction.bound_ps == (size + 1000) * 1000  # of the collective: flags are no data


def test_slices_of_a_large_chunk_follow_each_other() -> None:
    # 5 MiB in one chunk: passes of 2, 2 and 1 MiB, two of them under way at a time; the first has been received (1 us
    # after it left the wire) long before the second has left the wire, so the third follows at once.
    prediction = simulate_program(broadcast(("s", 1), chunks=1), load(WIRE), 5 * MIB)
    assert prediction.time_ps == (5 * MIB + 1000) * 1000
    assert prediction.link_messages.max() == 3


def test_a_connection_of_few_slots_waits_for_the_receiver() -> None:
    # Eight messages of 1 KiB on a wire of 100 us: two may be under way, so every pair takes its bytes and the latency:
    # the third goes when the first is there: pairs leave every 1.024 + 100 us, the last comes 1.024 us later.
    slow = load("fully_connected:2,bandwidth=1GB/s,latency=100us")
    steps = [("s", 1)] * 8
    one = 1024 + 100_000
    assert simulate_program(broadcast(*steps, chunks=8), slow, 8 * 1024).time_ps == (4 * one + 1024) * 1000
    # LL holds eight, of twice the bytes
    prediction = simulate_program(broadcast(*steps, chunks=8, protocol="LL"), slow, 8 * 1024)
    assert prediction.time_ps == (8 * 2048 + 100_000) * 1000


def test_a_step_of_several_chunks_sends_as_many_as_fit_a_slice() -> None:
    # six chunks of 1 MiB: messages of two, three of them; chunks of 4 MiB: two passes of six messages
    program = broadcast(("s", 6), chunks=6)
    assert simulate_program(program, load(WIRE), 6 * MIB).link_messages.max() == 3
    assert simulate_program(program, load(WIRE), 24 * MIB).link_messages.max() == 12


def test_a_size_that_the_chunks_do_not_divide_is_refused_with_the_nearest() -> None:
    with pytest.raises(
        SimulationError, match=r"6 chunks, which do not divide 1000 bytes.* nearest size it serves is 1002 B"
    ):
        simulate_program(broadcast(("s", 6), chunks=6), load(WIRE), 1000)


def test_what_never_ends_is_a_deadlock() -> None:
    def rank(peer: int) -> Gpu:
        steps = (step("s", 1, 0), step("s", 1, 1), step("r", 1, 0), step("r", 1, 1))
        return Gpu(2, 2, 0, (ThreadBlock(peer, peer, 0, steps),))

    program = Program("both_first", Kind.ALL_REDUCE, 2, 1, "Simple", True, False, 0, 0, (rank(1), rank(0)))
    simulate_program(program, load(WIRE), 2 * 2048)  # two messages fit
    three = tuple(
        Gpu(2, 2, 0, (ThreadBlock(1 - me, 1 - me, 0, (*[step("s")] * 3, *[step("r")] * 3)),)) for me in range(2)
    )
    with pytest.raises(DeadlockError):
        simulate_program(Program("three", Kind.ALL_REDUCE, 2, 1, "Simple", True, False, 0, 0, three), load(WIRE), 4096)


@pytest.mark.parametrize(("kind", "factor"), [(Kind.ALL_GATHER, 1), (Kind.REDUCE_SCATTER, 1), (Kind.ALL_REDUCE, 2)])
def test_a_lowered_ring_takes_the_time_of_the_ring(kind: Kind, factor: int) -> None:
    topology = load("ring:8,bandwidth=50GB/s,latency=500ns")
    size = 8 * MIB  # blocks of 1 MiB: one slice
    program = lower(build("ring", Collective(kind, 8, size), topology), "executor")
    # n-1 steps (all_reduce: twice) of 1 MiB at 50 GB/s (20 ps a byte) and 500 ns
    time = simulate_program(program, topology, size).time_ps
    assert time == factor * 7 * (20 * MIB + 500_000)
    assert time == simulate_collective(Collective(kind, 8, size), topology, "ring").time_ps


@pytest.mark.shared
def test_every_reference_program_runs_or_is_said_to_deadlock(shared: Path) -> None:
    """The recorded verdict of an independent simulation says which deadlock, and above which chunk count."""
    folder = shared / "msccl_xml"
    with (folder / "index.csv").open() as file:
        rows = list(csv.DictReader(file))
    simulated = 0
    for row in rows:
        try:
            program = read_xml(folder / row["file"])
        except HocketError:
            continue
        nodes, per_node = -(-program.num_ranks // 8), min(8, program.num_ranks)
        topology = load(f"dgx-a100:nodes={nodes},gpus={per_node}")
        prediction = simulate_program(program, topology, program.chunks_per_loop * 4096)
        if program.kind is not Kind.CUSTOM and row["xmlsim"] == "ok":
            assert prediction.time_ps >= prediction.bound_ps > 0, row["file"]
        simulated += 1
    assert simulated >= 60


@settings(max_examples=30)
@given(
    kind=st.sampled_from([Kind.ALL_GATHER, Kind.REDUCE_SCATTER, Kind.ALL_REDUCE, Kind.ALL_TO_ALL]),
    ranks=st.integers(2, 6),
    chunk=st.sampled_from([16, 4096, MIB, 2 * MIB + 16, 5 * MIB]),
    protocol=st.sampled_from(sorted(FIFO_DEPTH)),
    profile=st.sampled_from(["msccl", "executor", "rccl"]),
)
def test_no_program_beats_the_bound(kind: Kind, ranks: int, chunk: int, protocol: str, profile: str) -> None:
    topology = load(f"fully_connected:{ranks},bandwidth=50GB/s,latency=500ns")
    algorithm = "direct" if kind is Kind.ALL_TO_ALL else "ring"
    program = lower(
        build(algorithm, Collective(kind, ranks, ranks * chunk), topology), profile, Lowering(protocol=protocol)
    )
    execute(program)
    prediction = simulate_program(program, topology, ranks * chunk)
    assert prediction.time_ps >= prediction.bound_ps > 0
    assert not prediction.below_bound


hocket = partial(in_process.hocket, "simulate")


def test_command(tmp_path: Path) -> None:
    from hocket.translator import to_xml

    ring = "ring:4,bandwidth=50GB/s,latency=500ns"
    topology = load(ring)
    path = tmp_path / "ring.xml"
    path.write_text(to_xml(lower(build("ring", Collective(Kind.ALL_GATHER, 4, MIB), topology), "executor"), "executor"))
    one = hocket(path, "-t", ring, "--size", "1MiB", "--json", tmp_path / "p.json")
    assert one.returncode == 0, one.stderr
    # 3 x (256 KiB at 50 GB/s + 500 ns) = 17.23 us
    assert "17.23 us" in one.stdout
    several = hocket(path, "-t", ring, "--size", "1MiB..16MiB:2", "--csv", tmp_path / "c.csv", "--runtime", "rccl")
    assert several.returncode == 0, several.stderr
    assert len((tmp_path / "c.csv").read_text().splitlines()) == 6
    for more, remedy in (
        ((), "add --topology"),
        (("-t", ring), "add --size, such as --size 64MiB"),
        (("-t", ring, "--size", "1MiB", "--algorithm", "ring"), "drop --algorithm"),
    ):
        refused = hocket(path, *more)
        assert (refused.returncode, remedy in refused.stderr) == (2, True), refused.stderr
    assert hocket(path, "-t", ring.replace("4", "3"), "--size", "1MiB").returncode == 3
