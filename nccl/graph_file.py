"""The channels of a NCCL_GRAPH_FILE, by their place in the machine: what the model takes in place of its own search."""

import numpy as np

from hocket._core.nccl import Given
from hocket.base.errors import FormatError
from hocket.nccl.names import PATH_TYPES
from hocket.topology.formats.nccl.graph import GraphId, NcclGraphs
from hocket.topology.formats.nccl.machine import NcclMachine

__all__ = ["graph_file_channels"]

_HOST_BITS = 56  # a device of an NVLink domain of several hosts is `host << 56 | dev`


def graph_file_channels(graphs: NcclGraphs, machine: NcclMachine, hosts: int = 1) -> Given:
    """The graphs for a machine, or for an NVLink domain of `hosts` such machines.

    Raises FormatError, naming file and line, for a GPU or NIC that the machine has not, and for ranks that NCCL would
    look for on another node.
    """
    ranked = [gpu for _, gpu in machine.job_gpus()]
    gpus = _places([gpu.dev for gpu in ranked], hosts)
    nets = _places([net.dev for net in machine.nets()], hosts)
    fixed = Given()
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
        fixed.add(
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
    return fixed


def _places(devices: list[int], hosts: int) -> dict[int, int]:
    every = [host << _HOST_BITS | dev for host in range(hosts) for dev in devices]
    return {dev: place for place, dev in enumerate(every)}


def _place(places: dict[int, int], dev: int, what: str, where: str, machine: NcclMachine) -> int:
    if dev not in places:
        raise FormatError(f"{where}: {what} with dev {dev:x} (hexadecimal): {machine.source} has none")
    return places[dev]
