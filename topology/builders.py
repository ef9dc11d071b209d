"""Builders: topologies made of dimensions, and the words that specs use for them.

A dimension joins the ranks that differ in one coordinate only: a line. Its kind says how the ranks of a line are
linked. Kinds and shapes are registered at the end of this file: a new one is one function and one line there.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hocket.base.errors import FormatError, TopologyError
from hocket.base.registry import Entry, Registry
from hocket.topology.model import Dimension, Topology

__all__ = ["KINDS", "SHAPES", "product"]

_MAX_LINKS = 2**26  # 1.6 GB of columns

Links = NDArray[np.int64]


def _steps(size: int) -> Links:
    at = np.repeat(np.arange(size), 2)
    return np.column_stack([at, at + np.tile([1, -1], size)])


def ring(dimension: Dimension) -> Links:
    """Both neighbours around a circle; clockwise (+1) first, so that routes break ties clockwise."""
    links = _steps(dimension.size) % dimension.size
    return links if dimension.size > 2 else links[::2]  # of two ranks each has one neighbour, not two


def mesh(dimension: Dimension) -> Links:
    """Both neighbours along a line with two ends."""
    links = _steps(dimension.size)
    return links[(links[:, 1] >= 0) & (links[:, 1] < dimension.size)]


def fully_connected(dimension: Dimension) -> Links:
    """A link for every ordered pair."""
    links: Links = np.indices((dimension.size, dimension.size)).reshape(2, -1).T
    different: NDArray[np.bool_] = links[:, 0] != links[:, 1]
    return links[different]


def switch(dimension: Dimension) -> Links:
    """A switch (local node `size`) with a link up and a link down for every rank."""
    up = np.column_stack([np.arange(dimension.size), np.full(dimension.size, dimension.size)])
    return np.stack([up, up[:, ::-1]], axis=1).reshape(-1, 2)


def unwound_switch(dimension: Dimension) -> Links:
    """A switch whose ports stay turned to the next `degree` ranks around: a link to each of them (TACOS, section 4)."""
    rank = np.repeat(np.arange(dimension.size), dimension.degree)
    step = np.tile(np.arange(1, dimension.degree + 1), dimension.size)
    return np.column_stack([rank, (rank + step) % dimension.size])


def product(name: str, dimensions: Sequence[Dimension], notes: Sequence[str] = ()) -> Topology:
    """The product of dimensions: rank = c0 + c1*n0 + c2*n0*n1 + ..., dimension 0 varies fastest.

    Links are numbered dimension by dimension, line by line, in the order of the kind; every line of a `switch`
    dimension has its own switch. Raises TopologyError when a kind is unknown, a size is below 2, a dimension without
    switches is `in_network`, a degree is out of range, or there would be more than 2^26 links.
    """
    for dimension in dimensions:
        kind = KINDS.named(dimension.kind)
        if dimension.size < 2:
            raise TopologyError(f"a dimension needs at least 2 ranks, got {dimension.kind} of {dimension.size}")
        if dimension.in_network and not kind.has_switch:
            raise TopologyError(f"in_network is for dimensions of kind switch; a {dimension.kind} has no switches")
        if kind.takes_degree and not 1 <= dimension.degree < dimension.size:
            raise TopologyError(
                f"a switch of {dimension.size} ranks is unwound to a degree from 1 to {dimension.size - 1}, "
                f"got degree={dimension.degree}"
            )
        if dimension.degree and not kind.takes_degree:
            raise TopologyError(f"degree is for dimensions of kind unwound_switch; a {dimension.kind} has none")
        if dimension.link_bandwidth < 1:
            raise TopologyError(f"{dimension.bandwidth} B/s are too few for {dimension.degree} links")
    num_ranks = int(np.prod([dimension.size for dimension in dimensions], dtype=object))
    per_rank = sum(max(2, len(dimension.shifts)) for dimension in dimensions)
    if num_ranks * per_rank > _MAX_LINKS:
        raise TopologyError(f"{num_ranks} ranks need more than {_MAX_LINKS} links")

    ranks = np.arange(num_ranks)
    stride, num_nodes = 1, num_ranks
    src, dst, latency_ps, bandwidth, link_class = [], [], [], [], []
    in_network: list[int] = []
    for number, dimension in enumerate(dimensions):
        coordinate = ranks // stride % dimension.size
        lines = ranks[coordinate == 0]
        local = KINDS[dimension.kind].links(dimension)
        # nodes[line, position]: the ranks of a line, then its switch if the kind has one
        nodes = lines[:, None] + stride * np.arange(dimension.size)
        if local.max() == dimension.size:
            nodes = np.column_stack([nodes, num_nodes + np.arange(len(lines))])
            in_network += range(num_nodes, num_nodes + len(lines)) if dimension.in_network else []
            num_nodes += len(lines)
        src.append(nodes[:, local[:, 0]].ravel())
        dst.append(nodes[:, local[:, 1]].ravel())
        latency_ps.append(np.full(src[-1].size, dimension.latency_ps))
        bandwidth.append(np.full(src[-1].size, dimension.link_bandwidth))
        link_class.append(np.full(src[-1].size, number, np.int32))
        stride *= dimension.size
    return Topology(
        name=name,
        num_ranks=num_ranks,
        num_nodes=num_nodes,
        src=np.concatenate(src).astype(np.int32),
        dst=np.concatenate(dst).astype(np.int32),
        latency_ps=np.concatenate(latency_ps).astype(np.int64),
        bandwidth=np.concatenate(bandwidth).astype(np.int64),
        link_class=np.concatenate(link_class),
        classes=tuple(map(str, range(len(dimensions)))),
        machine=np.zeros(num_ranks, np.int32),
        dimensions=tuple(dimensions),
        notes=tuple(notes),
        in_network=tuple(in_network),
    )


@dataclass(frozen=True)
class DimensionKind(Entry):
    """How the ranks of a line are linked: `links` of one line, as (k, 2) pairs of local nodes; whether it `has_switch`,
    local node `size`, which may compute; whether its links have a `degree`."""

    links: Callable[[Dimension], Links]
    has_switch: bool = False
    takes_degree: bool = False


@dataclass(frozen=True)
class Shape(Entry):
    """A word in a spec: the (kind, size) of the dimensions that `word:4x4` stands for."""

    dimensions: Callable[[Sequence[int]], list[tuple[str, int]]]


def _every(kind: str) -> Callable[[Sequence[int]], list[tuple[str, int]]]:
    return lambda sizes: [(kind, size) for size in sizes]


def hypercube(sizes: Sequence[int]) -> list[tuple[str, int]]:
    """The binary n-cube: `hypercube:3` has three dimensions of two ranks."""
    if len(sizes) != 1 or not 1 <= sizes[0] <= 30:
        raise FormatError("a hypercube takes one number from 1 to 30, its order: hypercube:3 has 2^3 = 8 ranks")
    return [("fully_connected", 2)] * sizes[0]


KINDS = Registry(
    "kind of dimension",
    (
        DimensionKind(ring, name="ring", summary="both neighbours around a circle (two ranks: one link each way)"),
        DimensionKind(mesh, name="mesh", summary="both neighbours, the line has ends"),
        DimensionKind(fully_connected, name="fully_connected", summary="one for every ordered pair"),
        DimensionKind(
            switch, name="switch", summary="up to a switch node and down from it, for every rank", has_switch=True
        ),
        DimensionKind(
            unwound_switch,
            name="unwound_switch",
            summary="a switch whose ports stay turned: a link to each of the next `degree=D` ranks around (1 unless"
            " said), each with 1/D of the port's bandwidth",
            takes_degree=True,
        ),
    ),
    TopologyError,
)

SHAPES = Registry(
    "shape",
    (
        *(
            Shape(
                _every(kind.name),
                name=kind.name,
                summary=kind.summary,
                example=f"{kind.name}:{'4x4' if kind.name == 'mesh' else 8}",
            )
            for kind in KINDS.values()
        ),
        Shape(_every("ring"), name="torus", summary="a ring in every dimension", example="torus:4x4"),
        Shape(
            hypercube,
            name="hypercube",
            summary="the binary 3-cube: 2^3 ranks, 3 dimensions of 2",
            example="hypercube:3",
        ),
    ),
)
