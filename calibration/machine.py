"""What a topology says of the two levels of a cluster, and the topology with other numbers for them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from hocket.base.errors import TopologyError
from hocket.calibration.curve import MeasuredCurve
from hocket.calibration.measurement import Measurement
from hocket.calibration.structure import INTER, INTRA
from hocket.topology import Topology, routes

__all__ = ["TopologyLevel", "group_of", "levels_of", "on_machines", "rescaled"]


@dataclass(frozen=True, eq=False)
class TopologyLevel:
    """A level's links (ids); the latency of a step from rank to rank (ps); and the bandwidth (bytes/s) that each rank
    has of its own when all use the level: out of it inside a machine, its share of the NICs between machines."""

    links: NDArray[np.int64]
    latency_ps: int
    bandwidth: int


def levels_of(topology: Topology) -> dict[str, TopologyLevel]:
    """The levels that the topology has: ranks of one machine, machines."""
    members = [np.flatnonzero(topology.machine == machine).tolist() for machine in np.unique(topology.machine)]
    inside = [(a, b) for ranks in members for a in ranks for b in ranks if a != b]
    levels, used = {}, np.zeros(topology.num_links, np.bool_)
    if inside:
        near = [(ranks[at], ranks[at - 1]) for ranks in members if len(ranks) > 1 for at in range(len(ranks))]
        used[routes(topology.graph, inside).links] = True
        out = np.zeros(topology.num_ranks)
        leaving = np.flatnonzero(used & (topology.src < topology.num_ranks))
        np.add.at(out, topology.src[leaving], topology.bandwidth[leaving])
        latency, _ = _routed(topology, near)
        levels[INTRA] = TopologyLevel(np.flatnonzero(used), latency, int(out[out > 0].min()))
    if len(members) > 1:
        rotated = [*members[1:], members[0]]
        far = [pair for here, there in zip(members, rotated, strict=True) for pair in zip(here, there, strict=False)]
        latency, bandwidth = _routed(topology, far)
        levels[INTER] = TopologyLevel(np.flatnonzero(~used), latency, bandwidth)
    return levels


def _routed(topology: Topology, pairs: list[tuple[int, int]]) -> tuple[int, int]:
    """The median latency of the pairs' routes, and the least bandwidth of a pair when all use theirs at once."""
    way = routes(topology.graph, pairs)
    load = np.bincount(way.links, minlength=topology.num_links)
    latency = np.add.reduceat(topology.latency_ps[way.links], way.offset[:-1])
    return int(np.median(latency)), int((topology.bandwidth[way.links] // load[way.links]).min())


def rescaled(topology: Topology, wanted: Mapping[str, tuple[int, int]], name: str, notes: tuple[str, ...]) -> Topology:
    """The topology whose levels have these latencies (ps) and bandwidths (bytes/s): every link of a level is scaled by
    the same factors."""
    latency, bandwidth, dimensions = topology.latency_ps.copy(), topology.bandwidth.copy(), topology.dimensions
    for level, present in levels_of(topology).items():
        if level not in wanted:
            continue
        step_ps, rate = wanted[level]
        slower, wider = step_ps / max(present.latency_ps, 1), rate / present.bandwidth
        links = present.links
        latency[links] = np.rint(topology.latency_ps[links] * slower)
        bandwidth[links] = np.maximum(np.rint(topology.bandwidth[links] * wider), 1)
        if len(links) == topology.num_links:
            dimensions = tuple(
                replace(
                    dimension,
                    latency_ps=int(np.rint(dimension.latency_ps * slower)),
                    bandwidth=max(int(np.rint(dimension.bandwidth * wider)), 1),
                )
                for dimension in dimensions
            )
    return replace(topology, name=name, latency_ps=latency, bandwidth=bandwidth, dimensions=dimensions, notes=notes)


def on_machines(measurements: Iterable[Measurement], topology: Topology) -> tuple[Measurement, ...]:
    """With the topology's machines for nodes, where it has too few of them but each holds the ranks of several hosts:
    of GPUs whose NVLinks join hosts (GB200 NVL72) outputs count the hosts, a topology one machine."""
    counts = np.unique(topology.machine, return_counts=True)[1]

    def placed(each: Measurement) -> Measurement:
        machines, rest = divmod(each.ranks, int(counts[0]))
        alike = not rest and 0 < machines <= len(counts) < each.nodes and (counts[:machines] == counts[0]).all()
        return replace(each, nodes=machines) if alike else each

    return tuple(map(placed, measurements))


def group_of(curve: MeasuredCurve, topology: Topology) -> NDArray[np.int32]:
    """Ranks of the topology that a curve's ranks stand for: the first of as many machines, equally many of each.

    Raises TopologyError, saying what is missing, when there are none such.
    """
    machines, counts = np.unique(topology.machine, return_counts=True)
    local, rest = divmod(curve.ranks, curve.nodes)
    if rest:
        raise TopologyError(f"{curve.place[0]}: {curve.name}: {curve.nodes} nodes do not hold equally many ranks")
    if len(machines) < curve.nodes or counts[: curve.nodes].min() < local:
        raise TopologyError(
            f"{curve.place[0]}: {curve.name}, but {topology.name} has {len(machines)} x {counts.min()} ranks:"
            f" take a topology of {curve.nodes} machines of {local} ranks or more (dgx-h100:nodes={curve.nodes},"
            " or `machine:` in its file)"
        )
    chosen = [np.flatnonzero(topology.machine == machine)[:local] for machine in machines[: curve.nodes]]
    return np.concatenate(chosen).astype(np.int32)
