"""Fused steps, instances, and the choice among the ways to lower a schedule."""

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from programs import greedy_schedule

from hocket.base.errors import DeadlockError, ScheduleError
from hocket.schedule import AMD, FIFO_DEPTH, NAMED_KINDS, Collective, Kind, Program, execute, retime, verify
from hocket.schedule.algorithms import ALGORITHMS, build
from hocket.simulator import simulate_program
from hocket.synthesizer import synthesize
from hocket.topology import load
from hocket.translator import PROFILES, Lowering, lower, read_xml, translate
from hocket.translator.lowering.coarser import coarsen, mergeable
from hocket.translator.lowering.lowering import Strategy
from hocket.translator.lowering.strategies import quickest
from hocket.translator.msccl.xml_write import LimitError
from hocket.translator.translate import rewrite

RING = "ring:8,bandwidth=50GB/s,latency=500ns"
MIB = 1 << 20


def types(program: Program) -> Counter[str]:
    return Counter(str(step.type) for gpu in program.gpus for block in gpu.thread_blocks for step in block.steps)


def test_a_ring_becomes_one_thread_block_that_receives_and_sends_at_once() -> None:
    schedule = build("ring", Collective(Kind.ALL_REDUCE, 8, 8 * MIB), load(RING))
    program = lower(schedule, "executor", Lowering(slots=2))
    assert {len(gpu.thread_blocks) for gpu in program.gpus} == {1}
    # a rank: one send, 6 sums passed on and not kept, the 8th kept and passed on, 6 copies kept and passed on, the last
    assert types(program) == {"s": 8, "rrs": 48, "rrcs": 8, "rcs": 48, "r": 8}
    execute(program, fifo_depth=2, max_count=1)
    with pytest.raises(DeadlockError):  # each waits for the next to make room
        execute(program, fifo_depth=1)
    # the last step of the reduction sends at once what it sums up
    unfused = lower(schedule, "executor")
    assert types(unfused) == {"s": 112, "rrc": 56, "r": 56}
    execute(unfused, fifo_depth=1, max_count=1)


def test_nothing_is_fused_for_a_runtime_that_cannot() -> None:
    schedule = build("ring", Collective(Kind.ALL_REDUCE, 8, 8 * MIB), load(RING))
    assert types(lower(schedule, "rccl", Lowering(slots=2))) == {"s": 112, "r": 112, "re": 56}


def test_what_is_read_later_is_kept() -> None:
    # halving and doubling: what a rank sums up in the first step it sums up further in the second
    topology = load("fully_connected:4,bandwidth=50GB/s,latency=500ns")
    schedule = build("halving_doubling", Collective(Kind.ALL_REDUCE, 4, 4 * MIB), topology)
    for slots in (1, 2):
        execute(lower(schedule, "executor", Lowering(slots=slots)), fifo_depth=2, max_count=1)


def test_instances_work_beside_each_other() -> None:
    schedule = build("ring", Collective(Kind.REDUCE_SCATTER, 4, 4 * MIB), load(RING.replace("8", "4")))
    one, four = lower(schedule, "msccl", Lowering(slots=2)), lower(schedule, "msccl", Lowering(slots=2, instances=4))
    assert four.chunks_per_loop == 4 * one.chunks_per_loop
    assert four.num_channels == 4
    assert {len(gpu.thread_blocks) for gpu in four.gpus} == {4}
    assert types(four) == {kind: 4 * count for kind, count in types(one).items()}
    execute(four, fifo_depth=2, max_count=1)


@pytest.mark.parametrize("in_place", [True, False])
@pytest.mark.parametrize("instances", [1, 2, 4])
@pytest.mark.parametrize("kind", NAMED_KINDS)
def test_instances_of_every_collective(kind: Kind, instances: int, in_place: bool) -> None:
    """Messages over the parts of several ranks are cut at each part: an instance has no room for them in one piece."""
    topology = load("switch:4,bandwidth=50GB/s,latency=500ns")
    for name in ("recursive_doubling", "halving_doubling", "binomial", "ring", "direct"):
        if kind not in ALGORITHMS[name].kinds:
            continue
        schedule = build(name, Collective(kind, 4, 4 * MIB, 3), topology)
        for slots in (1, 2):
            program = lower(schedule, "executor", Lowering(instances=instances, slots=slots, in_place=in_place))
            assert program.chunks_per_loop == schedule.collective.slots * instances
            execute(program, fifo_depth=slots, max_count=1)


