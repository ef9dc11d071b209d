"""What RCCL assumes of AMD's GPUs: facts of its src/graph/tuning.cc (2.28.3), tuning tables 5 (gfx942: MI300A, MI300X,
MI325X) and 6 (gfx950: MI350X, MI355X)."""

from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["BASE_LATENCY_US", "TABLES", "SizeRange", "TuningTable"]

_Row = tuple[float, ...]

BASE_LATENCY_US = (12.0, 12.0, 17.0)
"""Of a collective without steps, by protocol: LL, LL128, Simple."""


@dataclass(frozen=True, slots=True)
class SizeRange:
    """Bytes a rank for which a protocol is taken: more than `above`, up to `most`; and how many `bytes_per_thread` and
    rank its kernels want (0: as other machines' do)."""

    above: int
    most: int
    bytes_per_thread: int


@dataclass(frozen=True)
class TuningTable:
    """Rows are by protocol (LL, LL128, Simple), pairs are trees and rings.

    `step_us` by what a step goes over: xGMI, PCI, the network. `bandwidth_ratio` of the links' for up to two nodes, and
    for more. The corrections of a bandwidth by the size's power of two, 64 B first. On several nodes `protocols` (LL,
    LL128) replace what the times say, and `channels` (bytes per rank: above, most, channels) the kernel's channels.
    """

    step_us: tuple[tuple[_Row, _Row], ...]
    bandwidth_ratio: tuple[tuple[_Row, _Row], ...]
    tree_correction: tuple[_Row, ...]
    ring_correction: tuple[_Row, ...]
    protocols: Mapping[str, tuple[SizeRange, SizeRange]]
    channels: Mapping[str, tuple[tuple[int, int, int], ...]]


def _rows(*texts: str) -> tuple[_Row, ...]:
    return tuple(tuple(map(float, text.split())) for text in texts)


_GFX942 = TuningTable(
    step_us=(
        ((0.9, 0.9, 2.3), (0.8, 0.8, 2.1)),
        ((2.2, 2.2, 5.7), (2.2, 2.2, 5.7)),
        ((10.5, 10.5, 25.0), (9.5, 9.5, 320.0)),
    ),
    bandwidth_ratio=(
        ((0.06, 0.06, 0.11), (0.08, 0.08, 1.0)),
        ((0.06, 0.06, 0.59), (0.08, 0.08, 1.0)),
    ),
    tree_correction=_rows(
        "0.1 0.1 0.1 0.1 0.1 0.1 1 1 1 1 1 0.6 1 0.9 1 1 0.1 0.1 0.1 0.1 0.1 0.1 0.1 0.1 0.1 0.1 0.1",
        "0.1 0.1 0.1 0.1 0.1 0.1 1 1 1 1 1 0.6 1 0.9 1 1 0.1 0.1 0.1 0.1 0.1 0.1 0.1 0.1 0.1 0.1 0.1",
        "0.1 0.1 0.1 0.1 0.1 0.1 0.1 0.1 0.1 0.1 0.1 0.1 0.1 0.1 0.1 0.7 1 1 1 1 1 0.7 0.7 0.5 0.6 0.6 0.6",
    ),
    ring_correction=_rows(
        "0.1 0.1 0.1 0.1 0.1 0.1 0.1 0.1 0.1 0.1 0.1 1 0.2 1 0.4 0.4 0.1 0.2 0.2 0.1 0.1 0.1 0.1 0.1 0.1 0.1 0.1",
        "0.1 0.1 0.1 0.1 0.1 0.1 0.1 0.1 0.1 0.1 0.1 1 0.2 1 0.4 0.4 0.1 0.2 0.2 0.1 0.1 0.1 0.1 0.1 0.1 0.1 0.1",
        "0.1 0.1 0.1 0.1 0.1 0.1 0.1 0.1 0.1 0.1 0.1 0.1 0.1 0.1 0.1 0.1 0.1 0.1 0.1 0.1 0.1 0.1 0.7 0.2 1 1 1",
    ),
    protocols={
        "ReduceScatter": (SizeRange(0, 655360, 16), SizeRange(131072, 3211264, 64)),
        "AllGather": (SizeRange(0, 98304, 16), SizeRange(98304, 5046272, 64)),
        "AllReduce": (SizeRange(0, 524288, 0), SizeRange(524288, 4415057, 0)),
        "Reduce": (SizeRange(0, 4096, 0), SizeRange(4096, 16777216, 0)),
        "Broadcast": (SizeRange(0, 8192, 0), SizeRange(8192, 33554432, 0)),
    },
    channels={},
)

