"""Lowering: every schedule that fits is right at FIFO depth 1, on every runtime; what does not fit is refused."""

from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest
from homes import IN_NETWORK, home
from hypothesis import given, settings
from hypothesis import strategies as st
from programs import greedy_schedule, steps_of

from hocket.base.errors import ScheduleError
from hocket.schedule import NAMED_KINDS, Collective, Kind, Program, Schedule, StepType, execute
from hocket.schedule.algorithms import ALGORITHMS, build
from hocket.synthesizer import synthesize
from hocket.topology import Topology, load
from hocket.translator import PROFILES, Lowering, check_limits, from_xml, lower, to_xml

RANKS = 4
ROOTED = (Kind.BROADCAST, Kind.REDUCE, Kind.GATHER, Kind.SCATTER)
NATIVE = [
    (name, kind, in_place, profile)
    for name, algorithm in ALGORITHMS.items()
    for kind, in_place, profile in product(algorithm.kinds, (True, False), PROFILES)
    if name not in IN_NETWORK
    and not (in_place and kind is Kind.ALL_TO_ALL and profile == "msccl")
    and kind in PROFILES[profile].collective_names
]


def full(ranks: int) -> Topology:
    links = [(src, dst, 1000, 10**9) for src in range(ranks) for dst in range(ranks) if src != dst]
    return Topology.from_links("full", ranks, links)


def longest(program: Program) -> int:
    return max(len(block.steps) for gpu in program.gpus for block in gpu.thread_blocks)


def prove(program: Program, profile: str) -> None:
    """The text that a runtime reads is the program, and it is right however little its connections hold."""
    assert from_xml(to_xml(program, profile), "x", profile=profile, root=program.root) == program
    proof = execute(program, fifo_depth=1, max_count=1)
    assert proof.values
    assert proof.calls == ("in place",) if program.in_place else ("out of place",)
    execute(program, fifo_depth=8)


@pytest.mark.parametrize(("name", "kind", "in_place", "profile"), NATIVE)
def test_native_algorithms(name: str, kind: Kind, in_place: bool, profile: str) -> None:
    for chunks_per_rank, root in ((1, 0), (3, 2)):
        collective = Collective(kind, RANKS, 12000, chunks_per_rank, root if kind in ROOTED else 0)
        prove(lower(build(name, collective, home(name)), profile, Lowering(in_place=in_place)), profile)


@pytest.mark.parametrize("spec", ["ring:5", "mesh:2x3", "switch:4", "hypercube:3"])
@pytest.mark.parametrize("kind", NAMED_KINDS)
def test_synthesized_schedules(kind: Kind, spec: str) -> None:
    topology = load(f"{spec},bandwidth=50GB/s,latency=500ns")
    root = 1 if kind in ROOTED else 0
    schedule = synthesize(Collective(kind, topology.num_ranks, 1 << 20, 2, root), topology)
    for profile in PROFILES:
        if kind in PROFILES[profile].collective_names:
            prove(lower(schedule, profile, Lowering(in_place=kind is not Kind.ALL_TO_ALL)), profile)
            prove(lower(schedule, profile, Lowering(in_place=False, channels=2, paired=True)), profile)


@given(
    kind=st.sampled_from([Kind.ALL_GATHER, Kind.REDUCE_SCATTER, Kind.ALL_REDUCE]),
    ranks=st.integers(2, 7),
    chunks_per_rank=st.integers(1, 3),
    seed=st.integers(0, 10**6),
    profile=st.sampled_from(list(PROFILES)),
    in_place=st.booleans(),
    channels=st.integers(1, 3),
)
@settings(max_examples=60)
def test_timed_schedules_on_uneven_graphs(
    kind: Kind, ranks: int, chunks_per_rank: int, seed: int, profile: str, in_place: bool, channels: int
) -> None:
    schedule = greedy_schedule(kind, ranks, chunks_per_rank, seed)
    program = lower(schedule, profile, Lowering(in_place=in_place, channels=channels))
    prove(program, profile)
    received = sum(step.type.receives for *_, step in steps_of(program))
    assert received <= schedule.num_transfers


@pytest.mark.parametrize("root", [0, 2])
@pytest.mark.parametrize("kind", ROOTED)
def test_the_root_is_kept(kind: Kind, root: int) -> None:
    schedule = build("direct", Collective(kind, RANKS, 4000, 2, root), full(RANKS))
    program = lower(schedule, "executor")
    assert program.root == root
    assert from_xml(to_xml(program, "executor"), "x").root == root
    execute(program)


def test_chunks_that_travel_together_share_a_step() -> None:
    # direct all_gather of 3 chunks per rank over 4 ranks: one step of 3 chunks to each of 3 peers
    program = lower(build("direct", Collective(Kind.ALL_GATHER, 4, 12000, 3), full(4)), "msccl")
    sends = [step for *_, step in steps_of(program) if step.type == StepType.SEND]
    assert len(sends) == 4 * 3
    assert {step.count for step in sends} == {3}