@pytest.mark.parametrize(("channels", "slots"), [(None, None), (1, None), (None, 2), (1, 1)])
def test_the_quickest_is_taken(tmp_path: Path, channels: int | None, slots: int | None) -> None:
    topology = load(RING)
    schedule = build("ring", Collective(Kind.ALL_REDUCE, 8, 64 * MIB, 4), topology)
    result = translate(schedule, tmp_path / "ring.xml", "msccl", Lowering(channels=channels, slots=slots))
    assert len(result.candidates) == (1 if channels else 3) * (1 if slots else 2)
    times = [each.time_ps for each in result.candidates if each.program]
    assert times == sorted(times)
    program = read_xml(tmp_path / "ring.xml")
    assert simulate_program(program, topology, 64 * MIB).time_ps == times[0]


def test_what_no_way_fits_says_why_the_plainest_does_not(tmp_path: Path) -> None:
    # a rank sends to 65 others and hears from them; where these share thread blocks there is one too many
    schedule = build("direct", Collective(Kind.ALL_GATHER, 66, 66 * MIB), load(RING.replace("ring:8", "switch:66")))
    with pytest.raises(ScheduleError, match="130 thread blocks, limit 64"):
        translate(schedule, tmp_path / "large.xml", "rccl", Lowering(channels=1, slots=1))
    assert not (tmp_path / "large.xml").exists()


def test_connections_share_thread_blocks_where_there_are_too_many(tmp_path: Path) -> None:
    # 39 peers to send to and to hear from: 78 thread blocks, of which RCCL takes 64
    schedule = build("direct", Collective(Kind.ALL_GATHER, 40, 40 * MIB), load(RING.replace("ring:8", "switch:40")))
    result = translate(schedule, tmp_path / "paired.xml", "rccl", Lowering(channels=1, slots=1))
    assert result.candidates[0].strategy == Strategy(paired=True)
    assert {len(gpu.thread_blocks) for gpu in result.program.gpus} == {39}


def test_chunks_that_go_the_same_way_are_made_one_where_there_are_too_many_steps(tmp_path: Path) -> None:
    # 2 * 7 * 300 messages go out of each rank, and as many come in: 8400 steps of at most 4096
    schedule = retime(build("ring", Collective(Kind.ALL_REDUCE, 8, 8 * 300 * 1024, 300), load(RING)))
    apart = replace(schedule, start_ps=schedule.start_ps + np.arange(schedule.num_transfers))
    apart = retime(replace(apart, finish_ps=apart.finish_ps + schedule.num_transfers, timed=False))
    result = translate(apart, tmp_path / "coarse.xml", "executor", Lowering(slots=1))
    strategy = result.candidates[0].strategy
    assert strategy.merged == 3
    assert result.program.chunks_per_loop == 8 * 100
    assert {each.program for each in result.candidates if each.strategy.merged < 3} == {None}


def test_who_cannot_have_coarser_chunks_is_told_how_many_there_may_be(tmp_path: Path) -> None:
    # 2 * 2 * 1500 messages per rank, of at most 4096; one chunk does not go straight from rank 0 to rank 2
    topology = load("fully_connected:3,bandwidth=50GB/s,latency=500ns")
    schedule = build("direct", Collective(Kind.ALL_GATHER, 3, 4500, 1500), topology)
    around = (schedule.chunk == 0) & (schedule.dst == 2)
    route = np.where(around, schedule.route[(schedule.src == 1) & (schedule.dst == 2)][0], schedule.route)
    start = np.where(around, schedule.num_transfers, np.arange(schedule.num_transfers))
    order = np.argsort(start)
    columns = {"chunk": schedule.chunk[order], "route": route.astype(np.int32)[order], "start_ps": start[order]}
    apart = retime(replace(schedule, **columns, finish_ps=start[order] + 1, timed=False))
    # rank 1 has 6001 steps, for 4095 elements less algo, 3 gpus and 63 thread blocks of 64 steps: 1500 * 4028 // 6001
    with pytest.raises(ScheduleError, match=r"elements .*; synthesize the schedule with --chunks 1006 or fewer"):
        translate(apart, tmp_path / "fine.xml", "executor", Lowering(channels=1, slots=1))


