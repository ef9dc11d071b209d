"""Every case of the comparison with TACOS: the recorded ones, and those that were only published as single numbers."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from hocket.bench.peers import recorded
from hocket.bench.peers.case import GIB, UNKNOWN, Case, Figures, Sharing, Target
from hocket.schedule import Kind

__all__ = ["tacos_cases"]

_MESH = "mesh:{},bandwidth=50GiB/s,latency=500ns"
_TORUS = "torus:{},bandwidth=50GiB/s,latency=500ns"
_DRAGONFLY = "dragonfly:{},bandwidth=400/200GiB/s,latency=500ns"
_RANDOM = "random:512,degree={},seed=1,bandwidth=50/100GiB/s,latency=500ns"
_FAT_TREE = "fat_tree:{},bandwidth=50/100GiB/s,latency=500ns"
_RFS = "ring:2xfully_connected:4xunwound_switch:{},bandwidth=200/100/50GiB/s,latency=500ns,degree={}"


def tacos_cases(folder: Path) -> list[Case]:
    """In the order of the recorded files in `folder`, then the rest; no two have one name."""
    cases = {case.name: case for case in (*recorded.cases(folder), *_unrecorded())}
    return list(cases.values())


def _unrecorded() -> Iterator[Case]:
    # irregular and large networks: the best that is known, or the bound
    yield _gather(_DRAGONFLY.format("16x17"), 272, 1, _published(311.8))
    yield _gather(_DRAGONFLY.format("32x33"), 1056, 1, _published(170.4))
    yield _gather("mesh:32x32,bandwidth=50/75GiB/s,latency=500ns", 1024, 1, _published(8261.2))
    yield _gather("mesh:8x8x8,bandwidth=25/50/100GiB/s,latency=500ns", 512, 1, _published(5818.3))
    # 8 chunks of 128 MiB over 25 and 50 GiB/s and 0.7 us: twice 5000.7 us; the bound is three times 2500.7 us
    for chunks, time_us in ((1, 2 * 5000.7), (2, 5 * 1250.7), (8, 19 * 313.2)):
        peer = Figures(6577.0) if chunks == 8 else Figures(7502.0, claimed=True) if chunks == 1 else UNKNOWN
        yield _gather("dgx-1:link=25GiB/s", 8, chunks, Target(time_us), peer)
    for chunks, time_us in ((1, 5003.0), (2, 3602.0), (16, 3016.0)):
        peer = Figures(3334.0) if chunks == 16 else Figures(4693.0, claimed=True) if chunks == 1 else UNKNOWN
        yield _gather("mi250:link=50GiB/s", 16, chunks, Target(time_us), peer)
    for graph in ("64 6 3 25,50,100,200 1", "64 8 4 25,100,400 1", "32 4 1 50 0"):
        for chunks in (1, 4, 16):
            yield _gather(f"recorded {graph}", int(graph.split()[0]), chunks, Target(ratio=1.0))
    # all_to_all beyond what the linear program was solved for: the load of the busiest link
    yield _exchange(_TORUS.format("32x32"), 1024, Target(82048.0, seconds=1.0))
    yield _exchange(_TORUS.format("100x100"), 10_000, Target(ratio=1.0, seconds=1.0))
    yield _exchange(_RFS.format(128, 127), 1024, Target(ratio=1.0, seconds=1.0))
    pccl = Figures(seconds=11.7 * 60)  # the PCCL paper, 512 NPUs
    for topology in (
        *(_MESH.format("8x8x8"), _TORUS.format("8x8x8"), _RFS.format(64, 1), _DRAGONFLY.format("16x32")),
        *(_RANDOM.format(4), _RANDOM.format(6), "dgx-h100:nodes=64"),
        *(_FAT_TREE.format("8x64,spines=4"), _FAT_TREE.format("16x32,spines=16")),
    ):
        yield _exchange(topology, 512, Target(ratio=1.05, seconds=30.0), pccl)
    yield from _groups()


def _groups() -> Iterator[Case]:
    """Three groups of 12 that share a mesh. TACOS has no groups; the times are those of our first prototype, in which
    chunks go over ranks outside the group without staying there. Where a group is of one piece, the bound."""
    rank = np.arange(36)
    row, column = rank // 6, rank % 6
    bands, rows, columns, diagonals = row // 2, row % 3, column % 3, (row + column) % 3
    for look, group, targets in (
        ("bands of two rows", bands, (Target(ratio=1.0), Target(ratio=1.0))),
        ("every third row", rows, (Target(43346.3332), Target(25029.9996))),
        ("every third column", columns, (Target(43346.3332), Target(23778.4996))),
        ("every third diagonal", diagonals, (Target(95028.4996), Target(72169.8322))),
    ):
        groups = tuple(tuple(np.flatnonzero(group == number).tolist()) for number in range(3))
        for chunks, target in zip((1, 4), targets, strict=True):
            for relays in (False, True) if group is bands else (True,):
                size = GIB // (12 * chunks) * 12 * chunks
                sharing = Sharing(look, groups, relays)
                yield Case(Kind.ALL_GATHER, _MESH.format("6x6"), size, chunks, target, sharing=sharing)


def _published(time_us: float) -> Target:
    """A time that is known to a tenth of a microsecond only: whatever is rounded to it reaches it."""
    return Target(time_us + 0.05)


def _gather(topology: str, ranks: int, chunks: int, target: Target, peer: Figures = UNKNOWN) -> Case:
    return Case(Kind.ALL_GATHER, topology, GIB // (ranks * chunks) * ranks * chunks, chunks, target, peer)


def _exchange(topology: str, ranks: int, target: Target, peer: Figures = UNKNOWN) -> Case:
    return Case(Kind.ALL_TO_ALL, topology, GIB // ranks * ranks, 1, target, peer)