def test_steps_are_cut_at_the_largest_count() -> None:
    # 80 chunks between two ranks: 71 + 9
    program = lower(build("direct", Collective(Kind.ALL_GATHER, 2, 16000, 80), full(2)), "msccl")
    assert sorted(step.count for *_, step in steps_of(program) if step.type == StepType.SEND) == [9, 9, 71, 71]
    prove(program, "msccl")


def test_rccl_gets_no_fused_steps() -> None:
    program = lower(build("ring", Collective(Kind.ALL_REDUCE, 4, 4000, 1), full(4)), "rccl")
    kinds = {step.type for *_, step in steps_of(program)}
    assert kinds == {StepType.SEND, StepType.RECEIVE, StepType.REDUCE}
    # one slot of scratch for the one peer that sends to be reduced
    assert {gpu.scratch_chunks for gpu in program.gpus} == {1}


def test_long_step_lists_are_spread_over_channels() -> None:
    # a ring all_reduce of 40 ranks has 2 * 39 = 78 steps: one channel on msccl (256), two on executor (64)
    schedule = build("ring", Collective(Kind.ALL_REDUCE, 40, 40000, 1), full(40))
    assert (lower(schedule, "msccl").num_channels, longest(lower(schedule, "msccl"))) == (1, 78)
    spread = lower(schedule, "executor")
    assert (spread.num_channels, longest(spread)) == (2, 39)
    prove(spread, "executor")


def test_more_than_32_peers_use_more_channels() -> None:
    # 33 peers: at most 32 thread blocks of a GPU send on one channel
    program = lower(build("direct", Collective(Kind.ALL_GATHER, 34, 34000, 1), full(34)), "executor")
    for gpu in program.gpus:
        senders = [block.channel for block in gpu.thread_blocks if block.send >= 0]
        assert len(senders) == 33
        assert max(map(senders.count, senders)) == 32
    prove(program, "executor")


@pytest.mark.parametrize(
    ("kind", "ranks", "profile", "asked", "expected"),
    [
        (
            Kind.ALL_REDUCE,
            34,
            "rccl",
            {},
            r"does not fit rccl: <gpu> rank 0: 66 thread blocks, limit 64 \(and 33 more\); use",
        ),
        (Kind.ALL_REDUCE, 1, "rccl", {}, "<gpu> rank 0: no thread block"),
        (
            Kind.ALL_REDUCE,
            4,
            "nccl",
            {},
            "there is no profile 'nccl'; did you mean 'rccl'. known: device, executor, json, msccl, rccl",
        ),
        (Kind.ALL_REDUCE, 4, "rccl", {"protocol": "ll"}, "no protocol 'll'; protocols: Simple, LL, LL128"),
        (Kind.ALL_REDUCE, 4, "rccl", {"channels": 0}, "channels must be at least 1"),
        (Kind.ALL_REDUCE, 4, "rccl", {"name": 'a"b'}, "cannot be a name for rccl: it must be"),
        (Kind.ALL_REDUCE, 4, "rccl", {"min_bytes": 9, "max_bytes": 5}, "sizes from 9 to 5 bytes"),
        (Kind.ALL_TO_ALL, 4, "msccl", {"in_place": True}, "this runtime refuses in-place all_to_all"),
        (Kind.GATHER, 4, "msccl", {}, "does not fit msccl: it has no collective gather; it has all_reduce"),
    ],
)
def test_what_does_not_fit_is_refused(
    kind: Kind, ranks: int, profile: str, asked: dict[str, Any], expected: str
) -> None:
    schedule = build("direct", Collective(kind, ranks, 1000 * ranks, 1), full(ranks))
    with pytest.raises(ScheduleError, match=expected):
        lower(schedule, profile, Lowering(**asked))


def test_a_step_list_that_no_channel_can_hold_is_refused() -> None:
    # two ranks, 3000 separate transfers of a chunk each: 3000 / 32 channels is more than 64 steps
    chunks = 3000
    schedule = build("direct", Collective(Kind.ALL_GATHER, 2, 6000, chunks), full(2))
    start = np.arange(schedule.num_transfers, dtype=np.int64)
    apart = replace(schedule, start_ps=start, finish_ps=start + 1)
    with pytest.raises(ScheduleError, match=r"<gpu> rank 0: .*(steps|elements).*limit \d+; use"):
        lower(apart, "executor")


def test_limits_name_rank_block_number_and_remedy() -> None:
    program = lower(build("ring", Collective(Kind.ALL_REDUCE, 40, 40000, 1), full(40)), "msccl")
    with pytest.raises(
        ScheduleError, match=r"rank 0 thread block 0: 78 steps, limit 64 \(and 79 more\); use more channels or fewer"
    ):
        check_limits(program, "executor")
    with pytest.raises(ScheduleError, match="is a fused rrc, which rccl cannot run"):
        check_limits(lower(build("ring", Collective(Kind.ALL_REDUCE, 4, 4000, 1), full(4)), "msccl"), "rccl")


