"""Where a collective runs, for the algorithms that look at the topology."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hocket.base.errors import ScheduleError
from hocket.topology import Topology, routes

__all__ = ["Line", "Place"]


@dataclass(frozen=True, slots=True)
class Line:
    """What joins the ranks that differ in one coordinate only: `kind` as in `Dimension`, over `size` ranks."""

    kind: str
    size: int


@dataclass(frozen=True, eq=False)
class Place:
    """Collective rank i is rank `ranks[i]` of the topology."""

    topology: Topology
    ranks: NDArray[np.int32]

    @property
    def nodes(self) -> NDArray[np.int32]:
        """Topology nodes of the collective's: its ranks, then the switches that compute."""
        return np.concatenate([self.ranks, np.array(self.topology.in_network, np.int32)])

    def lines(self, algorithm: str) -> tuple[Line, ...]:
        """The lines of each dimension that the ranks spread over: rank = c0 + c1*n0 + c2*n0*n1 + ...

        They are the topology's dimensions or, if it has none, its machines (of equally many consecutive ranks) and the
        ranks inside one. Raises ScheduleError, in the name of `algorithm`, where there are none, or where the ranks do
        not fill a box of them in ascending order.
        """
        coordinates = self.ranks.astype(np.int64)
        lines, extent = [], 1
        for line in self._all_lines():
            extent *= (size := len(np.unique(coordinates % line.size)))
            # A part of a ring has two ends.
            kind = "mesh" if line.kind == "ring" and size < line.size else line.kind
            lines += [Line(kind, size)] if size > 1 else []
            coordinates //= line.size
        if extent != len(self.ranks) or (np.diff(self.ranks) <= 0).any():
            raise ScheduleError(
                f"{algorithm} needs ranks that fill, in ascending order, a box of the dimensions (or machines) of the "
                f"topology; {self.topology.name} does not give that: use ring or direct"
            )
        return tuple(lines)

    def two_lines(self, algorithm: str) -> tuple[Line, ...]:
        """`lines`, of two dimensions or more. Raises ScheduleError for fewer too."""
        lines = self.lines(algorithm)
        if len(lines) < 2:
            raise ScheduleError(
                f"{algorithm} needs two dimensions or more; {self.topology.name} has one here: use ring"
            )
        return lines

    def way(self, src: int, dst: int) -> tuple[int, int]:
        """Latency in picoseconds and bandwidth in bytes/s of the route from one collective rank to another."""
        links = routes(self.topology.graph, [(int(self.ranks[src]), int(self.ranks[dst]))]).links
        return int(self.topology.latency_ps[links].sum()), int(self.topology.bandwidth[links].min())

    def box(self) -> tuple[int, ...]:
        """Sizes of the lines; all ranks in one where there are none."""
        try:
            return tuple(line.size for line in self.lines("a box"))
        except ScheduleError:
            return (len(self.ranks),)

    def _all_lines(self) -> list[Line]:
        if self.topology.dimensions:
            # Algorithms use an unwound switch as what it surely has: links from neighbour to neighbour.
            kinds = ["mesh" if one.kind == "unwound_switch" else one.kind for one in self.topology.dimensions]
            return [Line(kind, one.size) for kind, one in zip(kinds, self.topology.dimensions, strict=True)]
        machines = len(np.unique(self.topology.machine))
        inside = self.topology.num_ranks // machines
        if not np.array_equal(self.topology.machine, np.arange(self.topology.num_ranks) // inside):
            return []
        return [Line("switch", inside), Line("switch", machines)]
