"""What ranks send of their own contributions: read where nothing was added to it, and copied only where that may be."""

from dataclasses import replace

import numpy as np
import pytest
from homes import LINK
from hypothesis import given, settings
from hypothesis import strategies as st
from programs import random_shots

from hocket.schedule import Collective, Kind, Program, Schedule, StepType, execute, retime, verify
from hocket.schedule.algorithms import build
from hocket.topology import load
from hocket.translator import Lowering, lower, lower_best, program_schedule
from hocket.translator.lowering.coarser import coarsen, mergeable
from hocket.translator.lowering.levels import levelled
from hocket.translator.mscclpp import lower_to_plan


def shot(ranks: int, size_bytes: int = 4096) -> Schedule:
    collective = Collective(Kind.ALL_REDUCE, ranks, size_bytes)
    return retime(build("one_shot", collective, load(f"switch:{ranks},{LINK}")))


def local_copies(program: Program) -> list[int]:
    """Chunks that each rank copies to scratch."""
    return [
        sum(
            step.count
            for block in gpu.thread_blocks
            for step in block.steps
            if step.type == StepType.COPY and step.dst_buffer == "s"
        )
        for gpu in program.gpus
    ]


@settings(max_examples=60)
@given(
    ranks=st.integers(2, 5),
    chunks=st.integers(1, 3),
    seed=st.integers(0, 10**6),
    in_place=st.booleans(),
    in_steps=st.booleans(),
)
def test_any_order_becomes_a_proved_program(ranks: int, chunks: int, seed: int, in_place: bool, in_steps: bool) -> None:
    schedule = retime(random_shots(ranks, chunks, seed))
    if in_steps:
        found = levelled(schedule)
        assert found is not None
        schedule = found
    program = lower(schedule, "msccl", Lowering(in_place=in_place))
    assert execute(program, fifo_depth=1, max_count=1).values
    if not in_place:
        assert local_copies(program) == [0] * ranks
    verify(program_schedule(program, schedule.topology, schedule.collective.size_bytes))
    for protocol in ("Simple", "LL"):
        made = lower_to_plan(schedule, Lowering(in_place=in_place, protocol=protocol), ranks_per_node=ranks)
        assert made.proof.values


def test_copied_where_something_comes_in_before_it_has_left() -> None:
    # All ranks send and get all chunks at once: without a copy each would have to send a chunk before it gets it.
    program = lower(levelled(shot(4)) or shot(4), "msccl")
    assert local_copies(program) == [program.chunks_per_loop] * 4, "the whole buffer"
    # One message to each of three others, one from each, and the copy.
    assert [sum(len(block.steps) for block in gpu.thread_blocks) for gpu in program.gpus] == [7] * 4
    assert execute(program, fifo_depth=1, max_count=1).messages == 4 * 3
    # Messages that wait for no room leave the input itself: nothing has come by then.
    (copies,) = {gpu.scratch_chunks for gpu in lower_to_plan(shot(4), ranks_per_node=4).plan.gpus}
    assert copies == 3 * 4  # a place for what comes from each other rank, and no more


def test_not_copied_where_it_leaves_first() -> None:
    # A rank never gets the blocks of others, which it sends.
    scatter = build("direct", Collective(Kind.REDUCE_SCATTER, 4, 4096), load(f"switch:4,{LINK}"))
    marked = replace(scatter, own=np.ones(scatter.num_transfers, np.bool_))
    verify(marked)
    program = lower(marked, "msccl")
    assert local_copies(program) == [0] * 4
    assert execute(program).values


def test_nobody_writes_a_sum_over_what_a_rank_has_not_copied_yet() -> None:
    # Out of place rank 0 sends its chunk right from the input, and what comes back would meet its copy of the input.
    schedule = random_shots(2, 1, seed=0)
    assert (schedule.own is not None) and not schedule.reduce.all()
    made = lower_to_plan(schedule, Lowering(in_place=False), ranks_per_node=2)
    assert made.proof.values


@pytest.mark.parametrize("in_place", [True, False])
def test_the_best_program_sends_a_message_to_each_other_rank(in_place: bool) -> None:
    best = lower_best(shot(8, 1024), "executor", Lowering(in_place=in_place, slots=1))
    direct = retime(build("direct", Collective(Kind.ALL_REDUCE, 8, 1024), load(f"switch:8,{LINK}")))
    other = lower_best(direct, "executor", Lowering(in_place=in_place, slots=1))
    assert best.candidates[0].strategy.levelled
    assert best.candidates[0].steps < other.candidates[0].steps
    assert best.candidates[0].time_ps < other.candidates[0].time_ps


@pytest.mark.parametrize("name", ["one_shot_by_dimension", "hierarchical_one_shot"])
@pytest.mark.parametrize("machine", ["dgx-h100:nodes=2,gpus=4", "dgx-h100:nodes=3,gpus=2"])
def test_over_several_machines(name: str, machine: str) -> None:
    topology = load(machine)
    schedule = retime(build(name, Collective(Kind.ALL_REDUCE, topology.num_ranks, 2048), topology))
    for in_place in (True, False):
        program = lower(schedule, "msccl", Lowering(in_place=in_place))
        assert execute(program, fifo_depth=1, max_count=1).values
        assert lower_to_plan(schedule, Lowering(in_place=in_place)).proof.values


def test_chunks_that_go_the_same_way_become_one_with_their_marks() -> None:
    topology = load(f"switch:4,{LINK}")
    fine = retime(build("one_shot", Collective(Kind.ALL_REDUCE, 4, 4096, 2), topology))
    coarse = coarsen(fine, 2)
    verify(coarse)
    assert coarse.is_own.all() and 2 * coarse.num_transfers == fine.num_transfers
    # Marked and unmarked ones do not go the same way: of chunk 0 half of the transfers lose their marks.
    unlike = retime(replace(build("direct", fine.collective, topology), own=None))
    marks = unlike.reduce & (unlike.chunk % 2 == 0)
    assert mergeable(unlike) == [2] and mergeable(replace(unlike, own=marks)) == []


@pytest.mark.parametrize(("ranks", "chunks"), [(3, 1), (5, 2), (8, 1)])
def test_what_is_sent_whole_is_one_chunk_and_divides_every_call(ranks: int, chunks: int) -> None:
    collective = Collective(Kind.ALL_REDUCE, ranks, 4096, chunks)
    schedule = retime(build("one_shot", collective, load(f"switch:{ranks},{LINK}")))
    found = levelled(schedule)
    assert found is not None
    for in_place in (True, False):
        program = lower(found, "executor", Lowering(in_place=in_place))
        assert program.chunks_per_loop == 1
        assert execute(program, fifo_depth=1).values
