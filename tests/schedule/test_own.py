"""Transfers that carry what a rank contributes, whatever it has added to it by then."""

import dataclasses
from pathlib import Path

import machines
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from programs import random_shots

from hocket.base.errors import ScheduleError
from hocket.schedule import (
    Chunk,
    Collective,
    Conditions,
    FoldedSchedule,
    Kind,
    Schedule,
    concatenate,
    dependencies,
    load,
    lower_bound,
    retime,
    reverse,
    save,
    verify,
    verify_together,
)
from hocket.schedule.algorithms import build, build_all
from hocket.schedule.joint import Joint
from hocket.simulator import simulate_collective, simulate_schedule
from hocket.topology import Topology
from hocket.topology import load as load_topology


def late() -> Schedule:
    """Of one chunk over three ranks: ranks 0 and 1 exchange, then each of the two and rank 2 do, in the steps after."""
    ends = [(0, 1), (1, 0), (0, 2), (2, 0), (1, 2), (2, 1)]
    topology = Topology.from_links("full", 3, [(src, dst, 1000, 10**9) for src, dst in ends])
    collective = Collective.custom(3, Conditions.of(3, [Chunk(range(3), range(3), 1000)]))
    step = np.array([0, 0, 1, 1, 2, 2])
    return Schedule(
        collective=collective,
        topology=topology,
        route_offset=np.arange(7),
        route_links=np.arange(6, dtype=np.int32),
        chunk=np.zeros(6, np.int32),
        route=np.arange(6, dtype=np.int32),
        reduce=np.ones(6, np.bool_),
        start_ps=step,
        finish_ps=step + 1,
        timed=False,
        blocking=False,
        bound=None,
        generator="test",
        seed=None,
        own=np.ones(6, np.bool_),
    )


def test_a_rank_sends_its_own_after_it_has_added_others() -> None:
    schedule = late()
    verify(schedule)
    # Without the mark rank 0 sends in step 1 what it has: its own and that of rank 1.
    assert schedule.own is not None
    unmarked = dataclasses.replace(schedule, own=None)
    with pytest.raises(ScheduleError, match=r"transfer 4 .* adds the contribution of rank 0 a second time"):
        verify(unmarked)


def test_waits_for_nothing() -> None:
    schedule = late()
    offset, ids = dependencies(schedule)
    assert len(ids) == 0 and offset.tolist() == [0] * 7
    timed = retime(schedule)
    verify(timed)
    # All at once: 1000 bytes at 1 GB/s and 1 ns.
    assert timed.start_ps.tolist() == [0] * 6 and timed.time_ps == 1_000_000 + 1000
    assert simulate_schedule(timed).time_ps == timed.time_ps


def test_only_a_rank_that_contributes_has_something_of_its_own() -> None:
    gather = build("ring", Collective(Kind.ALL_GATHER, 4, 4000), machines.ring(4))
    first = gather.start_ps == 0
    verify(dataclasses.replace(gather, own=first))
    with pytest.raises(
        ScheduleError, match=r"transfer \d .*: rank \d sends its own contribution to the chunk, and has none"
    ):
        verify(dataclasses.replace(gather, own=~first))
    switch = load_topology("switch:4,bandwidth=50GB/s,latency=500ns,in_network=1")
    tree = build("switch_tree", Collective(Kind.ALL_REDUCE, 4, 4000), switch)
    with pytest.raises(ScheduleError, match="switch 4 sends its own contribution to the chunk, and has none"):
        verify(dataclasses.replace(tree, own=tree.src >= 4))


def test_columns_agree_in_length() -> None:
    with pytest.raises(ScheduleError, match="the columns of the transfers differ in length"):
        verify(dataclasses.replace(late(), own=np.ones(5, np.bool_)))


def test_in_time_reversed_a_chunks_only_holder_needs_no_mark() -> None:
    gather = build("direct", Collective(Kind.ALL_GATHER, 4, 4000), machines.switch(4))
    scatter = reverse(dataclasses.replace(gather, own=np.ones(gather.num_transfers, np.bool_)))
    assert scatter.own is None
    verify(scatter)


def test_one_behind_another_keeps_the_marks_of_the_first_only() -> None:
    switch = machines.switch(4)
    scatter = build("direct", Collective(Kind.REDUCE_SCATTER, 4, 4000), switch)
    gather = build("direct", Collective(Kind.ALL_GATHER, 4, 4000), switch)
    scatter, gather = (
        dataclasses.replace(each, own=np.ones(each.num_transfers, np.bool_)) for each in (scatter, gather)
    )
    whole = concatenate(scatter, gather, Collective(Kind.ALL_REDUCE, 4, 4000))
    assert whole.own is not None and whole.own.tolist() == [True] * 12 + [False] * 12
    verify(whole)
    with pytest.raises(ScheduleError, match="ranks send their own contributions to the second"):
        concatenate(gather, scatter, Collective(Kind.ALL_REDUCE, 4, 4000))


