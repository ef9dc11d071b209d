"""Virtual channels and bubbles, which keep buffers of switches from waiting for each other in a circle; notes on
packets."""

from collections.abc import Sequence

import numpy as np

from hocket._core.simulator import Job, PacketSettings, Plan, buffer_waits
from hocket.base.errors import DeadlockError
from hocket.simulator.fidelity import Fidelity
from hocket.simulator.models import Model
from hocket.simulator.packets import FlowControl, Packets, PacketTraffic
from hocket.topology import Topology

__all__ = ["packet_notes", "packet_settings"]

_TANGLED = -2  # as the engine has it: a buffer in several circles
_TRAINS_A_BUFFER = 15  # from which on queues of trains are within 10 % of those of packets (docs/network-models.md)


def packet_settings(job: Job, plans: Sequence[Plan], topology: Topology, fidelity: Fidelity) -> PacketSettings | None:
    """The settings of packets, with as many virtual channels as it takes, or with bubbles; None of other models.

    A packet that has passed k switches is in channel k: so no buffer ever waits for one of an earlier switch. Under
    bubble flow control circles stay, but each always has room for one packet to move on. Raises DeadlockError where
    fewer channels were asked for and the paths of the job have buffers wait for each other in a circle, or where that
    is no single ring and there are to be bubbles.
    """
    if fidelity.model != Model.PACKET:
        return None
    packets = fidelity.packets or Packets()
    if not packets.waits_for_room:
        return packets.settings(packets.channels or 1, topology)
    circle, most, ring_of = buffer_waits(job, plans, topology.graph)
    if not len(circle):
        return packets.settings(packets.channels or 1, topology)
    if packets.flow == FlowControl.BUBBLE:
        if len(tangled := np.flatnonzero(ring_of == _TANGLED)):
            raise DeadlockError(
                f"routing {fidelity.routed(topology).name} on {topology.name} has the buffer behind"
                f" {topology.link_name(int(tangled[0]))} in more than one ring, which no bubble keeps from deadlock;"
                " flow=credits takes virtual channels, or take a routing by dimensions"
            )
        return packets.settings(1, topology, ring_of)
    if packets.channels is not None and packets.channels < most:
        raise DeadlockError(
            f"routing {fidelity.routed(topology).name} on {topology.name} can deadlock: the buffers behind"
            f" {', '.join(topology.link_name(int(link)) for link in circle)} may wait for each other in a circle;"
            f" channels={packets.channels} is too few: give channels={most}, none, or flow=none"
        )
    return packets.settings(packets.channels or most, topology)


def packet_notes(traffic: PacketTraffic | None, fidelity: Fidelity, topology: Topology) -> list[str]:
    """That there are virtual channels that nobody asked for, and what trains cost."""
    if traffic is None:
        return []
    packets = fidelity.packets or Packets()
    notes = []
    if packets.channels is None and traffic.channels > 1:
        notes.append(
            f"the routing on {topology.name} lets buffers wait for each other in a circle: each link has"
            f" {traffic.channels} virtual channels, one for each switch that a packet has passed"
        )
    if packets.train > 1:
        trains = packets.buffer // (packets.train * (packets.mtu + packets.header))
        coarse = f"; times are far off with fewer than {_TRAINS_A_BUFFER} trains a buffer (here {trains})"
        notes.append(
            f"packets move in trains of {packets.train}: one that waits for another may wait for"
            f" {packets.train - 1} more{coarse * (trains < _TRAINS_A_BUFFER)}"
        )
    return notes