_GFX950 = TuningTable(
    step_us=(
        ((0.9, 0.9, 2.3), (0.8, 0.8, 2.1)),
        ((2.2, 2.2, 5.7), (2.2, 2.2, 5.7)),
        ((10.5, 10.5, 25.0), (9.5, 9.5, 320.0)),
    ),
    bandwidth_ratio=(
        ((0.06, 0.06, 0.11), (0.08, 0.08, 1.0)),
        ((0.06, 0.06, 0.59), (0.08, 0.08, 1.0)),
    ),
    tree_correction=_rows(
        "0.1 0.1 0.1 0.1 0.1 0.1 1 1 1 1 1 0.6 1 0.9 1 1 0.1 0.1 0.1 0.1 0.1 0.1 0.1 0.1 0.1 0.1 0.1",
        "0.1 0.1 0.1 0.1 0.1 0.1 1 1 1 1 1 0.6 1 0.9 1 1 1 1 1 2 2 1 0.1 0.9 0.9 0.1 0.1",
        "0.1 0.1 0.1 0.1 0.1 0.1 0.1 0.1 0.1 0.1 0.1 0.1 0.1 0.1 0.1 0.7 1 0.1 0.1 0.1 0.1 0.1 0.7 0.15 0.6 0.1 0.6",
    ),
    ring_correction=_rows(
        "0.1 0.1 0.1 0.1 0.1 0.1 0.1 0.1 0.1 0.1 0.1 1 0.2 1 0.4 0.4 0.1 0.2 0.2 0.1 0.1 0.1 0.1 0.1 0.1 0.1 0.1",
        "0.1 0.1 0.1 0.1 0.1 0.1 0.1 0.1 0.1 0.1 0.1 1 0.2 1 0.4 0.4 0.1 0.2 0.1 0.1 0.1 0.1 5.5 0.1 0.1 1 1",
        "0.1 0.1 0.1 0.1 0.1 0.1 0.1 0.1 0.1 0.1 0.1 0.1 0.1 0.1 0.1 0.1 0.1 0.1 0.1 0.1 0.9 0.1 1 0.1 0.6 1 1",
    ),
    protocols={
        "ReduceScatter": (SizeRange(0, 65536, 16), SizeRange(65536, 8388608, 64)),
        "AllGather": (SizeRange(0, 65536, 16), SizeRange(65536, 8388608, 64)),
        "AllReduce": (SizeRange(0, 262144, 0), SizeRange(262144, 70640910, 0)),
        "Reduce": (SizeRange(0, 16383, 0), SizeRange(16383, 16777216, 0)),
        "Broadcast": (SizeRange(0, 2048, 0), SizeRange(2048, 16777216, 0)),
    },
    channels={
        "ReduceScatter": (
            (512, 1024, 2),
            (1024, 2048, 4),
            (2048, 4096, 8),
            (4096, 65536, 16),
            (65536, 262144, 32),
            (262144, 524288, 40),
            (524288, 1048576, 56),
            (1048576, 268435457, 64),
        ),
        "AllGather": (
            (2048, 4096, 2),
            (4096, 8192, 4),
            (8192, 16384, 8),
            (16384, 262144, 16),
            (262144, 524288, 32),
            (524288, 1048576, 40),
            (1048576, 4194304, 56),
            (4194304, 268435457, 64),
        ),
    },
)

TABLES = {"gfx942": _GFX942, "gfx950": _GFX950}
