"""Channels between the engine and NCCL's graph files: those of a NCCL_GRAPH_FILE by their place in the machine, and
those that the model found as what NCCL_GRAPH_DUMP_FILE writes."""

from typing import TYPE_CHECKING

import numpy as np

from hocket._core.nccl import Given
from hocket.base.errors import FormatError, TopologyError
from hocket.nccl.names import PATH_TYPES
from hocket.topology.formats.nccl.graph import LINK_TYPES, GraphChannel, GraphId, GraphPattern, NcclGraph, NcclGraphs
from hocket.topology.formats.nccl.machine import NcclMachine

if TYPE_CHECKING:
    from hocket._core.nccl import Graph
    from hocket.nccl.model import NcclModel

__all__ = ["graph_file_channels", "model_graphs"]

_HOST_BITS = 56  # a device of an NVLink domain of several hosts is `host << 56 | dev`
# In the order in which NCCL dumps them.
_IDS = {
    "Ring": GraphId.RING,
    "Tree": GraphId.TREE,
    "CollNetDirect": GraphId.COLLNET_DIRECT,
    "CollNetChain": GraphId.COLLNET_CHAIN,
    "NVLS": GraphId.NVLS,
}


def graph_file_channels(graphs: NcclGraphs, machine: NcclMachine, hosts: int = 1) -> Given:
    """The graphs for a machine, or for an NVLink domain of `hosts` such machines.

    Raises FormatError, naming file and line, for a GPU or NIC that the machine has not, and for ranks that NCCL would
    look for on another node.
    """
    ranked = [gpu for _, gpu in machine.job_gpus()]
    gpus = _places([gpu.dev for gpu in ranked], hosts)
    nets = _places([net.dev for net in machine.nets()], hosts)
    given = Given()
    for graph in graphs.graphs:
        columns: list[int] = []
        ends: list[int] = []
        for channel in graph.channels:
            where = f"{graphs.source}:{channel.line}: <channel>"
            if channel.ranks and set(channel.ranks) - set(range(len(gpus))):
                raise FormatError(f'{where}: has ranks beyond the {len(gpus)} GPUs of a node: remove the rank="..."s')
            own = [_place(gpus, dev, "GPU", where, machine) for dev in channel.gpus]
            if graph.id == GraphId.NVLS:  # its head alone counts
                own = own[:1] * len(gpus)
            if len(own) != len(gpus):
                raise FormatError(f"{where}: {len(own)} GPUs; {machine.source} has {len(gpus)}")
            columns += own
            ends += [_place(nets, dev, "NIC", where, machine) for dev in channel.nets] or [-1, -1]
        given.add(
            graph.id,
            graph.pattern,
            graph.cross_nic,
            graph.speed_intra,
            graph.speed_inter,
            graph.latency_inter,
            PATH_TYPES.index(graph.type_intra),
            PATH_TYPES.index(graph.type_inter),
            graph.same_channels,
            len(graph.channels),
            np.array(columns, np.int32),
            np.array(ends, np.int32),
        )
    return given


def _places(devices: list[int], hosts: int) -> dict[int, int]:
    every = [host << _HOST_BITS | dev for host in range(hosts) for dev in devices]
    return {dev: place for place, dev in enumerate(every)}


def _place(places: dict[int, int], dev: int, what: str, where: str, machine: NcclMachine) -> int:
    if dev not in places:
        raise FormatError(f"{where}: {what} with dev {dev:x} (hexadecimal): {machine.source} has none")
    return places[dev]


def model_graphs(model: "NcclModel") -> NcclGraphs:
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


def _graph(model: "NcclModel", name: str, kind: GraphId, found: "Graph") -> NcclGraph:
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


def _type(model: "NcclModel", name: str, number: int) -> str:
    word = PATH_TYPES[number]
    if word not in LINK_TYPES:
        raise TopologyError(
            f"{model.machine.source}: {name} goes over {word}, for which NCCL's graph files have no name"
        )
    return word
