"""Measurements of machines whose parameters are known."""

import numpy as np

from hocket.calibration import Measurement, Pieces
from hocket.calibration.structure import INTER, INTRA, use_of

SIZES = [8 << step for step in range(0, 31)]  # 8 B to 8 GiB
TRUE = Pieces(np.array([12.0, 20.0, 45.0]), 1e-3 / np.array([0.5, 90.0, 260.0]), 0.4)  # us; GB/s
#: Of a step, in us, and of a rank, in GB/s, by level and protocol.
LATENCY = {INTRA: (0.8, 1.1, 2.5), INTER: (6.0, 8.0, 14.0)}
BANDWIDTH = {INTRA: (2.0, 150.0, 400.0), INTER: (0.6, 9.0, 24.0)}


def measured(
    pieces: Pieces, nodes: int = 1, *, noise: float = 0.0, seed: int = 0, kind: str = "all_reduce", local: int = 8
) -> list[Measurement]:
    """Out of place and in place at all sizes, with lognormal noise."""
    factor = np.exp(noise * np.random.default_rng(seed).standard_normal((len(SIZES), 2)))
    return [
        Measurement(kind, local * nodes, nodes, size, round(float(time) * off * 1e6), bool(way), f"made:{at + 1}")
        for at, (size, time) in enumerate(zip(SIZES, pieces.time_us(SIZES), strict=True))
        for way, off in enumerate(factor[at].tolist())
    ]


def cluster(nodes: int, kind: str = "all_reduce", slow: float = 1.0) -> Pieces:
    """A collective on so many machines of 8 ranks, `slow` of the bandwidth between them left."""
    uses = use_of(kind, 8 * nodes, nodes)
    left = {INTRA: 1.0, INTER: slow}
    latency = [sum(use.steps * LATENCY[at][number] for at, use in uses.items()) for number in range(3)]
    inverse = [
        max(use.share / (BANDWIDTH[at][number] * left[at]) for at, use in uses.items()) * 1e-3 for number in range(3)
    ]
    return Pieces(np.array(latency), np.array(inverse), 0.4)
