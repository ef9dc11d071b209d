"""What all the bytes of a workload need, whenever they are sent."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from hocket.schedule import Kind
from hocket.simulator.member_bounds import MemberBounds, ports
from hocket.simulator.workload import CollectiveCall, Workload
from hocket.topology import Topology

__all__ = ["traffic_bound_ps"]

_PICOSECONDS_PER_SECOND = 10**12


def traffic_bound_ps(workload: Workload, topology: Topology, members: Sequence[MemberBounds], *, relays: bool) -> int:
    """The time that the links into (out of) a rank need for all its bytes, or those of all ranks for all bytes.

    Where no switch and no rank outside the group adds or copies (`relays`), all that leaves a rank comes into another
    one; and an all_reduce delivers more.
    `members` are the bounds of the members of each of the workload's calls.
    """
    into, out = np.zeros(topology.num_nodes, np.int64), np.zeros(topology.num_nodes, np.int64)
    np.add.at(into, workload.message_dst, workload.message_bytes)
    np.add.at(out, workload.message_src, workload.message_bytes)
    delivered = int(workload.message_bytes.sum())
    only_ranks = not topology.in_network and not relays
    for call, own, times in zip(workload.calls, members, np.bincount(workload.call_of).tolist(), strict=True):
        bytes_in, bytes_out = own.bytes_in, own.bytes_out
        into[call.members] += times * bytes_in
        out[call.members] += times * bytes_out
        delivered += only_ranks * times * max(int(bytes_in.sum()), int(bytes_out.sum()), _all_reduced(call))
    busy = (into > 0) | (out > 0)
    amounts = zip((into, out), ports(topology), strict=True)
    return max(_longest(amount, busy, delivered, bandwidth) for amount, (_, bandwidth) in amounts)


def _all_reduced(call: CollectiveCall) -> int:
    """Bytes that an all_reduce delivers: each chunk n-1 times to sum it up, n-1 times to spread it (lower_bound)."""
    collective = call.collective
    return 2 * (collective.num_ranks - 1) * collective.size_bytes if collective.kind is Kind.ALL_REDUCE else 0


def _longest(amount: NDArray[np.int64], busy: NDArray[np.bool_], delivered: int, bandwidth: NDArray[np.int64]) -> int:
    """Picoseconds, rounded up, for each busy rank's `amount` through its links of this `bandwidth`, or for all
    together."""
    loads = [delivered, *amount[busy].tolist()]
    rates = [int(bandwidth[busy].sum()), *bandwidth[busy].tolist()]
    times: list[int] = [
        -(-load * _PICOSECONDS_PER_SECOND // max(rate, 1)) for load, rate in zip(loads, rates, strict=True)
    ]
    return max(times)
