"""The channels that the model found, as what NCCL_GRAPH_DUMP_FILE writes."""

from typing import TYPE_CHECKING

from hocket.base.errors import TopologyError
from hocket.nccl.model import NcclModel
from hocket.nccl.names import PATH_TYPES
from hocket.topology.formats.nccl.graph import LINK_TYPES, GraphChannel, GraphId, GraphPattern, NcclGraph, NcclGraphs

if TYPE_CHECKING:
    from hocket._core.nccl import Graph

__all__ = ["model_graphs"]

# In the order in which NCCL dumps them.
_IDS = {
    "Ring": GraphId.RING,
    "Tree": GraphId.TREE,
    "CollNetDirect": GraphId.COLLNET_DIRECT,
    "CollNetChain": GraphId.COLLNET_CHAIN,
    "NVLS": GraphId.NVLS,
}


def model_graphs(model: NcclModel) -> NcclGraphs:
    """The graphs as the first machine's rank 0 dumps them: `gpus` are devices and ranks of that machine.

    Raises TopologyError for channels over paths that NCCL's graph files have no names for, and where NCCL takes the
    machines for others than they are.
    """
    if model.machines != model.nodes:
        raise TopologyError(
            f"{model.machine.source}: NCCL takes {model.nodes} nodes for {model.machines}: graphs are written of nodes"
            " that it takes as they are"
        )
    graphs = model.graphs
    return NcclGraphs(
        model.machine.source,
        tuple(_graph(model, name, kind, graphs[name]) for name, kind in _IDS.items() if name in graphs),
    )


def _graph(model: NcclModel, name: str, kind: GraphId, found: "Graph") -> NcclGraph:
    per_channel = model.ranks // model.nodes
    heads = 1 if kind == GraphId.NVLS else per_channel
    gpus = [gpu for _, gpu in model.machine.job_gpus()]
    nets = [net.dev for net in model.machine.nets()]
    channels = []
    for at in range(found["channels"]):
        order = found["gpus"][at * per_channel :][:heads].tolist()
        ends = found["nets"][2 * at :][:2].tolist() if model.nodes > 1 else []
        devices = tuple(gpus[gpu].dev for gpu in order)
        ranks = tuple(gpus[gpu].rank if gpus[gpu].rank >= 0 else gpu for gpu in order)
        channels.append(GraphChannel(0, devices, ranks, tuple(nets[net] for net in ends)))
    return NcclGraph(
        line=0,
        id=kind,
        pattern=GraphPattern(found["pattern"]),
        cross_nic=found["cross_nic"],
        speed_intra=found["intra"],
        speed_inter=found["inter"],
        latency_inter=found["latency"],
        type_intra=_type(model, name, found["type_intra"]),
        type_inter=_type(model, name, found["type_inter"]),
        same_channels=found["same_channels"],
        channels=tuple(channels),
    )


def _type(model: NcclModel, name: str, number: int) -> str:
    word = PATH_TYPES[number]
    if word not in LINK_TYPES:
        raise TopologyError(
            f"{model.machine.source}: {name} goes over {word}, for which NCCL's graph files have no name"
        )
    return word
