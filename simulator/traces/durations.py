"""How long the nodes take that do not communicate: as recorded, else by a roofline of the accelerator or its memory."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hocket._core.schedule import HORIZON_PS
from hocket.chakra import NodeType
from hocket.simulator.memory import RemoteMemory
from hocket.simulator.traces.nodes import Nodes
from hocket.workload.accelerators import Accelerator

__all__ = ["Accesses", "Computations", "Hardware", "computations", "memory_accesses"]

_PICOSECONDS_PER_NANOSECOND = 1000
_PICOSECONDS_PER_SECOND = 10**12


@dataclass(frozen=True)
class Hardware:
    """What prices nodes without a recorded duration: computations and local memory by `accelerator`, memory nodes by
    `remote_memory` if there is one. With `reprices` computations of known operations are priced though recorded."""

    accelerator: Accelerator | None = None
    remote_memory: RemoteMemory | None = None
    reprices: bool = False


@dataclass(frozen=True, eq=False)
class Computations:
    """Nodes `rows` compute for `duration_ps` (int64)."""

    rows: NDArray[np.int64]
    duration_ps: NDArray[np.int64]
    notes: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Accesses:
    """Memory accesses of nodes `rows`; the other columns are those of `Workload`."""

    rows: NDArray[np.int64]
    memory: NDArray[np.int32]
    service_ps: NDArray[np.int64]
    latency_ps: NDArray[np.int64]


def computations(nodes: Nodes, hardware: Hardware) -> Computations:
    """Nodes that compute: for the recorded duration or, where there is none or it is repriced, by the accelerator's
    roofline.

    Raises TraceError for durations that are negative or beyond the horizon.
    """
    rows = np.flatnonzero(nodes.type == NodeType.COMP)
    duration = _recorded_ps(nodes, rows)
    num_ops, num_bytes = (np.maximum(nodes.column(name)[rows], 0) for name in ("num_ops", "tensor_bytes"))
    priced = (duration == 0) | (hardware.reprices & (num_ops > 0))
    work = priced & (nodes.column("is_cpu_op")[rows] != 1) & ((num_ops > 0) | (num_bytes > 0))
    if hardware.accelerator is not None:
        duration[work] = _priced_ps(nodes, rows[work], num_ops[work], num_bytes[work], hardware.accelerator)
    elif work.any():
        note = f"{int(work.sum())} computations have operations or bytes but no duration and take no time"
        return Computations(rows, duration, (f"{note}; name an accelerator, such as --accelerator h100",))
    return Computations(rows, duration, ())


def memory_accesses(nodes: Nodes, hardware: Hardware) -> Accesses:
    """Nodes that read or write memory, and what that takes: the recorded duration or, where there is none, their bytes
    over the remote memory's bandwidth behind its latency, or over the accelerator's memory bandwidth.

    Raises TraceError for a node without bytes, or that needs a description of the memory when there is none.
    """
    rows = np.flatnonzero((nodes.type == NodeType.MEM_LOAD) | (nodes.type == NodeType.MEM_STORE))
    service = _recorded_ps(nodes, rows)
    latency = np.zeros(len(rows), np.int64)
    memory = nodes.rank[rows]
    priced = service == 0
    num_bytes = nodes.required(rows[priced], "tensor_bytes", "tensor_size")
    remote = hardware.remote_memory
    if remote is not None:
        memory = memory // remote.ranks if remote.ranks else np.zeros_like(memory)
        scaled = num_bytes.astype(object) * _PICOSECONDS_PER_SECOND
        service[priced] = _within_horizon(nodes, rows[priced], -(-scaled // remote.bandwidth))
        latency[priced] = remote.latency_ps
    elif hardware.accelerator is not None:
        no_ops = np.zeros_like(num_bytes)
        service[priced] = _priced_ps(nodes, rows[priced], no_ops, num_bytes, hardware.accelerator)
    else:
        nodes.require(
            ~priced,
            rows,
            lambda at: (
                f"a {NodeType(nodes.type[rows[at]]).name} node without a duration needs a memory: describe it by"
                " --remote-memory latency=1us,bandwidth=100GB/s, or --accelerator h100"
            ),
        )
    return Accesses(rows, memory.astype(np.int32), service, latency)


def _recorded_ps(nodes: Nodes, rows: NDArray[np.int64]) -> NDArray[np.int64]:
    recorded = nodes.column("duration_ns")[rows]
    nodes.require(
        (recorded >= 0) & (recorded <= HORIZON_PS // _PICOSECONDS_PER_NANOSECOND),
        rows,
        lambda at: f"a duration of {recorded[at]} ns is not between 0 and 26 days",
    )
    result: NDArray[np.int64] = recorded * _PICOSECONDS_PER_NANOSECOND
    return result


def _priced_ps(
    nodes: Nodes,
    rows: NDArray[np.int64],
    num_ops: NDArray[np.int64],
    num_bytes: NDArray[np.int64],
    accelerator: Accelerator,
) -> NDArray[np.int64]:
    longest = [int(amount.argmax()) for amount in (num_ops, num_bytes) if len(amount)]
    times = np.array([accelerator.time_ps(int(num_ops[at]), int(num_bytes[at])) for at in longest], object)
    _within_horizon(nodes, rows[longest], times)
    return accelerator.times_ps(num_ops, num_bytes)


def _within_horizon(nodes: Nodes, rows: NDArray[np.int64], times: NDArray[np.object_]) -> NDArray[np.int64]:
    nodes.require(
        (times <= HORIZON_PS).astype(np.bool_),
        rows,
        lambda at: "takes more than 26 days: check its size and the speeds",
    )
    return times.astype(np.int64)
