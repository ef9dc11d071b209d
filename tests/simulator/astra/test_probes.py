"""Corners of ASTRA-sim as probed with single collectives of 1 MiB at 50 GB/s and 500 ns: latest and earliest finish."""

from typing import Any

import pytest

from hocket.bench.astra_sim_equality import Row, predict


def probe(shapes: str, sizes: str, algorithms: str, **changes: Any) -> Row:
    """A row as in the recorded sweeps, all dimensions alike."""
    count = len(sizes.split("x"))
    values = {
        "backend": "unaware",
        "collective": "allreduce",
        "size_bytes": 1 << 20,
        "topology": shapes,
        "npus_count": sizes,
        "bandwidth_GBps": "x".join(["50"] * count),
        "latency_ns": "x".join(["500"] * count),
        "sched": "LIFO",
        "endpoint_delay": 10,
        "active_chunks": 1,
        "splits": 4,
        "coll_opt": "localBWAware",
        "local_mem_bw": 1600,
        "queues_per_dim": 1,
    }
    values |= {f"{kind}_impl": algorithms for kind in ("ar", "ag", "rs", "a2a")}
    return {name: str(value) for name, value in (values | changes).items()}


@pytest.mark.parametrize(
    ("row", "finish"),
    [
        (probe("Ring", "4", "ring", size_bytes=1), (12280, 12280)),
        (probe("Ring", "4", "ring", size_bytes=1000003), (52025, 52025)),
        (probe("Ring", "4", "ring", size_bytes=1000003, collective="allgather"), (77540, 77540)),
        (probe("Ring", "4", "ring", size_bytes=1000003, collective="reducescatter"), (26915, 26915)),
        (probe("Ring", "4", "ring", size_bytes=1000003, collective="alltoall"), (50270, 50270)),
        (probe("Ring", "4", "ring", local_mem_bw=0), (41560, 41560)),
        (probe("Ring", "4", "ring", queues_per_dim=2, active_chunks=2), (43000, 43000)),
        (probe("Ring", "4", "ring", queues_per_dim=4), (21500, 21500)),
        (probe("Ring", "8", "doubleBinaryTree"), (139052, 119898)),
        (probe("Ring", "4", "doubleBinaryTree", collective="allgather"), (80004, 68231)),
        (probe("RingxRing", "4x2", "doubleBinaryTree|ring"), (186968, 175195)),
        (probe("RingxRing", "2x4", "oneRing"), (64440, 64440)),
        (probe("RingxRing", "2x4", "oneRing|oneRing"), (64440, 64440)),
        (probe("RingxRing", "2x4", "oneDirect"), (13240, 13240)),
        (probe("RingxRing", "2x4", "oneHalvingDoubling"), (51168, 51168)),
        (probe("RingxRing", "2x4", "ring"), (24620, 24620)),  # the first alone
        (
            probe("RingxRingxRingxRingxRing", "2x2x2x2x2", "ring|ring|ring|ring|ring"),
            (25299, 25299),
        ),  # without the last
    ],
)
def test_probes(row: Row, finish: tuple[int, int]) -> None:
    prediction = predict(row)
    assert (prediction.time_ns, int(prediction.finish_ns.min())) == finish


def test_what_takes_no_part_is_said() -> None:
    (note,) = predict(probe("RingxRing", "2x4", "ring")).notes
    assert note == "8 x all-reduce covers 1 of 2 dimensions: only 2 of 8 ranks take part with each other"
    (note,) = predict(probe("RingxRingxRingxRingxRing", "2x2x2x2x2", "ring|ring|ring|ring|ring")).notes
    assert note == "32 collectives without involved_dim leave out all dimensions after the fourth"
    (note,) = predict(probe("Ring", "4", "doubleBinaryTree", collective="allgather")).notes
    assert note == "4 x all-gather by doubleBinaryTree sends what an all-reduce would"