def test_several_at_once_keep_their_marks() -> None:
    topology = machines.mesh(2, 2)
    one, other = (
        retime(build(name, Collective(Kind.ALL_REDUCE, 2, 4000), topology, np.array(group, np.int32)))
        for name, group in (("one_shot", [0, 1]), ("ring", [2, 3]))
    )
    verify_together([one, other])
    joint = Joint.of([one.collective, other.collective], [one.ranks, other.ranks])
    joined = joint.join([one, other])
    assert joined.own is not None and joined.own.sum() == one.num_transfers
    assert joint.join([other, other]).own is None
    first, second = joint.split(joined)
    assert first.is_own.all() and not second.is_own.any()


@pytest.mark.parametrize("marked", [True, False])
def test_files_keep_the_marks_and_old_ones_have_none(marked: bool, tmp_path: Path) -> None:
    schedule = late()
    if not marked:
        schedule = dataclasses.replace(build("ring", Collective(Kind.ALL_REDUCE, 3, 3000), machines.ring(3)))
        schedule = dataclasses.replace(schedule, own=np.zeros(schedule.num_transfers, np.bool_))
    save(schedule, tmp_path / "one.schedule")
    # A schedule without marks is written as one always was.
    assert (b'"own"' in (tmp_path / "one.schedule").read_bytes()) == marked
    read = load(tmp_path / "one.schedule")
    assert isinstance(read, Schedule) and (read.own is not None) == marked
    assert read.is_own.tolist() == schedule.is_own.tolist()
    verify(read)


def test_folded_schedules_have_none() -> None:
    assert "own" not in {field.name for field in dataclasses.fields(FoldedSchedule)}


@settings(max_examples=60)
@given(st.integers(2, 6), st.integers(1, 3), st.integers(0, 10**6), st.booleans())
def test_at_the_earliest_times_too(ranks: int, chunks: int, seed: int, blocking: bool) -> None:
    schedule = random_shots(ranks, chunks, seed)
    offset, _ = dependencies(schedule)
    assert not np.diff(offset)[schedule.is_own].any()
    timed = retime(schedule, blocking)
    verify(timed)
    assert int(timed.is_own.sum()) == int(schedule.is_own.sum())
    assert lower_bound(timed.collective, timed.topology).time_ps <= timed.time_ps


@settings(max_examples=100)
@given(st.data(), st.integers(2, 9), st.integers(1, 3), st.integers(0, 5000), st.booleans())
def test_no_bound_is_above_one_shot(data: st.DataObject, ranks: int, chunks: int, size: int, blocking: bool) -> None:
    topology = data.draw(machines.topologies(ranks))
    timed = retime(build("one_shot", Collective(Kind.ALL_REDUCE, ranks, size, chunks), topology), blocking)
    verify(timed)
    assert lower_bound(timed.collective, topology, blocking).time_ps <= timed.time_ps


@pytest.mark.parametrize(
    ("machine", "size", "time_us"),
    [
        # Seven times 1 KiB leave each GPU at 450 GB/s, 16 ns, over two links of 350 ns.
        ("dgx-h100", 1 << 10, 0.716),
        # To the other machine's rails it goes over a spine, whose links both machines share: 1.8 us, and eight times
        # 1 KiB at 50 GB/s, 164 ns, through each NIC.
        ("dgx-h100:nodes=2", 1 << 10, 1.964),
    ],
)
def test_takes_one_latency(machine: str, size: int, time_us: float) -> None:
    topology = load_topology(machine)
    collective = Collective(Kind.ALL_REDUCE, topology.num_ranks, size)
    timed = retime(build("one_shot", collective, topology))
    verify(timed)
    assert timed.time_ps == pytest.approx(time_us * 1e6, abs=500)
    # Messages take turns on trunks, transfers share them: a message's time there apart.
    assert simulate_schedule(timed).time_ps <= 1.001 * timed.time_ps
    assert simulate_collective(collective, topology, "one_shot").time_ps <= 1.01 * timed.time_ps


def test_needs_few_ranks_and_chunks() -> None:
    topology = load_topology("dgx-h100:nodes=16")
    with pytest.raises(ScheduleError, match=r"one_shot needs few ranks and chunks: .* 2080768 transfers \(limit"):
        build("one_shot", Collective(Kind.ALL_REDUCE, 128, 1 << 20), topology)
    few = [schedule.generator for schedule in build_all(Collective(Kind.ALL_REDUCE, 128, 1 << 20), topology)]
    assert "one_shot" not in few and "one_shot_by_dimension" in few and "hierarchical_one_shot" in few
