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
    replicas = workload.replicas
    node = np.arange(topology.num_nodes) if replicas is None else replicas.rank
    stands_for = np.ones(len(node), np.int64) if replicas is None else replicas.counts
    into, out = np.zeros(len(node), np.int64), np.zeros(len(node), np.int64)
    source = workload.rows_of(workload.message_src)
    np.add.at(into, workload.rows_of(workload.message_dst), workload.message_bytes)
    np.add.at(out, source, workload.message_bytes)
    delivered = int((workload.message_bytes * stands_for[source]).sum())
    only_ranks = not topology.in_network and not relays
    copies = np.ones(len(workload.calls), np.int64) if replicas is None else replicas.copies
    times = np.bincount(workload.call_of, minlength=len(copies)).tolist()
    for at, (call, own) in enumerate(zip(workload.calls, members, strict=True)):
        rows = call.members if replicas is None else np.unique(workload.rows_of(call.members))
        into[rows] += times[at] * own.bytes_in
        out[rows] += times[at] * own.bytes_out
        each = slice(None) if replicas is None else replicas.members[at]
        moved = max(int(own.bytes_in[each].sum()), int(own.bytes_out[each].sum()), _all_reduced(call))
        delivered += only_ranks * times[at] * int(copies[at]) * moved
    busy = (into > 0) | (out > 0)
    amounts = zip((into, out), ports(topology), strict=True)
    return max(_longest(amount, busy, delivered, bandwidth[node], stands_for) for amount, (_, bandwidth) in amounts)


def _all_reduced(call: CollectiveCall) -> int:
    """Bytes that an all_reduce delivers: each chunk n-1 times to sum it up, n-1 times to spread it (lower_bound)."""
    collective = call.collective
    return 2 * (collective.num_ranks - 1) * collective.size_bytes if collective.kind is Kind.ALL_REDUCE else 0


def _longest(
    amount: NDArray[np.int64],
    busy: NDArray[np.bool_],
    delivered: int,
    bandwidth: NDArray[np.int64],
    stands_for: NDArray[np.int64],
) -> int:
    """Picoseconds, rounded up, for each busy rank's `amount` through its links of this `bandwidth`, or for all
    together, of which each rank stands for some."""
    loads = [delivered, *amount[busy].tolist()]
    rates = [int((bandwidth * stands_for)[busy].sum()), *bandwidth[busy].tolist()]
    times: list[int] = [
        -(-load * _PICOSECONDS_PER_SECOND // max(rate, 1)) for load, rate in zip(loads, rates, strict=True)
    ]
    return max(times)
