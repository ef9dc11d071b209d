"""Steps, bytes and link use of the native algorithms, against the closed forms of their papers."""

from itertools import pairwise

import machines
import numpy as np
import pytest
from homes import LINK
from hypothesis import given
from hypothesis import strategies as st

from hocket.schedule import Collective, Kind, Schedule, retime, verify
from hocket.schedule.algorithms import build
from hocket.simulator import simulate_collective, simulate_schedule
from hocket.topology import load

AR, RS, AG, A2A = Kind.ALL_REDUCE, Kind.REDUCE_SCATTER, Kind.ALL_GATHER, Kind.ALL_TO_ALL
UNIT = 10**6  # bytes of a chunk


def made(name: str, kind: Kind, spec: str, chunks_per_rank: int = 1) -> Schedule:
    """With chunks of UNIT bytes each."""
    topology = load(f"{spec},{LINK}")
    slots = Collective(kind, topology.num_ranks, 0, chunks_per_rank).slots
    return build(name, Collective(kind, topology.num_ranks, slots * UNIT, chunks_per_rank), topology)


def links_used(schedule: Schedule, chunks: np.ndarray) -> set[int]:
    routes = schedule.route[np.isin(schedule.chunk, chunks)]
    return {
        link
        for route in routes.tolist()
        for link in schedule.route_links[schedule.route_offset[route] : schedule.route_offset[route + 1]].tolist()
    }


@pytest.mark.parametrize(
    ("name", "kind", "spec", "chunks_per_rank", "steps"),
    [
        ("ring", AR, "switch:8", 1, 2 * 7),
        ("ring", AG, "switch:8", 2, 7),
        ("ring", Kind.BROADCAST, "switch:8", 5, 8 - 2 + 5),
        ("direct", A2A, "switch:8", 1, 7),
        ("halving_doubling", AR, "switch:8", 1, 2 * 3),
        # Tree of 8: root 0, below it 4, then 2 and 6, then the odd ranks: height 3; 4 chunks in each tree.
        ("double_binary_tree", AR, "switch:8", 1, 2 * 3 + 4 - 1),
        ("double_binary_tree", Kind.BROADCAST, "switch:8", 2, 3),
        # 0 - 1, 2 - 3, 4, 5, 6 - 7: height 3; 8 chunks, 2 chunks.
        ("binary_tree", AR, "switch:8", 1, 2 * 3 + 8 - 1),
        ("binary_tree", Kind.REDUCE, "switch:8", 2, 3 + 2 - 1),
        ("chain", AR, "switch:5", 2, 2 * 4 + 10 - 1),
        ("recursive_doubling", AR, "switch:16", 2, 4),
        ("recursive_doubling", AG, "switch:16", 2, 4),
        ("bruck", AG, "switch:13", 2, 4),  # ceil(log2 13)
        ("bruck", RS, "switch:17", 1, 5),
        ("bruck", A2A, "switch:13", 1, 4),
        ("pat", AG, "switch:13", 1, 4),
        ("pat", RS, "switch:16", 3, 4),
        ("pairwise", A2A, "switch:16", 2, 15),
        ("binomial", Kind.BROADCAST, "switch:13", 3, 4 + 3 - 1),
        ("binomial", Kind.SCATTER, "switch:13", 3, 4),
        ("bine", Kind.REDUCE, "switch:16", 3, 4 + 3 - 1),
        ("bine", Kind.GATHER, "switch:16", 3, 4),
        ("swing", AR, "torus:4x4", 4, 2 * 4),
        ("swing", RS, "torus:2x8", 1, 1 + 3),
        ("swing", AG, "torus:6x10", 1, 3 + 4),  # ceil(log2 6) + ceil(log2 10)
        ("bine", AR, "switch:16", 2, 2 * 4),
        ("multi_ring", AR, "torus:4x4", 4, 2 * 15),
        ("torus_ring", AR, "torus:4x8", 4, 2 * (3 + 7)),
        ("torus_ring", AG, "mesh:3x4x2", 6, 2 + 3 + 1),
        ("hierarchical", AR, "ring:4xswitch:8", 2, 2 * (3 + 7)),
        ("hierarchical", A2A, "fully_connected:4xring:8", 2, 3 + 7),
        ("themis", AR, "ring:4xswitch:8", 1, 2 * (3 + 7)),  # one piece: as hierarchical
        ("multitree", AG, "fully_connected:6", 1, 1),
        ("multitree", AR, "ring:8", 2, 2 * 4),  # 7 blocks into each rank over 2 links: 4 steps
    ],
)
def test_steps(name: str, kind: Kind, spec: str, chunks_per_rank: int, steps: int) -> None:
    assert made(name, kind, spec, chunks_per_rank).time_ps == steps


