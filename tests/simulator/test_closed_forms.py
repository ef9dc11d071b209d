"""Times whose arithmetic fits in a line."""

from collections.abc import Callable

import numpy as np
import pytest

from hocket.schedule import Collective, Kind, retime
from hocket.schedule.algorithms import build
from hocket.simulator import Fidelity, Prediction, simulate_collective, simulate_schedule
from hocket.topology import load

MIB = 2**20
NS = 1000  # picoseconds
# 50 GiB/s: 8 MiB take 8 / (50 * 1024) s = 156250 ns exactly.
LINKS = "bandwidth=50GiB/s,latency=500ns"
SERIALIZATION, LATENCY = 156_250 * NS, 500 * NS


def predict(kind: Kind, topology: str, algorithm: str, switching: str, size: int = 64 * MIB) -> Prediction:
    machine = load(f"{topology},{LINKS}")
    collective = Collective(kind, machine.num_ranks, size)
    return simulate_collective(collective, machine, algorithm, fidelity=Fidelity(switching=switching))


@pytest.mark.parametrize("ranks", [2, 3, 8])
@pytest.mark.parametrize("switching", ["cut_through", "store_and_forward"])
@pytest.mark.parametrize("model", ["uncontended", "analytical", "congestion"])
def test_ring_all_reduce_on_a_ring_takes_two_rounds_of_one_block(ranks: int, switching: str, model: str) -> None:
    machine = load(f"ring:{ranks},{LINKS}")
    collective = Collective(Kind.ALL_REDUCE, ranks, ranks * 8 * MIB)
    prediction = simulate_collective(collective, machine, "ring", fidelity=Fidelity(model, switching=switching))
    assert prediction.time_ps == 2 * (ranks - 1) * (LATENCY + SERIALIZATION)
    assert prediction.events == 2 * (ranks - 1) * ranks
    assert prediction.finish_ps.tolist() == [prediction.time_ps] * ranks
    # n links carry 2 (n-1) blocks each (with two ranks, one of the two rings' directions).
    assert prediction.link_bytes.sum() == 2 * (ranks - 1) * ranks * 8 * MIB


def log2(ranks: int) -> int:
    return ranks.bit_length() - 1