@pytest.mark.parametrize(
    ("profile", "window"),
    [
        ("msccl", {"min_bytes": 1 << 28}),  # without a maxBytes it is msccl's default of 2^27
        ("executor", {"min_bytes": 5, "max_bytes": 7}),  # multiples of 4 chunks: 4, 8
        ("rccl", {"max_bytes": 3}),
    ],
)
def test_a_size_window_that_selects_nothing_is_refused(profile: str, window: dict[str, Any]) -> None:
    schedule = build("ring", Collective(Kind.ALL_GATHER, 4, 4000, 1), full(4))
    with pytest.raises(ScheduleError, match=r"no size of minBytes \d+ to maxBytes \d+ selects the file"):
        lower(schedule, profile, Lowering(**window))


def test_a_window_may_hold_one_size() -> None:
    program = lower(build("ring", Collective(Kind.ALL_GATHER, 4, 4000, 1), full(4)), "executor")
    one_size = replace(program, min_bytes=4096, max_bytes=4096)
    for profile, written in (("msccl", 4097), ("executor", 4096), ("rccl", 4096)):
        assert f'minBytes="4096" maxBytes="{written}"' in to_xml(one_size, profile)
        assert from_xml(to_xml(one_size, profile), "x").max_bytes == 4096


def test_the_size_window_is_written_as_each_runtime_means_it() -> None:
    schedule = build("ring", Collective(Kind.ALL_GATHER, 4, 4000, 1), full(4))
    # msccl selects sizes below maxBytes, the others up to it; with 0 msccl selects nothing
    for profile, largest, written in (
        ("msccl", 1 << 20, (1 << 20) + 1),
        ("executor", 1 << 20, 1 << 20),
        ("msccl", 0, (128 << 20) + 1),
        ("rccl", 0, 0),
    ):
        program = lower(schedule, profile, Lowering(max_bytes=largest))
        assert f'maxBytes="{written}"' in to_xml(program, profile)
        assert program.max_bytes == (largest or max(written - 1, 0))


@given(seed=st.integers(0, 1000), kind=st.sampled_from([Kind.ALL_GATHER, Kind.REDUCE_SCATTER, Kind.ALL_REDUCE]))
def test_what_messages_imply_may_be_waited_for(seed: int, kind: Kind) -> None:
    """Where following messages through all ranks takes too long, the dependencies are more, and right."""
    schedule = greedy_schedule(kind, 5, 2, seed)
    fewest = lower(schedule, "json")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("hocket.translator.lowering.emission.MAX_CLOCK_ENTRIES", 0)
        most = lower(schedule, "json")
    assert execute(most, fifo_depth=1, max_count=1).values
    few, many = ((program.rows["depend_block"] >= 0).sum() for program in (fewest, most))
    assert few <= many


def test_a_ring_knows_from_its_messages_what_it_else_waits_for() -> None:
    """In place, the second round of a ring overwrites the partial sums that the first round sent: that these had left
    is known from the sum that came round, or else is waited for, once a chunk and rank (but for the chunk that a rank
    itself sums up, which is overwritten by nobody)."""
    schedule = build("ring", Collective(Kind.ALL_REDUCE, RANKS, 1 << 20), full(RANKS))
    counts = []
    for entries in (1 << 29, 0):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("hocket.translator.lowering.emission.MAX_CLOCK_ENTRIES", entries)
            counts.append(int((lower(schedule, "json").rows["depend_block"] >= 0).sum()))
    assert counts[1] - counts[0] == RANKS * (RANKS - 1)


def test_messages_that_overtake_each_other_share_no_connection_of_several() -> None:
    # Of two chunks from rank 0 to rank 1 the second arrives first.
    schedule = Schedule(
        collective=Collective(Kind.BROADCAST, 2, 4000, chunks_per_rank=2),
        topology=Topology.from_links("pair", 2, [(0, 1, 0, 10**9)]),
        route_offset=np.arange(2),
        route_links=np.zeros(1, np.int32),
        chunk=np.arange(2, dtype=np.int32),
        route=np.zeros(2, np.int32),
        reduce=np.zeros(2, bool),
        start_ps=np.zeros(2, np.int64),
        finish_ps=np.array([3, 2]),
        timed=False,
        blocking=False,
        bound=None,
        generator="test",
        seed=None,
    )
    with pytest.raises(ScheduleError, match="from rank 0 to rank 1 overtake each other"):
        lower(schedule, "msccl", Lowering(slots=2))
    prove(lower(schedule, "msccl", Lowering(slots=1)), "msccl")
