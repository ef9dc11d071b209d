"""Every native algorithm, for every kind it does, wherever it can run: verified, and refused where it cannot."""

import machines
import numpy as np
import pytest
from homes import EXCHANGES_SUMS, IN_NETWORK, LINK, home
from hypothesis import given, settings
from hypothesis import strategies as st

from hocket.base.errors import Infeasible, ScheduleError
from hocket.schedule import Collective, Kind, Schedule, lower_bound, retime, verify
from hocket.schedule.algorithms import ALGORITHMS, build, build_all
from hocket.schedule.algorithms.place import Place
from hocket.simulator import simulate_collective
from hocket.topology import Topology, load

CASES = [(name, kind) for name, algorithm in ALGORITHMS.items() for kind in algorithm.kinds]
BYTES = 1_000_003  # no multiple of anything: the chunks differ in size
SHAPES = [
    *[f"{kind}:{n}" for kind in ("ring", "switch", "fully_connected") for n in (2, 3, 4, 5, 8, 16)],
    *["mesh:4", "torus:4x4", "torus:3x3", "torus:3x6", "torus:3x9", "torus:8x4", "torus:4x2x2", "mesh:3x4"],
    *["switch:4xring:4", "fully_connected:3xswitch:2", "ring:3xswitch:4", "hypercube:3"],
]
DGX = [f"dgx-h100:nodes=3,gpus=4{computes}" for computes in ("", ",nvls=1", ",sharp=1", ",nvls=1,sharp=1")]
SWITCHES = [f"switch:{n},{LINK},in_network=1" for n in (2, 3, 5, 8, 13, 16, 33)]
SWITCHES += [f"switch:3xring:4,{LINK},in_network=1+0"]
ANYWHERE = ("ring", "direct", "one_shot", "double_binary_tree", "bruck", "pat", "binomial", "binary_tree", "chain")
RINGS_IN = {"ring", "fully_connected"}  # of one dimension


def power_of_two(n: int) -> bool:
    return n & (n - 1) == 0


def why_not(name: str, collective: Collective, topology: Topology, group: np.ndarray | None = None) -> str | None:
    ranks = np.arange(collective.num_ranks, dtype=np.int32) if group is None else group
    return ALGORITHMS[name].why_not(collective, Place(topology, ranks))


def can_run(name: str, topology: Topology) -> bool:
    """What the algorithm says of itself; of those known here, what docs/schedule.md says that they need."""
    reason = why_not(name, Collective(ALGORITHMS[name].kinds[0], topology.num_ranks, BYTES), topology)
    expected = expected_to_run(name, topology)
    assert expected is None or expected == (reason is None), (name, topology.name, reason)
    return reason is None


def expected_to_run(name: str, topology: Topology) -> bool | None:
    """None of an algorithm of which nothing is written down here."""
    kinds = [dimension.kind for dimension in topology.dimensions]
    sizes = [dimension.size for dimension in topology.dimensions]
    match name:
        case "switch_tree" | "nvls_sharp":
            shared = name == "nvls_sharp" and "nvls=1" not in topology.name
            return ("sharp=1" in topology.name and not shared) or len(topology.in_network) == 1
        case "nvls" | "nvls_tree":
            return "nvls=1" in topology.name or ("switch" in kinds and bool(topology.in_network))
        case "halving_doubling" | "recursive_doubling" | "pairwise" | "bine":
            return power_of_two(topology.num_ranks)
        case "swing":
            machines_of = np.bincount(topology.machine)
            return all(size % 2 == 0 for size in sizes or [machines_of[0], len(machines_of)] if size > 1)
        case "rotated_doubling":
            return bool(kinds) and all(
                (size == 2 and kind != "switch")
                or (kind == "ring" and size == 4)
                or (kind == "fully_connected" and power_of_two(size))
                for kind, size in zip(kinds, sizes, strict=True)
            )
        case "torus_ring":
            return bool(kinds) and set(kinds) <= {"ring", "mesh"}
        case "multitree":
            return topology.num_nodes == topology.num_ranks
        case "hierarchical" | "themis" | "one_shot_by_dimension" | "hierarchical_one_shot":
            return len(kinds) > 1 or len(set(topology.machine.tolist())) > 1
        case "multi_ring" if len(kinds) == 1:
            return kinds[0] in RINGS_IN
        case "multi_ring" if len(kinds) == 2:
            torus = kinds == ["ring", "ring"] and sizes in ([4, 4], [3, 3], [3, 9], [8, 4])
            return torus or kinds[0] in ("switch", "fully_connected")
        case "multi_ring":
            return not kinds and len(set(topology.machine.tolist())) > 1
        case name if name in ANYWHERE:
            return True
    return None