@settings(max_examples=30)
@given(
    kind=st.sampled_from([Kind.ALL_REDUCE, Kind.ALL_GATHER, Kind.REDUCE_SCATTER, Kind.ALL_TO_ALL, Kind.BROADCAST]),
    ranks=st.integers(2, 6),
    chunks=st.sampled_from([2, 4, 6, 12]),
)
def test_coarser_schedules_move_the_same_bytes(kind: Kind, ranks: int, chunks: int) -> None:
    topology = load(f"ring:{ranks},bandwidth=50GB/s,latency=500ns")
    schedule = retime(build("direct", Collective(kind, ranks, 12 * 1024 * ranks, chunks), topology))
    factors = mergeable(schedule)
    assert chunks in factors
    for factor in factors:
        coarse = coarsen(schedule, factor)
        assert coarse.num_transfers * factor == schedule.num_transfers
        assert coarse.busiest_link_ps == schedule.busiest_link_ps
        assert verify(coarse).wire_bytes == verify(schedule).wire_bytes


@settings(max_examples=40)
@given(
    kind=st.sampled_from([Kind.ALL_GATHER, Kind.REDUCE_SCATTER, Kind.ALL_REDUCE]),
    ranks=st.integers(2, 6),
    seed=st.integers(0, 2**31),
    profile=st.sampled_from(["msccl", "executor", "rccl"]),
    channels=st.integers(1, 3),
    slots=st.integers(1, 2),
)
def test_shared_thread_blocks_are_right_at_any_size(
    kind: Kind, ranks: int, seed: int, profile: str, channels: int, slots: int
) -> None:
    program = lower(
        greedy_schedule(kind, ranks, 2, seed), profile, Lowering(channels=channels, slots=slots, paired=True)
    )
    execute(program, fifo_depth=slots, max_count=1)


@pytest.mark.parametrize("chunks", [3, 6, 12])
def test_shared_thread_blocks_rely_on_no_depth(chunks: int) -> None:
    """A step of 3 chunks that forwards the second only when the receiver has taken the first would wait for itself."""
    topology = load("fully_connected:2,bandwidth=50GB/s,latency=500ns")
    schedule = build("ring", Collective(Kind.ALL_REDUCE, 2, MIB, chunks), topology)
    program = lower(schedule, "executor", Lowering(paired=True))
    assert {len(gpu.thread_blocks) for gpu in program.gpus} == {1}
    for depth in (1, 2):
        execute(program, fifo_depth=depth, max_count=1)


@pytest.mark.parametrize(("argument", "value"), [("slots", 0), ("slots", 3), ("instances", 0), ("channels", 0)])
def test_impossible_numbers_are_refused(argument: str, value: int) -> None:
    schedule = build("ring", Collective(Kind.ALL_REDUCE, 8, 8 * MIB), load(RING))
    with pytest.raises(ScheduleError, match=f"{value}"):
        lower(schedule, "executor", Lowering(**{argument: value}))


@settings(max_examples=60)
@given(
    kind=st.sampled_from([Kind.ALL_GATHER, Kind.REDUCE_SCATTER, Kind.ALL_REDUCE]),
    ranks=st.integers(2, 6),
    chunks=st.integers(1, 3),
    seed=st.integers(0, 2**31),
    profile=st.sampled_from(["msccl", "executor", "rccl"]),
    protocol=st.sampled_from(sorted(FIFO_DEPTH)),
    in_place=st.booleans(),
    channels=st.integers(1, 3),
    slots=st.integers(1, 2),
)
def test_every_way_is_right_at_any_size(
    kind: Kind,
    ranks: int,
    chunks: int,
    seed: int,
    profile: str,
    protocol: str,
    in_place: bool,
    channels: int,
    slots: int,
) -> None:
    schedule = greedy_schedule(kind, ranks, chunks, seed)
    program = lower(schedule, profile, Lowering(protocol=protocol, in_place=in_place, channels=channels, slots=slots))
    execute(program, fifo_depth=slots, max_count=1)
    execute(program, fifo_depth=FIFO_DEPTH[protocol])