# Textbooks' alpha-beta: messages of bytes `m` take a + m b, in steps of which each waits for the one before. `n` ranks,
# a buffer of `s` bytes, `f` chunks per rank (or of the buffer that a root has).
TEXTBOOK: dict[tuple[Kind, str], Callable[[int, int, int, int, int], int]] = {
    (Kind.ALL_REDUCE, "ring"): lambda n, s, f, a, b: 2 * (n - 1) * (a + s // n * b),
    (Kind.ALL_GATHER, "ring"): lambda n, s, f, a, b: (n - 1) * (a + s // n * b),
    (Kind.REDUCE_SCATTER, "ring"): lambda n, s, f, a, b: (n - 1) * (a + s // n * b),
    (Kind.BROADCAST, "ring"): lambda n, s, f, a, b: (n - 1) * (a + s // f * b) + (f - 1) * (s // f * b),
    (Kind.ALL_REDUCE, "halving_doubling"): lambda n, s, f, a, b: 2 * (log2(n) * a + (n - 1) * s // n * b),
    (Kind.ALL_GATHER, "halving_doubling"): lambda n, s, f, a, b: log2(n) * a + (n - 1) * s // n * b,
    (Kind.ALL_REDUCE, "recursive_doubling"): lambda n, s, f, a, b: log2(n) * (a + s * b),
    (Kind.ALL_GATHER, "bruck"): lambda n, s, f, a, b: log2(n) * a + (n - 1) * s // n * b,
    (Kind.ALL_REDUCE, "swing"): lambda n, s, f, a, b: 2 * (log2(n) * a + (n - 1) * s // n * b),
    (Kind.ALL_REDUCE, "direct"): lambda n, s, f, a, b: 2 * (a + (n - 1) * s // n * b),
    (Kind.ALL_TO_ALL, "direct"): lambda n, s, f, a, b: a + (n - 1) * s // n * b,
    (Kind.BROADCAST, "binomial"): lambda n, s, f, a, b: log2(n) * (a + s * b),
    (Kind.REDUCE, "binomial"): lambda n, s, f, a, b: log2(n) * (a + s * b),
}


# Chunks of the others follow one another in one message, or down a chain; in a binomial tree they overtake each other.
@pytest.mark.parametrize(
    ("kind", "algorithm", "chunks"),
    [(*named, chunks) for named in TEXTBOOK for chunks in (1, 4) if chunks == 1 or "binomial" not in named],
)
@pytest.mark.parametrize("ranks", [2, 8, 64])
def test_analytical_is_the_textbook_on_a_switch(kind: Kind, algorithm: str, ranks: int, chunks: int) -> None:
    machine = load(f"switch:{ranks},bandwidth=1GB/s,latency=500ns")  # a byte takes a nanosecond, a message two links
    for size in (0, 1 << 12, 1 << 24):
        prediction = simulate_collective(
            Collective(kind, ranks, size, chunks), machine, algorithm, fidelity=Fidelity("analytical")
        )
        assert prediction.time_ps == TEXTBOOK[kind, algorithm](ranks, size, chunks, 2 * LATENCY, NS)
        assert not prediction.below_bound


@pytest.mark.parametrize("ranks", [4, 8, 64])
def test_analytical_is_the_textbook_on_a_ring(ranks: int) -> None:
    """Partners `d` ranks apart share `d` links with as many others on the one between them: d (a + m b), with messages
    of half the buffer for neighbours and of half as much whenever they are twice as far."""
    machine, size = load(f"ring:{ranks},bandwidth=1GB/s,latency=500ns"), 1 << 24
    prediction = simulate_collective(
        Collective(Kind.ALL_REDUCE, ranks, size), machine, "halving_doubling", fidelity=Fidelity("analytical")
    )
    assert prediction.time_ps == 2 * sum(
        (LATENCY + size // 2 // distance * NS) * distance for distance in (1 << step for step in range(log2(ranks)))
    )


@pytest.mark.parametrize("sides", [(4, 4), (4, 8), (2, 2, 4)])
def test_analytical_is_the_textbook_on_a_torus(sides: tuple[int, ...]) -> None:
    """A ring in each dimension in turn, on what the dimension before has left: 2 (n - 1) (a + m / n b) each."""
    spec = "x".join(map(str, sides))
    machine, size = load(f"torus:{spec},bandwidth=1GB/s,latency=500ns"), 1 << 24
    prediction = simulate_collective(
        Collective(Kind.ALL_REDUCE, machine.num_ranks, size), machine, "torus_ring", fidelity=Fidelity("analytical")
    )
    time_ps, left = 0, size
    for side in sides:
        time_ps += 2 * (side - 1) * (LATENCY + left // side * NS)
        left //= side
    assert prediction.time_ps == time_ps


def test_analytical_of_512_ranks() -> None:
    # 2 x 9 steps of two links of 500 ns, and 2 x 511/512 of 64 MiB at 50 GB/s, 2679.11168 us.
    machine = load("switch:512,bandwidth=50GB/s,latency=500ns")
    collective = Collective(Kind.ALL_REDUCE, 512, 64 * MIB)
    for fold in (True, False):
        fidelity = Fidelity("analytical", fold=fold)
        prediction = simulate_collective(collective, machine, "halving_doubling", fidelity=fidelity)
        assert prediction.time_ps == 18_000_000 + 2_679_111_680
        assert prediction.events == 512 * 18


def test_a_switch_costs_the_serialization_twice_unless_it_cuts_through() -> None:
    stored = predict(Kind.ALL_REDUCE, "switch:8", "ring", "store_and_forward")
    cut = predict(Kind.ALL_REDUCE, "switch:8", "ring", "cut_through")
    assert stored.time_ps == 14 * 2 * (LATENCY + SERIALIZATION)
    assert cut.time_ps == 14 * (2 * LATENCY + SERIALIZATION)


# What ASTRA-sim's congestion-aware backend gives for 64 MiB on 8 ranks (50 "GB/s" of 2^30, 500 ns, one chunk), in ns.
# It adds an endpoint delay of 10 ns before the first and after every message, and a reduction delay of
# 3 * floor(8 MiB / 1600e9 B/s) = 3 * 5242 = 15726 ns after each message that is summed up, to what the network takes.
ENDPOINT, REDUCTION = 10, 15_726


@pytest.mark.parametrize(
    ("kind", "topology", "algorithm", "size", "theirs", "at_endpoints"),
    [
        (Kind.ALL_REDUCE, "ring:8", "ring", 64 * MIB, 2_304_732, 15 * ENDPOINT + 7 * REDUCTION),
        (Kind.ALL_REDUCE, "switch:8", "ring", 64 * MIB, 4_499_232, 15 * ENDPOINT + 7 * REDUCTION),
        (Kind.ALL_REDUCE, "fully_connected:8", "ring", 64 * MIB, 2_304_732, 15 * ENDPOINT + 7 * REDUCTION),
        (Kind.ALL_REDUCE, "switch:8", "direct", 64 * MIB, 2_517_756, 3 * ENDPOINT + REDUCTION),
        (Kind.ALL_REDUCE, "fully_connected:8", "direct", 64 * MIB, 329_256, 3 * ENDPOINT + REDUCTION),
        (Kind.ALL_TO_ALL, "switch:8", "direct", 64 * MIB, 1_251_020, 2 * ENDPOINT),
        (Kind.ALL_TO_ALL, "fully_connected:8", "direct", 64 * MIB, 156_770, 2 * ENDPOINT),
        # Its all_gather counts the shard: 8 ranks times 64 MiB in all.
        (Kind.ALL_GATHER, "switch:8", "direct", 8 * 64 * MIB, 10_001_020, 2 * ENDPOINT),
        (Kind.ALL_GATHER, "fully_connected:8", "direct", 8 * 64 * MIB, 1_250_520, 2 * ENDPOINT),
    ],
)
def test_store_and_forward_is_the_network_of_a_peer(
    kind: Kind, topology: str, algorithm: str, size: int, theirs: int, at_endpoints: int
) -> None:
    ours = predict(kind, topology, algorithm, "store_and_forward", size)
    assert ours.time_ps == (theirs - at_endpoints) * NS


@pytest.mark.parametrize("spec", ["mesh:3x3", "torus:2x4", "fully_connected:5"])
@pytest.mark.parametrize("kind", [Kind.ALL_REDUCE, Kind.ALL_GATHER, Kind.REDUCE_SCATTER])
def test_a_schedule_of_single_links_takes_its_own_time(spec: str, kind: Kind) -> None:
    machine = load(f"{spec},{LINKS}")
    # Neighbours in the ring's order are neighbours in the machine, so every route is one link.
    order = {"mesh:3x3": [0, 1, 2, 5, 8, 7, 6, 3, 4], "torus:2x4": [0, 1, 3, 5, 7, 6, 4, 2]}.get(spec, [0, 1, 2, 3, 4])
    schedule = build("ring", Collective(kind, len(order), 9 * MIB + 5), machine, np.array(order, np.int32))
    timed = retime(schedule)
    single = np.diff(schedule.route_offset) == 1
    prediction = simulate_schedule(timed)
    if single.all():
        assert prediction.time_ps == timed.time_ps
    assert simulate_schedule(schedule).time_ps == prediction.time_ps


def test_remainders_are_exact() -> None:
    machine = load("ring:4,bandwidth=1GB/s,latency=0ns")
    # 10 bytes in 4 slots: 2, 3, 2, 3 bytes; every link carries each slot at most twice.
    prediction = simulate_collective(Collective(Kind.ALL_GATHER, 4, 10), machine, "ring")
    assert prediction.link_bytes.sum() == 3 * 10
    # The slots wait for each other on the links; the rank that gets 3 + 2 + 3 bytes needs 8 ns at least.
    assert 8 * NS <= prediction.time_ps <= 9 * NS


def test_an_all_reduce_of_nothing_takes_its_latencies() -> None:
    assert predict(Kind.ALL_REDUCE, "ring:4", "ring", "cut_through", size=0).time_ps == 6 * LATENCY