@pytest.mark.parametrize("spec", [*[f"{shape},{LINK}" for shape in SHAPES], *DGX, *SWITCHES])
def test_verified_before_and_after_timing_or_refused(spec: str) -> None:
    topology = load(spec)
    n = topology.num_ranks
    for name, kind in CASES:
        for chunks_per_rank, root in [(1, 0), (3, n // 2), (8, n - 1)]:
            collective = Collective(kind, n, BYTES, chunks_per_rank, root)
            if (reason := why_not(name, collective, topology)) is not None:
                assert not can_run(name, topology)
                with pytest.raises(ScheduleError, match=f"^{name} (needs|finds)") as refused:
                    build(name, collective, topology)
                assert str(refused.value) == reason
                continue
            assert can_run(name, topology)
            schedule = build(name, collective, topology)
            verify(schedule)
            for blocking in (False, True):
                verify_timed(schedule, blocking)


def verify_timed(schedule: Schedule, blocking: bool = False) -> None:
    """Some that exchange partial sums are refused, see below: what is timed is right."""
    try:
        timed = retime(schedule, blocking)
    except ScheduleError as error:
        assert schedule.generator in EXCHANGES_SUMS and schedule.collective.kind is Kind.ALL_REDUCE
        assert "would send other contributions" in str(error)
    else:
        verify(timed)


@pytest.mark.parametrize(("name", "kind"), CASES)
def test_any_number_of_ranks_on_a_switch(name: str, kind: Kind) -> None:
    """Of a topology without dimensions: the algorithms that need none."""
    for n in [*range(1, 34), 40, 64]:
        topology = machines.switch(n)
        if n > 1 and can_run(name, topology):
            verify(retime(build(name, Collective(kind, n, BYTES, 1, n // 3), topology)))
        elif n == 1:
            refused = why_not(name, Collective(kind, 1, BYTES, 2), topology)
            if name in ("hierarchical", "themis", "multi_ring", *EXCHANGES_SUMS[1:], *IN_NETWORK[1:]):
                assert refused
            if refused is None:
                assert build(name, Collective(kind, 1, BYTES, 2), topology).num_transfers == 0


def test_recursive_doubling_is_simulated_where_links_reorder_its_exchanges() -> None:
    ring, collective = load(f"ring:8,{LINK}"), Collective(Kind.ALL_REDUCE, 8, 8_000_000)
    verify(build("recursive_doubling", collective, ring))
    with pytest.raises(ScheduleError, match="would send other contributions"):
        retime(build("recursive_doubling", collective, ring), blocking=True)
    prediction = simulate_collective(collective, ring, "recursive_doubling")
    # Rank 0 sends 8 MB (160 us at 50 GB/s) to 1, 2 and 4, all clockwise: over one link.
    assert prediction.time_ps >= 3 * 160_000_000


@pytest.mark.parametrize(("name", "kind"), CASES)
def test_group_runs_on_its_ranks(name: str, kind: Kind) -> None:
    group = np.array([0, 2, 4, 6], np.int32)  # every other column: the ranks of two rings
    collective = Collective(kind, 4, BYTES, 2, root=2)
    specs = [*(f"{shape}:4x{shape}:2,{LINK}" for shape in ("fully_connected", "ring")), DGX[-1].replace("3", "2")]
    topology = next(each for each in map(load, specs) if why_not(name, collective, each, group) is None)
    schedule = build(name, collective, topology, group)
    verify(schedule)
    assert set(schedule.route_src.tolist()) <= {*group.tolist(), *topology.in_network}
    assert set(schedule.src.tolist()) <= set(range(4 + len(topology.in_network)))


@pytest.mark.parametrize(("name", "kind"), CASES)
def test_order_of_a_group(name: str, kind: Kind) -> None:
    group = np.array([3, 0, 2, 1], np.int32)
    topology = home(name)
    collective = Collective(kind, 4, BYTES, 2, root=2)
    reason = why_not(name, collective, topology, group)
    if name in ("swing", "multi_ring", "torus_ring", "hierarchical", "themis", *EXCHANGES_SUMS[1:], *IN_NETWORK[1:]):
        assert reason
    if reason is not None:
        with pytest.raises(ScheduleError, match="in ascending order, a box of the dimensions"):
            build(name, collective, topology, group)
    else:
        verify(build(name, collective, topology, group))


def test_build_all_builds_what_can_run() -> None:
    topology = load(f"torus:3x3,{LINK}")
    names = [schedule.generator for schedule in build_all(Collective(Kind.ALL_REDUCE, 9, BYTES), topology)]
    kinds = {name: algorithm.kinds for name, algorithm in ALGORITHMS.items()}
    assert names == [name for name in ALGORITHMS if Kind.ALL_REDUCE in kinds[name] and can_run(name, topology)]
    assert "swing" not in names and "torus_ring" in names


def test_refuses_what_it_cannot_do() -> None:
    four = machines.switch(4)
    known = ", ".join(sorted(ALGORITHMS))
    with pytest.raises(
        ScheduleError, match=f"there is no native algorithm 'rings'; did you mean 'ring'.? known: {known}$"
    ):
        build("rings", Collective(Kind.ALL_REDUCE, 4, 4), four)
    with pytest.raises(ScheduleError, match=r"halving_doubling does all_reduce, .*, not broadcast; try ring"):
        build("halving_doubling", Collective(Kind.BROADCAST, 4, 4), four)
    with pytest.raises(ScheduleError, match="needs a power of two of ranks, got 6"):
        build("halving_doubling", Collective(Kind.ALL_REDUCE, 6, 4), machines.switch(6))
    with pytest.raises(ScheduleError, match="all_reduce over 8 ranks does not fit switch with 4 ranks"):
        build("ring", Collective(Kind.ALL_REDUCE, 8, 4), four)
    one_way = Topology.from_links("one-way", 2, [(0, 1, 0, 1)])
    with pytest.raises(Infeasible):
        build("ring", Collective(Kind.ALL_REDUCE, 2, 4), one_way)
    with pytest.raises(ScheduleError, match="links between the ranks that reach all; one-way has not"):
        build("multitree", Collective(Kind.ALL_REDUCE, 2, 4), one_way)


@st.composite
def boxes(draw: st.DrawFn) -> tuple[Topology, np.ndarray]:
    """A product of up to three dimensions, and some of the coordinates in each: a box of its ranks."""
    kinds = st.sampled_from(["ring", "mesh", "fully_connected", "switch"])
    dimensions = draw(st.lists(st.tuples(kinds, st.integers(2, 5)), min_size=1, max_size=3))
    topology = load("x".join(f"{kind}:{size}" for kind, size in dimensions) + f",{LINK}")
    ranks, stride = np.zeros(1, np.int64), 1
    for _, size in dimensions:
        chosen = sorted(draw(st.sets(st.integers(0, size - 1), min_size=1)))
        ranks = (np.array(chosen)[:, None] * stride + ranks).ravel()
        stride *= size
    return topology, ranks.astype(np.int32)


@settings(max_examples=150)
@given(boxes(), st.sampled_from([kind for kind in Kind if kind is not Kind.CUSTOM]), st.integers(1, 7), st.data())
def test_any_box_of_any_product(
    box: tuple[Topology, np.ndarray], kind: Kind, chunks_per_rank: int, data: st.DataObject
) -> None:
    topology, group = box
    root = data.draw(st.integers(0, len(group) - 1))
    for schedule in build_all(Collective(kind, len(group), BYTES, chunks_per_rank, root), topology, group):
        verify(schedule)
        verify_timed(schedule)


@pytest.mark.parametrize(
    "spec",
    ["fat_tree:8x4,spines=8,bandwidth=50GB/s,latency=500ns", "dgx-h100:nodes=4,fabric=fat_tree,leaf=2,spines=16"],
)
def test_schedules_are_balanced_where_the_topology_sprays(spec: str) -> None:
    """24 of 31 blocks per rank cross the fat tree's spines: all over the lowest takes 16 times the bound."""
    topology = load(spec)
    schedule = retime(build("direct", Collective(Kind.ALL_TO_ALL, 32, 64 << 20), topology), blocking=False)
    assert schedule.time_ps < 1.05 * lower_bound(schedule.collective, topology).time_ps
    verify(schedule)


@pytest.mark.parametrize("kind", [Kind.ALL_REDUCE, Kind.ALL_GATHER, Kind.BROADCAST])
def test_all_of_them_at_one_size_after_another_are_those_of_each_alone(kind: Kind) -> None:
    topology, group = load("dgx-h100:nodes=2,gpus=4"), np.array([7, 2, 5, 0, 1, 6, 3, 4], np.int32)
    for size in (8, 1 << 20, 1000):  # what is kept of one size serves the next
        for chunks, ranks in ((1, None), (3, None), (1, group)):
            collective = Collective(kind, 8, size, chunks, root=0)
            for found in build_all(collective, topology, ranks):
                alone = build(found.generator, collective, topology, ranks)
                assert found.collective is collective
                assert retime(found).time_ps == retime(alone).time_ps
                for name in ("route_links", "chunk", "route", "reduce", "start_ps"):
                    assert np.array_equal(getattr(found, name), getattr(alone, name)), (found.generator, name)
