"""Switches that add and copy: closed forms, what crosses each link, bounds, and what is refused."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from homes import IN_NETWORK, home

from hocket.base.errors import ScheduleError
from hocket.schedule import Collective, Kind, Schedule, load, lower_bound, retime, reverse, save, verify
from hocket.schedule.algorithms import build
from hocket.simulator import Fidelity, simulate_schedule
from hocket.topology import Topology
from hocket.topology import load as load_topology
from hocket.translator import lower

AR, RS, AG = Kind.ALL_REDUCE, Kind.REDUCE_SCATTER, Kind.ALL_GATHER
MB = 10**6
MB_PS = 10_000_000  # a megabyte at 100 GB/s


def star(n: int, in_network: int = 1) -> Topology:
    return load_topology(f"switch:{n},bandwidth=100GB/s,latency=0ns,in_network={in_network}")


def fat_tree(leaves: int, spines: int, ranks: int) -> Topology:
    """`ranks` below each leaf; every leaf is linked with every spine; all switches compute."""
    n = leaves * ranks
    pairs = [(rank, n + rank // ranks) for rank in range(n)]
    pairs += [(n + leaf, n + leaves + spine) for leaf in range(leaves) for spine in range(spines)]
    links = [(a, b, 0, 100 * 10**9) for pair in pairs for a, b in (pair, pair[::-1])]
    switches = leaves + spines
    return Topology.from_links("fat tree", n, links, num_switches=switches, in_network=range(n, n + switches))


def made(name: str, kind: Kind, topology: Topology, chunks_per_rank: int = 1) -> Schedule:
    """With chunks of a megabyte each."""
    slots = Collective(kind, topology.num_ranks, 0, chunks_per_rank).slots
    return build(name, Collective(kind, topology.num_ranks, slots * MB, chunks_per_rank), topology)


def ends(schedule: Schedule, column: str) -> list[int]:
    """Megabytes that start or end at each collective rank."""
    n = schedule.collective.num_ranks
    return np.bincount(getattr(schedule, column), minlength=n)[:n].tolist()


@pytest.mark.parametrize(
    ("name", "kind", "topology", "chunks_per_rank", "steps"),
    [
        ("switch_tree", AR, star(8), 1, 2 * 1 + 8 - 1),
        ("switch_tree", AR, fat_tree(3, 1, 2), 1, 2 * 2 + 6 - 1),
        ("switch_tree", AR, fat_tree(3, 2, 2), 1, 2 * 2 + 3 - 1),  # every other chunk on each of two trees
        ("switch_tree", AG, star(8), 3, 2 * 1 + 3 - 1),
        ("switch_tree", RS, fat_tree(3, 1, 2), 2, 2 * 2 + 2 - 1),
        ("switch_tree", Kind.BROADCAST, star(5), 4, 2 * 1 + 4 - 1),
        # An all_reduce over heads leaves 4 steps in between.
        ("nvls", AR, star(8), 1, 2 * 2 + 4 + 8 - 1),
        ("nvls", AR, load_topology("dgx-h100:nodes=3,gpus=4,nvls=1"), 2, 2 * 2 + 2 * (3 - 1) + 4 + 4 * 2 - 1),
        ("nvls", AG, load_topology("dgx-h100:nodes=3,gpus=4,nvls=1"), 2, 2 + (3 - 1) + 4 * 2 - 1),
        # A double binary tree over 4 machines is 2 high, and 2 of the 4 chunks are on each tree.
        ("nvls_tree", AR, load_topology("dgx-h100:nodes=4,gpus=4,nvls=1"), 2, 2 * 2 + (2 * 2 + 2 - 1) + 4 + 4 * 2 - 1),
        # 4 chunks, one for each machine, through a rail's leaf.
        ("nvls_sharp", AR, load_topology("dgx-h100:nodes=4,gpus=4,nvls=1,sharp=1"), 1, 2 * 2 + (2 + 4 - 1) + 4 + 4 - 1),
    ],
)
def test_steps(name: str, kind: Kind, topology: Topology, chunks_per_rank: int, steps: int) -> None:
    assert made(name, kind, topology, chunks_per_rank).time_ps == steps


def test_bytes_through_each_rank() -> None:
    eight = star(8)
    assert ends(made("switch_tree", AR, eight), "src") == ends(made("switch_tree", AR, eight), "dst") == [8] * 8
    assert ends(made("switch_tree", AG, eight), "src") == ends(made("switch_tree", RS, eight), "dst") == [1] * 8
    assert ends(made("switch_tree", AG, eight), "dst") == ends(made("switch_tree", RS, eight), "src") == [7] * 8
    assert ends(made("nvls", AR, eight), "src") == [7 + 1] * 8  # to other heads, and its own sum
    # 4 machines of 2: 8 chunks; a rank sends 4 to the other head, 4 sums to be copied, and 2 (4 - 1) around the ring.
    machines = load_topology("dgx-h100:nodes=4,gpus=2,nvls=1,sharp=1")
    assert ends(made("nvls", AR, machines), "src") == [4 + 4 + 2 * 3] * 8
    # Through the leaf of the rail: 4.
    assert ends(made("nvls_sharp", AR, machines), "src") == [4 + 4 + 4] * 8


@pytest.mark.parametrize("topology", [star(6), fat_tree(3, 1, 2), fat_tree(3, 2, 2)])
def test_a_tree_crosses_each_of_its_links_once(topology: Topology) -> None:
    # all_reduce of 6 MB: each of 6 links of ranks and 3 of leaves carries every chunk up and down, on one of the trees.
    edges = 6 if topology.num_nodes == 7 else 9
    schedule = made("switch_tree", AR, topology)
    assert schedule.num_transfers == 2 * edges * 6
    prediction = simulate_schedule(schedule)
    assert int(prediction.link_bytes.sum()) == 2 * edges * 6 * MB
    assert set(prediction.link_bytes[: 2 * 6].tolist()) == {6 * MB}


@pytest.mark.parametrize("model", ["uncontended", "analytical", "congestion"])
@pytest.mark.parametrize("switching", ["cut_through", "store_and_forward"])
def test_a_switch_has_a_chunk_before_it_sends_it(model: str, switching: str) -> None:
    # One chunk of a megabyte, up and down: the switch adds up all of it first, however it passes on other messages.
    schedule = made("switch_tree", Kind.BROADCAST, star(4))
    assert simulate_schedule(schedule, fidelity=Fidelity(model, switching=switching)).time_ps == 2 * MB_PS
    assert retime(schedule).time_ps == 2 * MB_PS


def test_all_reduce_through_a_switch_takes_half_the_time() -> None:
    # 8 chunks of a megabyte follow each other up and down: 9 slots. Without such a switch 2 * 7 chunks leave a rank.
    for time in (retime, simulate_schedule):
        assert time(made("switch_tree", AR, star(8))).time_ps == 9 * MB_PS
        assert time(made("ring", AR, star(8))).time_ps == 14 * MB_PS
    collective = Collective(AR, 8, 8 * MB)
    assert lower_bound(collective, star(8)).time_ps == 8 * MB_PS  # each rank sends and gets every chunk
    assert lower_bound(collective, star(8, in_network=0)).time_ps == 14 * MB_PS


def test_traffic_between_machines_stays_bounded_with_switches_inside_them() -> None:
    # 4 machines of 2 ranks, all_reduce of 8 MB: 2 * 3 * 8 MB between machines, over 8 NICs of 50 GB/s: 120 us. With
    # switches that add between the machines each machine gets 8 MB over 2 NICs: 80 us.
    collective = Collective(AR, 8, 8 * MB)
    inside = lower_bound(collective, load_topology("dgx-h100:nodes=4,gpus=2,nvls=1"))
    between = lower_bound(collective, load_topology("dgx-h100:nodes=4,gpus=2,nvls=1,sharp=1"))
    assert (inside.time_ps, inside.reason) == (120_000_000, "traffic through the ingress of all nodes")
    assert (between.time_ps, between.reason) == (80_000_000, "ingress of node 0")


def test_the_nearest_switches_are_the_roots() -> None:
    # Ranks below one leaf need no spine; of two spines either takes every other chunk.
    topology = fat_tree(2, 2, 4)
    below = build("switch_tree", Collective(AR, 4, 4 * MB), topology, np.arange(4, 8, dtype=np.int32))
    assert set(below.src.tolist()) == {0, 1, 2, 3, 4 + 1}
    everywhere = made("switch_tree", AR, topology)
    assert {chunk % 2 for chunk in everywhere.chunk[everywhere.src == 8 + 2].tolist()} == {0}
    assert {chunk % 2 for chunk in everywhere.chunk[everywhere.src == 8 + 3].tolist()} == {1}


def test_mirror_image_of_a_multicast_is_a_reduction() -> None:
    gather = retime(made("switch_tree", AG, star(5), 2))
    scatter = reverse(gather)
    assert scatter.collective.kind is RS and scatter.reduce.all()
    verify(scatter)
    assert scatter.time_ps == gather.time_ps


def test_a_file_keeps_the_switches(tmp_path: Path) -> None:
    schedule = retime(made("nvls", AR, star(3)))
    save(schedule, tmp_path / "a.schedule")
    read = load(tmp_path / "a.schedule")
    assert read.topology.in_network == (3,)
    assert verify(read).describe() == verify(schedule).describe()


def test_refuses_a_switch_that_only_passes_on() -> None:
    schedule = made("switch_tree", AR, star(3))
    with pytest.raises(ScheduleError, match=r"must lead from a rank or switch that computes to another, got node 0 to"):
        verify(replace(schedule, topology=star(3, in_network=0)))
    with pytest.raises(
        ScheduleError, match=r"switch_tree needs a switch that adds and copies, which rank 0 and 2 other"
    ):
        build("switch_tree", Collective(AR, 3, 3), star(3, in_network=0))


def test_names_the_fault_of_a_switch() -> None:
    schedule = made("switch_tree", AR, star(3))
    down = schedule.src == 3
    early = replace(schedule, start_ps=np.where(down, 0, 1 + schedule.start_ps))
    early = replace(early, finish_ps=early.start_ps + 1)
    order = np.lexsort((early.route, early.start_ps))
    columns = ("chunk", "route", "reduce", "start_ps", "finish_ps")
    early = replace(early, **{name: getattr(early, name)[order] for name in columns})
    with pytest.raises(ScheduleError, match=r"switch 3 -> 0, 0\.\.1\): switch 3 does not hold the chunk when it sends"):
        verify(early)
    twice = replace(schedule, reduce=np.ones_like(schedule.reduce))
    with pytest.raises(ScheduleError, match=r"adds the contribution of rank \d a second time"):
        verify(twice)


@pytest.mark.parametrize("name", IN_NETWORK)
def test_no_program_for_switches(name: str) -> None:
    with pytest.raises(ScheduleError, match=f"{name} lets switches of dgx-h100.* no MSCCL program can say that"):
        lower(build(name, Collective(AR, 4, 4096), home(name)), "msccl")


def test_a_missing_switch_between_machines_is_named() -> None:
    pairs = [(0, 4), (1, 4), (2, 5), (3, 5), (4, 5)]  # two machines of two ranks and a computing switch, back to back
    links = [(src, dst, 500_000, 10**9) for pair in pairs for src, dst in (pair, pair[::-1])]
    machines = Topology.from_links("two", 4, links, num_switches=2, machine=[0, 0, 1, 1], in_network=[4, 5])
    with pytest.raises(ScheduleError, match="nvls_sharp needs a switch between the machines that adds and copies"):
        made("nvls_sharp", AR, machines)
