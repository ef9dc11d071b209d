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
        model, graph = request.model, request.model.graphs[_GRAPHS[request.algorithm]]
        self._gpus, self._places = request.gpus, model.places
        gpus = graph["gpus"].reshape(graph["channels"], -1)
        self._first: list[int] = np.array(self._places)[gpus[:, 0]].tolist()
        self._nets: list[list[int]] = graph["nets"].reshape(-1, 2).tolist()
        self._relays = model.relays
        self._of_head = request.algorithm == "NVLSTree"
        devices = [net.dev for net in model.machine.nets()]
        numbers = sorted(set(devices))
        self._ports, self._port = len(numbers), [numbers.index(device) for device in devices]

    def crossing(self, src: int, dst: int, channel: int) -> Crossing:
        """The way of a channel's messages from one machine's rank to another's. A sender may hand them to the GPU next
        to the NIC (PXN); what is received is written to the receiver itself."""
        place = src % self._gpus
        out, into = self._net(place, channel), self._net(dst % self._gpus, channel)
        relay = self._places[self._relays[self._places.index(place), out]]
        return Crossing(src - place + relay, self._port[out], self._port[into], self._ports)

    def _net(self, place: int, channel: int) -> int:
        if self._of_head:
            own = [into for (into, _), first in zip(self._nets, self._first, strict=True) if first == place]
            return own[channel % len(own)]
        at = channel % len(self._first)
        into, out = self._nets[at]
        return into if self._first[at] == place else out


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