@pytest.mark.parametrize(
    ("name", "spec"),
    [
        ("ring", "switch:8"),
        ("direct", "switch:8"),
        ("halving_doubling", "switch:8"),
        ("swing", "torus:4x8"),
        ("swing", "torus:6x10"),
        ("bine", "switch:16"),
        ("multi_ring", "torus:4x8"),
        ("torus_ring", "torus:4x8"),
        ("hierarchical", "ring:3xswitch:5"),
        ("themis", "torus:3x4"),
        ("multitree", "torus:3x4"),
    ],
)
def test_sends_the_least_from_each_rank(name: str, spec: str) -> None:
    for kind, halves in ((AR, 2), (RS, 1), (AG, 1)):
        schedule = made(name, kind, spec, 8)
        n = schedule.collective.num_ranks
        into = np.bincount(schedule.dst, minlength=n) if kind is AG else np.bincount(schedule.src, minlength=n)
        if name == "multitree":  # its trees balance links, not what a rank sends
            assert schedule.num_transfers == halves * n * (n - 1) * 8
        else:
            assert into.tolist() == [halves * (n - 1) * 8] * n


@pytest.mark.parametrize(
    ("name", "kind", "spec", "transfers"),
    [
        # Transfers of one chunk each; a chunk is S/n (broadcast and reduce: S).
        ("recursive_doubling", AR, "switch:8", 8 * 3 * 8),  # S in each of 3 steps from 8 ranks
        ("recursive_doubling", AG, "switch:8", 8 * 7),
        ("bruck", AG, "switch:11", 11 * 10),
        ("bruck", RS, "switch:11", 11 * 10),
        ("bruck", A2A, "switch:8", 8 * 3 * 4),  # S/2 in each of 3 steps from 8 ranks
        ("bruck", A2A, "switch:6", 6 * (1 + 1 + 2 + 1 + 2)),  # ones in 1, 10, 11, 100, 101
        ("pat", AG, "switch:11", 11 * 10),
        ("pat", RS, "switch:11", 11 * 10),
        ("pairwise", A2A, "switch:8", 8 * 7),
        ("binomial", Kind.BROADCAST, "switch:11", 10),
        ("binomial", Kind.REDUCE, "switch:11", 10),
        ("binomial", Kind.SCATTER, "switch:6", 1 + 1 + 2 + 1 + 2),
        ("binomial", Kind.GATHER, "switch:6", 1 + 1 + 2 + 1 + 2),
        ("bine", Kind.SCATTER, "switch:8", 4 + 2 * 2 + 4 * 1),
        ("bine", Kind.BROADCAST, "switch:8", 7),
        ("binary_tree", AR, "switch:8", 2 * 7 * 8),
        ("chain", AR, "switch:8", 2 * 7 * 8),
        ("hierarchical", A2A, "ring:3xswitch:4", 12 * 12 * 2 // 3 + 12 * 12 * 3 // 4),
    ],
)
def test_bytes_on_the_wire(name: str, kind: Kind, spec: str, transfers: int) -> None:
    schedule = made(name, kind, spec)
    assert schedule.collective.chunk_bytes[schedule.chunk].sum() == transfers * UNIT
    assert schedule.num_transfers == transfers


@given(st.sampled_from(["bruck", "pat"]), st.integers(2, 40), st.integers(1, 3))
def test_aggregated_trees_for_any_number_of_ranks(name: str, n: int, chunks_per_rank: int) -> None:
    for kind in (AG, RS):
        schedule = build(name, Collective(kind, n, 12_345, chunks_per_rank), machines.switch(n))
        verify(schedule)
        assert schedule.time_ps == (n - 1).bit_length()  # ceil(log2 n)
        assert schedule.num_transfers == n * (n - 1) * chunks_per_rank


def test_ring_all_reduce_on_a_ring_takes_its_closed_form() -> None:
    n, size = 8, 8 * 2**20
    schedule = retime(build("ring", Collective(AR, n, size), machines.ring(n)))
    serialization = -(-(size // n) * 10**12 // machines.BANDWIDTH)
    assert schedule.time_ps == 2 * (n - 1) * (machines.LATENCY_PS + serialization)


def test_torus_ring_keeps_all_links_of_a_torus_busy() -> None:
    # 4 chunks of 1 MB (20 us at 50 GB/s) per rank on a 4x4 torus: 60 chunks into each rank over 4 links, 15 a link.
    # No link ever waits, but for the latency (500 ns) of the 3 + 3 steps.
    schedule = retime(made("torus_ring", RS, "torus:4x4", 4))
    assert (verify(schedule).link_busy_ps == 15 * 20_000_000).all()
    assert 0 < schedule.time_ps - 15 * 20_000_000 <= 6 * 500_000


@pytest.mark.parametrize("n", [8, 15, 16])
def test_double_binary_tree_makes_a_rank_an_inner_node_of_one_tree(n: int) -> None:
    schedule = build("double_binary_tree", Collective(Kind.BROADCAST, n, 2, 2, root=3), machines.switch(n))
    inner = [set(schedule.src[schedule.chunk == chunk].tolist()) - {3} for chunk in (0, 1)]
    assert inner[0] and inner[1] and not inner[0] & inner[1]


@pytest.mark.parametrize(
    ("spec", "rings"),
    [
        ("ring:5", 2),
        ("fully_connected:5", 4),
        ("fully_connected:8", 4),
        *[(f"torus:{sizes}", 4) for sizes in ("4x4", "3x9", "8x4", "5x5")],
    ],
)
def test_rings_without_a_common_link(spec: str, rings: int) -> None:
    schedule = made("multi_ring", AG, spec, rings)
    n = schedule.collective.num_ranks
    used = [links_used(schedule, np.arange(n) * rings + ring) for ring in range(rings)]
    assert [len(links) for links in used] == [n] * rings  # one hop between neighbours of a ring
    assert len(set.union(*used)) == rings * n


def test_rings_over_machines_leave_each_through_other_ranks() -> None:
    schedule = build("multi_ring", Collective(AG, 8, 8 * 4 * UNIT, 4), load("dgx-h100:nodes=2,gpus=4"))
    for machine in (0, 1):
        leaving = (schedule.src // 4 == machine) & (schedule.dst // 4 != machine)
        assert sorted(set(schedule.src[leaving].tolist())) == [4 * machine + gpu for gpu in range(4)]
        assert np.bincount(schedule.chunk[leaving] % 4).tolist() == [7] * 4


def test_swing_goes_less_far_than_doubling() -> None:
    # Distances on a ring of 16: 1, 2, 4, 8 when doubling; |1|, |-1|, |3|, |-5| when swinging.
    hops = {}
    for name in ("swing", "halving_doubling"):
        schedule = made(name, RS, "ring:16")
        length = np.diff(schedule.route_offset)[schedule.route]
        hops[name] = [set(length[schedule.start_ps == step].tolist()) for step in range(4)]
    assert hops == {"swing": [{1}, {1}, {3}, {5}], "halving_doubling": [{1}, {2}, {4}, {8}]}


def test_bine_tree_is_a_third_shorter_than_a_binomial_one() -> None:
    # A broadcast on a ring of 16, from far to near: 8 + 2*4 + 4*2 + 8*1 links, or 5 + 2*3 + 4*1 + 8*1.
    schedules = [made(name, Kind.BROADCAST, "ring:16") for name in ("binomial", "bine")]
    assert [verify(schedule).wire_bytes // UNIT for schedule in schedules] == [32, 23]


def test_pat_sends_its_large_messages_to_near_ranks() -> None:
    pat, bruck = (made(name, AG, "switch:16") for name in ("pat", "bruck"))
    for schedule, distances in ((pat, [8, 4, 2, 1]), (bruck, [1, 2, 4, 8])):
        for step, distance in enumerate(distances):
            now = schedule.start_ps == step
            assert set(((schedule.dst - schedule.src)[now] % 16).tolist()) == {distance}
            assert np.count_nonzero(now) == 16 * 2**step


def test_hierarchical_sends_less_along_upper_dimensions() -> None:
    # reduce_scatter of 4 x 8 blocks: 3 of 4 parts (24 blocks) leave a rank in the first dimension, then 7 of 8.
    schedule = made("hierarchical", RS, "ring:4xswitch:8")
    first = schedule.src // 4 == schedule.dst // 4
    assert (np.bincount(schedule.src[first]) == 24).all()
    assert (np.bincount(schedule.src[~first]) == 7).all()
    assert schedule.start_ps[first].max() < schedule.start_ps[~first].min()


def test_hierarchical_sends_first_what_the_next_dimension_sends_first() -> None:
    # reduce_scatter of 128 MB at 100 GB/s: three steps of 8 messages of 4 MB in the first dimension, 960 us. In the
    # third step the sums become ready in the order in which the second dimension sends them, at all ranks alike: its 7
    # messages, one every 40 us to another rank each, are all hidden behind the 8 of that step.
    topology = load("switch:4xswitch:8,bandwidth=100GB/s,latency=0ns")
    schedule = build("hierarchical", Collective(RS, 32, 32 * 4 * 10**6), topology)
    assert simulate_schedule(schedule).time_ps == 3 * 8 * 40_000_000


def test_themis_balances_what_hierarchical_does_not() -> None:
    # reduce_scatter over 8x8 ranks: 7/8 of the buffer over the first dimension, at 4 times the bandwidth, and 1/8 of
    # that over the second: hierarchical keeps the first busy twice as long, and only the links of one way around.
    busy = {}
    for name in ("hierarchical", "themis"):
        spec = "torus:8x8,bandwidth=200GB/s+50GB/s,latency=500ns"
        schedule = build(name, Collective(RS, 64, 2**28, 64), load(spec))
        first = np.arange(4 * 64) < 2 * 64
        held = verify(schedule).link_busy_ps
        busy[name] = [int(held[dimension].max()) for dimension in (first, ~first)]
    assert busy["hierarchical"][0] == pytest.approx(2 * busy["hierarchical"][1])
    assert busy["themis"][0] == pytest.approx(busy["themis"][1], rel=0.05)


@pytest.mark.parametrize("kind", [AR, RS, AG])
@pytest.mark.parametrize(
    "spec",
    [
        "torus:8x8,bandwidth=200GB/s+50GB/s,latency=500ns",
        "ring:4xswitch:8,bandwidth=200GB/s+50GB/s,latency=500ns",
        "fully_connected:4xring:4xswitch:4,bandwidth=100GB/s+200GB/s+50GB/s,latency=500ns",
    ],
)
def test_themis_beats_hierarchical_where_dimensions_differ(spec: str, kind: Kind) -> None:
    collective = Collective(kind, load(spec).num_ranks, 2**28, 64)
    times = {name: simulate_collective(collective, load(spec), name).time_ps for name in ("hierarchical", "themis")}
    assert times["themis"] < times["hierarchical"] / 1.4


def test_themis_needs_many_chunks() -> None:
    """TACOS' figure 18 (Won et al., MICRO 2024): on a symmetric 3-D torus of 25 GiB/s, 64 chunks reach the best
    schedule there is, 4 chunks do not: three dimensions cannot share them evenly."""
    torus = load("torus:4x4x4,bandwidth=25GiB/s,latency=500ns")
    ratios = {}
    for chunks in (4, 64):
        prediction = simulate_collective(Collective(AR, 64, 2**30, chunks), torus, "themis")
        ratios[chunks] = prediction.time_ps / prediction.bound_ps
    assert ratios[64] < 1.1
    assert ratios[4] > 1.3


def test_multitree_uses_no_link_twice_in_a_step() -> None:
    schedule = made("multitree", AR, "torus:4x4")
    assert (np.diff(schedule.route_offset) == 1).all()
    for step in range(schedule.time_ps):
        links = schedule.route_links[schedule.route_offset[schedule.route[schedule.start_ps == step]]]
        assert len(set(links.tolist())) == len(links)


def test_c_cubes_overlap_a_chunk_descends_while_the_next_ones_climb() -> None:
    schedule = made("double_binary_tree", AR, "switch:8")
    last_climb = [schedule.start_ps[(schedule.chunk == chunk) & schedule.reduce].max() for chunk in (0, 2, 4, 6)]
    first_descent = [schedule.start_ps[(schedule.chunk == chunk) & ~schedule.reduce].min() for chunk in (0, 2, 4, 6)]
    assert all(down == up + 1 for up, down in zip(last_climb, first_descent, strict=True))
    assert all(later > earlier for earlier, later in pairwise(first_descent))
    assert first_descent[0] < last_climb[-1]


def log(n: int) -> int:
    """Rounded up; to base 2."""
    return (n - 1).bit_length()


def height(n: int) -> int:
    """Of a complete binary tree."""
    return n.bit_length() - 1


F = 3  # chunks per rank
# Name, kind: steps, and chunks that all ranks together send, over n ranks on a switch with F chunks per rank.
FORMS = {
    ("ring", AR): lambda n: (2 * (n - 1), 2 * n * (n - 1) * F),
    ("ring", RS): lambda n: (n - 1, n * (n - 1) * F),
    ("ring", AG): lambda n: (n - 1, n * (n - 1) * F),
    ("ring", Kind.BROADCAST): lambda n: (n - 2 + F, (n - 1) * F),
    ("ring", Kind.REDUCE): lambda n: (n - 2 + F, (n - 1) * F),
    ("direct", AR): lambda n: (2 * (n - 1), 2 * n * (n - 1) * F),
    ("direct", A2A): lambda n: (n - 1, n * (n - 1) * F),
    ("direct", Kind.SCATTER): lambda n: (n - 1, (n - 1) * F),
    ("direct", Kind.BROADCAST): lambda n: (n - 1, (n - 1) * F),
    ("bruck", AG): lambda n: (log(n), n * (n - 1) * F),
    ("bruck", A2A): lambda n: (log(n), n * F * sum(distance.bit_count() for distance in range(n))),
    ("pat", RS): lambda n: (log(n), n * (n - 1) * F),
    ("binomial", Kind.BROADCAST): lambda n: (log(n) + F - 1, (n - 1) * F),
    ("binomial", Kind.GATHER): lambda n: (log(n), F * sum(distance.bit_count() for distance in range(n))),
    ("binary_tree", AR): lambda n: (2 * height(n) + n * F - 1, 2 * (n - 1) * n * F),
    ("binary_tree", Kind.REDUCE): lambda n: (height(n) + F - 1, (n - 1) * F),
    ("chain", AR): lambda n: (2 * (n - 1) + n * F - 1, 2 * (n - 1) * n * F),
    ("double_binary_tree", AR): lambda n: (2 * log(n) + -(-n * F // 2) - 1, 2 * (n - 1) * n * F),
    ("double_binary_tree", Kind.BROADCAST): lambda n: (log(n) + -(-F // 2) - 1, (n - 1) * F),
    # Over a switch that computes each link of a rank is crossed once each way.
    ("switch_tree", AR): lambda n: (2 + n * F - 1, 2 * n * n * F),
    ("switch_tree", AG): lambda n: (2 + F - 1, n * n * F),
    ("switch_tree", RS): lambda n: (2 + F - 1, n * n * F),
    ("switch_tree", Kind.BROADCAST): lambda n: (2 + F - 1, n * F),
    ("nvls", AR): lambda n: (2 * 2 + 4 + n * F - 1, 2 * n * n * F),
    ("nvls", AG): lambda n: (2 + n * F - 1, n * n * F),
    ("multi_ring", AR): lambda n: (2 * (n - 1), 2 * n * (n - 1) * F),
    ("multitree", AG): lambda n: (1, n * (n - 1) * F),
}


@pytest.mark.parametrize(("name", "kind"), FORMS)
def test_steps_and_bytes_over_any_number_of_ranks(name: str, kind: Kind) -> None:
    shape = "fully_connected" if name in ("multi_ring", "multitree") else "switch"
    for n in [*range(2, 34), 47, 64]:
        topology = load(f"{shape}:{n},{LINK}" + (",in_network=1" if shape == "switch" else ""))
        schedule = build(name, Collective(kind, n, 10**6 + 1, F), topology)
        assert (schedule.time_ps, schedule.num_transfers) == FORMS[name, kind](n), n


@pytest.mark.parametrize("name", ["halving_doubling", "bine", "swing", "recursive_doubling", "pairwise"])
def test_steps_and_bytes_over_powers_of_two(name: str) -> None:
    kinds = {"pairwise": (RS, A2A), "recursive_doubling": (AG,)}.get(name, (AR, RS, AG))
    for n, kind in [(n, kind) for n in (2, 4, 8, 16, 32, 64) for kind in kinds]:
        schedule = build(name, Collective(kind, n, 10**6 + 1, F), machines.switch(n))
        halves = 2 if kind is AR else 1
        steps = n - 1 if name == "pairwise" else halves * log(n)
        assert (schedule.time_ps, schedule.num_transfers) == (steps, halves * n * (n - 1) * F), (n, kind)
