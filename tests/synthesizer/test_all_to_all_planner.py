"""Plans of all_to_alls of any blocks: proved, timed as `retime` times them, and near the bound under skew."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_networks import networks

from hocket.base.errors import Infeasible, ScheduleError
from hocket.schedule import Collective, Kind, Schedule, bound_of_any_chunks, retime, verify
from hocket.schedule.algorithms import build
from hocket.synthesizer import AllToAllPlanner, Problem, Search, solve
from hocket.topology import Topology, load

LINK = "bandwidth=50GiB/s,latency=500ns"
MIB = 2**20


def columns(schedule: Schedule) -> list[list[int]]:
    return [column.tolist() for column in (schedule.chunk, schedule.route, schedule.start_ps, schedule.finish_ps)]


def ratio(schedule: Schedule) -> float:
    return schedule.time_ps / bound_of_any_chunks(schedule.collective, schedule.topology).time_ps


@settings(max_examples=100)
@given(topology=networks(), blocking=st.booleans(), chunks=st.one_of(st.none(), st.integers(1, 5)), data=st.data())
def test_any_blocks_on_any_network(topology: Topology, blocking: bool, chunks: int | None, data: st.DataObject) -> None:
    ranks = topology.num_ranks
    block = st.one_of(st.just(0), st.integers(0, 9), st.integers(0, 10**6), st.integers(0, 2**40))
    drawn = data.draw(st.lists(block, min_size=ranks**2, max_size=ranks**2))
    sizes = np.array(drawn, np.int64).reshape(ranks, ranks)
    schedule = AllToAllPlanner(topology, blocking=blocking).plan(sizes, chunks)
    assert (
        verify(schedule).time_ps
        == schedule.time_ps
        >= bound_of_any_chunks(schedule.collective, topology, blocking).time_ps
    )
    assert retime(schedule, blocking).time_ps == schedule.time_ps
    # What comes to each rank in the end is its column, less what it had for itself.
    f = schedule.collective.chunks_per_rank
    last = schedule.dst == schedule.chunk // f % ranks
    came = np.bincount(schedule.dst[last], schedule.collective.chunk_bytes[schedule.chunk[last]], minlength=ranks)
    np.testing.assert_array_equal(came, sizes.sum(axis=0) - sizes.diagonal())


def test_a_plan_depends_on_the_sizes_alone() -> None:
    topology, random = load("dgx-h100:nodes=2"), np.random.default_rng(0)
    planner = AllToAllPlanner(topology)
    steps = [random.integers(0, MIB, (16, 16)) for _ in range(3)]
    first = [columns(planner.plan(sizes)) for sizes in steps]
    assert [columns(AllToAllPlanner(topology).plan(sizes)) for sizes in reversed(steps)] == first[::-1]


@pytest.mark.parametrize("spec", ["dgx-h100:nodes=4", "dgx-h100:nodes=4,fabric=rail_only"])
def test_the_bytes_of_a_hot_expert_come_over_all_nics_of_its_node(spec: str) -> None:
    topology = load(spec)
    sizes = np.full((32, 32), MIB // 8)
    sizes[:, 5] = 8 * MIB
    schedule = AllToAllPlanner(topology).plan(sizes)
    verify(schedule)
    # 24 ranks send 8 MiB each over its node's 8 NICs of 50 GB/s. Over one NIC it would take eight times as long.
    assert schedule.bound is not None and schedule.bound.reason == "ingress of node 0"
    assert schedule.time_ps > 24 * 8 * MIB * 10**12 // (8 * 50 * 10**9)
    assert ratio(schedule) < 1.1
    direct = retime(build("direct", schedule.collective, topology))
    assert ratio(direct) > 4


def test_one_block_alone_is_split_over_all_nics() -> None:
    sizes = np.zeros((16, 16), np.int64)
    sizes[3, 12] = 64 * MIB
    schedule = AllToAllPlanner(load("dgx-h100:nodes=2")).plan(sizes)
    verify(schedule)
    assert schedule.collective.chunks_per_rank > 8
    assert ratio(schedule) < 1.25


@pytest.mark.parametrize("spec", [f"torus:4x4,{LINK}", f"fat_tree:4x4,spines=4,{LINK}", f"ring:4,{LINK}"])
def test_experts_wanted_unequally_come_near_the_bound_elsewhere(spec: str) -> None:
    topology, random = load(spec), np.random.default_rng(1)
    ranks = topology.num_ranks
    sizes = (random.integers(MIB // 2, MIB, (ranks, ranks)) / np.arange(1, ranks + 1)).astype(np.int64)
    schedule = AllToAllPlanner(topology).plan(sizes)
    verify(schedule)
    assert ratio(schedule) < 1.1


def test_a_group_plans_on_its_own_links() -> None:
    group = np.array([8, 1, 9, 0], np.int32)
    schedule = AllToAllPlanner(load("dgx-h100:nodes=2"), group).plan(np.full((4, 4), MIB))
    verify(schedule)
    assert schedule.ranks.tolist() == group.tolist()
    ends = np.unique(np.concatenate([schedule.route_src[schedule.route], schedule.route_dst[schedule.route]]))
    assert ends.tolist() == [0, 1, 8, 9]


def test_nothing_to_send_takes_no_time() -> None:
    schedule = AllToAllPlanner(load(f"ring:4,{LINK}")).plan(np.diag([5, 6, 7, 8]))
    assert (schedule.num_transfers, verify(schedule).time_ps) == (0, 0)


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        (np.ones((4, 3), np.int64), r"of 4 ranks, got the shape \(4, 3\)"),
        (np.ones(16, np.int64), r"of 4 ranks, got the shape \(16,\)"),
        (np.ones((4, 4)), "whole numbers, the bytes from each rank to each, got float64"),
        ([[1] * 4] * 4, "a square array of whole numbers, the bytes from each rank to each, got list"),
        (np.array([[0] * 4, [0, 0, 0, -3], [0] * 4, [0] * 4]), "must not be negative, got -3 from rank 1 to rank 3"),
        (np.full((4, 4), 2**54), r"below 2\^55 bytes"),
    ],
)
def test_bad_sizes_are_named(sizes: np.ndarray, message: str) -> None:
    with pytest.raises(ScheduleError, match=message):
        AllToAllPlanner(load(f"ring:4,{LINK}")).plan(sizes)


def test_bad_groups_and_missing_links_are_named() -> None:
    topology = load(f"ring:4,{LINK}")
    with pytest.raises(ScheduleError, match=r"a group must be different ranks of .*, got \[0, 0\]"):
        AllToAllPlanner(topology, np.array([0, 0], np.int32))
    planner = AllToAllPlanner(topology, np.array([0, 2], np.int32))
    with pytest.raises(Infeasible, match="no path of links joins rank 0 and rank 1 in this direction"):
        planner.plan(np.ones((2, 2), np.int64))


def test_synthesize_takes_the_plan_without_a_time_limit() -> None:
    topology, random = load("dgx-h100:nodes=2"), np.random.default_rng(2)
    sizes = random.integers(0, MIB, (16, 16))
    collective = Collective.uneven(Kind.ALL_TO_ALL, 16, sizes.ravel().tolist())
    found = solve(Problem(collective, topology), Search(), free_chunks=True).schedule
    plan = AllToAllPlanner(topology).plan(sizes)
    assert found.generator == "balancing"
    assert found.time_ps == plan.time_ps


def test_limits_of_a_plan() -> None:
    planner = AllToAllPlanner(load("dgx-h100:nodes=2"), group=[0, 1, 8, 9])
    sizes = np.full((4, 4), MIB)
    sizes[0, 3] = 2**54  # one block may be most of what there is
    verify(planner.plan(sizes))
    for chunks in (0, 2.5, 10**7):
        with pytest.raises(ScheduleError, match="chunks of a block: expected a whole number from 1 to 4096"):
            planner.plan(sizes, chunks)  # type: ignore[arg-type]
