"""The channels of NCCL's searches, as its graph files say them (`NCCL_GRAPH_FILE`, `NCCL_GRAPH_DUMP_FILE`).

Format: `ncclTopoGetXmlFromGraphs` and `ncclTopoGetGraphFromXml` of NCCL 2.30 (src/graph/search.cc). Bandwidths are
NCCL's: GB/s as floats.
"""

from dataclasses import dataclass
from enum import IntEnum

__all__ = ["LINK_TYPES", "PATTERNS", "GraphChannel", "GraphId", "GraphPattern", "NcclGraph", "NcclGraphs"]

# The types of paths that graph files have names for: NCCL's, but C2C, NET and DIS.
LINK_TYPES = ("LOC", "NVL", "NVB", "PIX", "PXB", "P2C", "PXN", "PHB", "SYS")


class GraphId(IntEnum):
    """Whose channels a graph has; NCCL searches those that a file lacks."""

    RING = 0
    TREE = 1
    COLLNET_CHAIN = 2
    NVLS = 3
    COLLNET_DIRECT = 4


class GraphPattern(IntEnum):
    """How the channels were searched."""

    BALANCED_TREE = 1
    SPLIT_TREE = 2
    TREE = 3
    RING = 4
    NVLS = 5
    COLLNET_DIRECT = 6


# The patterns that NCCL searches for each graph.
PATTERNS = {
    GraphId.RING: (GraphPattern.RING,),
    GraphId.TREE: (GraphPattern.BALANCED_TREE, GraphPattern.SPLIT_TREE, GraphPattern.TREE),
    GraphId.COLLNET_CHAIN: (GraphPattern.TREE,),
    GraphId.NVLS: (GraphPattern.NVLS,),
    GraphId.COLLNET_DIRECT: (GraphPattern.COLLNET_DIRECT,),
}


@dataclass(frozen=True, slots=True)
class GraphChannel:
    """GPUs of one machine in their order, by `dev` of the topology file (of several hosts: host << 56 | dev), of NVLS
    the head alone; their ranks in the job, or () where the file has none: such a file is for every machine. `nets` are
    the NICs, by `dev`, through which the channel comes in and goes out, or () on one machine."""

    line: int
    gpus: tuple[int, ...]
    ranks: tuple[int, ...] = ()
    nets: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class NcclGraph:
    """The channels for one kind of algorithm. Speeds are GB/s of a channel inside a machine and between machines,
    `latency_inter` microseconds; types are of LINK_TYPES: the farthest that a channel goes inside, and to its NICs.
    `cross_nic`: 0 a channel comes in and goes out on the same rail, 1 it need not, 2 only by pairs of channels."""

    line: int
    id: GraphId
    pattern: GraphPattern
    cross_nic: int
    speed_intra: float
    speed_inter: float
    latency_inter: float
    type_intra: str
    type_inter: str
    same_channels: bool
    channels: tuple[GraphChannel, ...]


@dataclass(frozen=True, slots=True)
class NcclGraphs:
    """The graphs of one file, in its order, each kind once."""

    source: str
    graphs: tuple[NcclGraph, ...]

    def get(self, kind: GraphId) -> NcclGraph | None:
        """The graph of that kind, unless the file has none."""
        return next((graph for graph in self.graphs if graph.id == kind), None)
