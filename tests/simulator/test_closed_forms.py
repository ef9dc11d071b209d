"""Times whose arithmetic fits in a line."""

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
