"""Over which NICs NCCL's channels go from machine to machine (`ncclTopoGetNetDev` of src/graph/search.cc of 2.30)."""

import numpy as np

from hocket.nccl.programs.request import NcclCall
from hocket.schedule import Program
from hocket.topology import Crossing

__all__ = ["Nics", "crossings"]

_GRAPHS = {"Ring": "Ring", "Tree": "Tree", "PAT": "Tree", "NVLSTree": "NVLS"}


class Nics:
    """Those of the graph whose channels the algorithm connects."""

    def __init__(self, request: NcclCall) -> None:
        self._model, self._of_head = request.model, request.algorithm == "NVLSTree"
        kinds = range(len(self._model.kinds))
        graphs = [self._model.graphs_on(kind)[_GRAPHS[request.algorithm]] for kind in kinds]
        self._places = [self._model.places_on(kind) for kind in kinds]
        self._relays = [self._model.relays_on(kind) for kind in kinds]
        self._first: list[list[int]] = [
            np.array(places)[graph["gpus"].reshape(graph["channels"], -1)[:, 0]].tolist()
            for places, graph in zip(self._places, graphs, strict=True)
        ]
        self._nets: list[list[list[int]]] = [graph["nets"].reshape(-1, 2).tolist() for graph in graphs]
        devices = [net.dev for net in self._model.machine.nets()]
        numbers = sorted(set(devices))
        self._ports, self._port = len(numbers), [numbers.index(device) for device in devices]

    def crossing(self, src: int, dst: int, channel: int) -> Crossing:
        """The way of a channel's messages from one machine's rank to another's. A sender may hand them to the GPU next
        to the NIC (PXN); what is received is written to the receiver itself."""
        machine, place = self._model.place_of[src]
        kind = self._model.kind_of[machine]
        out, into = self._net(src, channel), self._net(dst, channel)
        relay = self._places[kind][self._relays[kind][self._places[kind].index(place), out]]
        return Crossing(self._model.members[machine][relay], self._port[out], self._port[into], self._ports)

    def _net(self, rank: int, channel: int) -> int:
        machine, place = self._model.place_of[rank]
        kind = self._model.kind_of[machine]
        first, nets = self._first[kind], self._nets[kind]
        if self._of_head:
            own = [into for (into, _), head in zip(nets, first, strict=True) if head == place]
            return own[channel % len(own)]
        at = channel % len(first)
        into, out = nets[at]
        return into if first[at] == place else out


def crossings(request: NcclCall, program: Program) -> dict[tuple[int, int, int], Crossing]:
    """Those of the program's connections between machines."""
    if request.nodes == 1:
        return {}
    nics, machine = Nics(request), request.machine
    return {
        (rank, block.send, block.channel): nics.crossing(rank, block.send, block.channel)
        for rank, gpu in enumerate(program.gpus)
        for block in gpu.thread_blocks
        if block.send >= 0 and machine[block.send] != machine[rank]
    }
