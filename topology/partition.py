"""Sets of ranks that collectives must get into and out of: ranks alone, machines; planes, halves and lines of a
product."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hocket._core.topology import Graph, part_ingress_bandwidth

__all__ = ["Partition"]


@dataclass(frozen=True, eq=False)
class Partition:
    """Every rank of a topology is in one part: rank r in `part[r]` (int32), which `one` (with its number put in) calls
    `names[part]`; `every` calls all of them. `into` and `out_of` are the topology's graph and its reversal."""

    one: str
    every: str
    names: NDArray[np.int64]
    part: NDArray[np.int32]
    into: Graph
    out_of: Graph

    @classmethod
    def by(cls, one: str, every: str, label: NDArray[np.int64], into: Graph, out_of: Graph) -> "Partition":
        """Ranks with the same `label` (length ranks) are a part, which is called so."""
        names, part = np.unique(label, return_inverse=True)
        return cls(one, every, names, part.astype(np.int32), into, out_of)

    @cached_property
    def ingress_bandwidth(self) -> NDArray[np.int64]:
        """The most bytes/s that can enter each part from all ranks outside it: the maximum flow through switches."""
        return part_ingress_bandwidth(self.into, self.part, len(self.names))

    @cached_property
    def egress_bandwidth(self) -> NDArray[np.int64]:
        """The most bytes/s that can leave each part for all ranks outside it."""
        return part_ingress_bandwidth(self.out_of, self.part, len(self.names))