@pytest.mark.parametrize("kind", [Kind.SCATTER, Kind.GATHER, Kind.ALL_TO_ALL, Kind.ALL_GATHER, Kind.ALL_REDUCE])
def test_every_kind_has_instances(kind: Kind, tmp_path: Path) -> None:
    """Chunks wait in scratch of the ranks on their way, which have more or less of it than those they come from."""
    schedule = synthesize(Collective(kind, 5, 5 * MIB), load(RING.replace("8", "5")))
    result = translate(schedule, tmp_path / "two.xml", "executor", Lowering(instances=2))
    execute(result.program, fifo_depth=2, max_count=1)


def test_predictions_are_for_the_runtimes_own_slices(tmp_path: Path) -> None:
    topology = load(RING)
    schedule = build("ring", Collective(Kind.ALL_GATHER, 8, 8 * MIB), topology)
    result = translate(schedule, tmp_path / "ring.xml", "rccl", Lowering(protocol="LL", channels=1, slots=1))
    assert result.candidates[0].time_ps == simulate_program(result.program, topology, 8 * MIB, protocols=AMD).time_ps


def test_a_name_that_msccl_takes_for_its_own_is_refused(tmp_path: Path) -> None:
    schedule = build("direct", Collective(Kind.ALL_TO_ALL, 4, 4 * MIB), load("switch:4,bandwidth=9GB/s,latency=1us"))
    with pytest.raises(ScheduleError, match=r'name="2D": with alltoall this runtime takes its own'):
        translate(schedule, tmp_path / "2d.xml", "msccl", Lowering(name="2D"))
    translate(schedule, tmp_path / "2d.xml", "executor", Lowering(name="2D"))


def test_a_round_that_fits_and_is_not_right_is_not_the_last() -> None:
    """A ring of fused steps, taken for one that relies on one message, is refused by its proof; then one is right."""
    schedule = build("ring", Collective(Kind.ALL_REDUCE, 8, 8 * MIB), load(RING))
    wrong, right = (lower(schedule, "executor", Lowering(slots=slots)) for slots in (2, 1))
    profile = PROFILES["executor"]

    def lowered(strategy: Strategy) -> Program:
        if strategy.channels == 2:
            raise LimitError("too large", "steps")
        return right if strategy.merged == 2 else wrong

    rounds = [[Strategy(channels=2)], [Strategy(), Strategy(channels=2)], [Strategy(merged=2)]]
    taken, *others = quickest(profile, iter(rounds), lowered, lambda _: 0).candidates
    assert taken.strategy.merged == 2 and taken.error is None
    assert [type(each.error) for each in others] == [LimitError, DeadlockError, LimitError]
    # of what is not right and what does not fit, the first is the reason
    with pytest.raises(DeadlockError):
        quickest(profile, iter(rounds[:2]), lowered, lambda _: 0)
    with pytest.raises(LimitError, match="too large"):
        quickest(profile, iter(rounds[:1]), lowered, lambda _: 0)


@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        ({"min_bytes": -5}, "sizes from -5 to 0 bytes"),
        ({"max_bytes": -1}, "sizes from 0 to -1 bytes"),
        ({"name": ""}, "an empty name"),
    ],
)
def test_sizes_and_names_that_are_none(asked: dict[str, Any], reason: str, tmp_path: Path) -> None:
    with pytest.raises(ScheduleError, match=reason):
        Lowering(**asked)
    program = lower(build("ring", Collective(Kind.ALL_REDUCE, 8, 8 * MIB), load(RING)), "executor")
    with pytest.raises(ScheduleError, match=reason):
        rewrite(program, tmp_path / "none.xml", "msccl", **asked)
    assert not (tmp_path / "none.xml").exists()
