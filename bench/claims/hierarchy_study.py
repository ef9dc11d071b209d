"""The 360 runs of the study of hierarchies, in ASTRA-sim's model and in Hocket's."""

from functools import cache
from itertools import product

from hocket.bench.claims.measures import Dimensions, astra_ns, full_per_dimension_ps, simulated_ps

__all__ = [
    "Cell",
    "anti_benefit",
    "cells",
    "flat_ns",
    "hierarchy_ns",
    "physical_hierarchy",
    "physical_slowdown",
    "runs",
    "tiers",
]

_RATIOS, _RANKS, _MEGABYTES = (1.0, 4.0, 8.0, 16.0, 48.0), (16, 64, 256), (1, 10, 100, 1000)
_SPLITS = 64
_CHUNKS = (1, 4, 16)

Cell = tuple[float, int, int]  # ratio, ranks, MiB


def tiers(ratio: float, *sizes: int) -> Dimensions:
    """Rings of these sizes: 600 GB/s and 500 ns inside, 600 / ratio and 2 us between."""
    slower = [("Ring", size, 600.0 / ratio, 2000.0) for size in sizes[1:]]
    return (("Ring", sizes[0], 600.0, 500.0), *slower)


def cells() -> list[Cell]:
    return list(product(_RATIOS, _RANKS, _MEGABYTES))


def flat_ns(cell: Cell, *, localized: bool = False) -> int:
    """oneRing."""
    ratio, ranks, megabytes = cell
    dimensions = tiers(ratio, 8, ranks // 8)
    return astra_ns("allreduce", dimensions, megabytes << 20, ("oneRing",), splits=_SPLITS, localized=localized)


def hierarchy_ns(cell: Cell, *, localized: bool, active_chunks: int = 1, inner: int = 8, outer: str = "ring") -> int:
    """ring_ring, or ring_dbt with `outer="doubleBinaryTree"`; `localized`: localBWAware in place of baseline."""
    ratio, ranks, megabytes = cell
    return astra_ns(
        "allreduce",
        tiers(ratio, inner, ranks // inner),
        megabytes << 20,
        ("ring", outer),
        splits=_SPLITS,
        active_chunks=active_chunks,
        localized=localized,
    )


def runs() -> list[int]:
    """All 360 times: ratios, ranks, sizes, three algorithms, both optimizations."""
    return [
        time
        for cell in cells()
        for localized in (False, True)
        for time in (
            flat_ns(cell, localized=localized),
            hierarchy_ns(cell, localized=localized),
            hierarchy_ns(cell, localized=localized, outer="doubleBinaryTree"),
        )
    ]


@cache
def anti_benefit() -> dict[Cell, tuple[float, float]]:
    """The cells in which ring_ring is slower than oneRing under baseline: its slowdown there and under localBWAware."""
    found = {}
    for cell in cells():
        flat = flat_ns(cell)
        slowdown = hierarchy_ns(cell, localized=False) / flat
        if slowdown > 1:
            found[cell] = slowdown, hierarchy_ns(cell, localized=True) / flat
    return found


def _network(ratio: float, inner: int, outer: int) -> str:
    return f"ring:{inner}xring:{outer},bandwidth=600/{600 / ratio}GiB/s,latency=500ns/2us"


def physical_hierarchy(cell: Cell, inner: int = 8) -> float:
    """The hierarchical all_reduce (reduce_scatter, all_reduce, all_gather) over a flat ring that pays for its links."""
    ratio, ranks, megabytes = cell
    topology = _network(ratio, inner, ranks // inner)
    hierarchy = simulated_ps("all_reduce", topology, megabytes << 20, "hierarchical", chunks=_SPLITS)
    return hierarchy / simulated_ps("all_reduce", topology, megabytes << 20, "ring")


def physical_slowdown(cell: Cell) -> float:
    """What `baseline` does, a whole all_reduce in each dimension, over that flat ring; with the best of some chunks."""
    ratio, ranks, megabytes = cell
    topology = _network(ratio, 8, ranks // 8)
    both = min(full_per_dimension_ps(topology, 8, ranks // 8, megabytes << 20, chunks) for chunks in _CHUNKS)
    return both / simulated_ps("all_reduce", topology, megabytes << 20, "ring")
