"""How long the nodes take that do not communicate: as recorded, else by a roofline of the accelerator or its memory."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hocket._core.schedule import HORIZON_PS
from hocket.chakra import NodeType
from hocket.simulator.memory import RemoteMemory
from hocket.simulator.traces.nodes import Nodes
from hocket.simulator.traces.pricing import TimesOf, described, differing, origins_of, rescaled_ps
from hocket.workload.accelerators import Accelerator, Precision

__all__ = ["Accesses", "Computations", "Hardware", "computations", "memory_accesses"]

_PICOSECONDS_PER_NANOSECOND = 1000
_PICOSECONDS_PER_SECOND = 10**12


@dataclass(frozen=True)
class Hardware:
    """What prices nodes without a recorded duration: computations and local memory by `accelerator`, else by that of
    the `machine`, memory nodes by `remote_memory` if there is one. With `reprices` computations are priced though
    recorded."""

    accelerator: Accelerator | None = None
    remote_memory: RemoteMemory | None = None
    reprices: bool = False
    machine: Accelerator | None = None

    @property
    def pricing(self) -> Accelerator | None:
        return self.accelerator or self.machine


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
    """Nodes that compute: for the recorded duration or, where there is none, by the accelerator's roofline.

    Repriced are those of known operations by the roofline alone; where the traces say which accelerator their times are
    of, all of known operations or bytes, by both rooflines. Raises TraceError for durations that are negative or beyond
    the horizon, and FormatError for a precision that the accelerator lacks.
    """
    rows = np.flatnonzero(nodes.type == NodeType.COMP)
    duration = _recorded_ps(nodes, rows)
    num_ops, num_bytes = (np.maximum(nodes.column(name)[rows], 0) for name in ("num_ops", "tensor_bytes"))
    on_gpu = nodes.column("is_cpu_op")[rows] != 1
    is_work = on_gpu & ((num_ops > 0) | (num_bytes > 0))
    recorded = duration > 0
    accelerator = hardware.pricing
    if accelerator is None:
        if free := nodes.count(rows[is_work & ~recorded]):
            note = f"{free} computations have operations or bytes but no duration and take no time"
            return Computations(rows, duration, (f"{note}; name an accelerator, such as --accelerator h100",))
        return Computations(rows, duration, ())
    origins, number_of = origins_of(nodes.traces.traces)
    origin = number_of[nodes.trace[rows]]
    priced = np.zeros(len(rows), np.bool_)
    for number, of in enumerate(origins):
        here = is_work & (origin == number)
        plain, scaled = here & ~recorded, here & recorded & hardware.reprices
        if of.accelerator is None:
            plain, scaled = plain | (scaled & (num_ops > 0)), np.zeros_like(scaled)
        else:
            times = rescaled_ps(duration[scaled], num_ops[scaled], num_bytes[scaled], of, accelerator)
            duration[scaled] = _within_horizon(nodes, rows[scaled], times)
        work = num_ops[plain], num_bytes[plain]
        duration[plain] = _priced_ps(nodes, rows[plain], *work, accelerator, of.precision_on(accelerator))
        priced |= plain | scaled
    timed = on_gpu & recorded & ~priced
    found = [origins[number] for number in np.unique(origin[timed]).tolist()]
    kept = nodes.count(rows[timed])
    return Computations(rows, duration, tuple(_notes(hardware, accelerator, found, kept, bool(priced.any()))))


def _notes(
    hardware: Hardware, accelerator: Accelerator, origins: list[TimesOf], num_timed: int, prices: bool
) -> Iterator[str]:
    """Where computation is of another accelerator than asked for, or than the machine's; `origins` are of the
    `num_timed` computations that keep their durations."""
    machine, by_name = hardware.machine, hardware.accelerator is not None
    if by_name and machine is not None and prices and accelerator.name != machine.name:
        yield f"computation is priced as {accelerator.spec}, as --accelerator says, and this is {machine.name}"
    if machine is not None and prices and not by_name and not hardware.reprices:
        priced_as = f"computation without a duration is priced as {accelerator.spec}, the machine's"
        yield f"{priced_as}; --accelerator says otherwise"
    if hardware.reprices:
        if num_timed:
            yield f"{num_timed} computations keep their recorded durations: their operations are not known"
    elif others := list(differing(origins, accelerator, by_name)):
        what = (
            f"--accelerator {accelerator.spec} prices nothing that has a duration"
            if by_name
            else f"this is {accelerator.name}"
        )
        yield f"computation {described(others)}, and {what}: --reprice prices it as {accelerator.spec}"
    elif by_name and num_timed and not prices and not all(origin.name for origin in origins):
        yield (
            f"--accelerator {accelerator.spec} prices nothing: all computations have recorded durations; --reprice"
            " prices those of known operations"
        )


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
    elif hardware.pricing is not None:
        no_ops = np.zeros_like(num_bytes)
        service[priced] = _priced_ps(nodes, rows[priced], no_ops, num_bytes, hardware.pricing)
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
    precision: Precision | None = None,
) -> NDArray[np.int64]:
    precision = precision or TimesOf().precision_on(accelerator)
    longest = [int(amount.argmax()) for amount in (num_ops, num_bytes) if len(amount)]
    times = np.array([accelerator.time_ps(int(num_ops[at]), int(num_bytes[at]), precision) for at in longest], object)
    _within_horizon(nodes, rows[longest], times)
    return accelerator.times_ps(num_ops, num_bytes, precision)


def _within_horizon(nodes: Nodes, rows: NDArray[np.int64], times: NDArray[np.object_]) -> NDArray[np.int64]:
    nodes.require(
        (times <= HORIZON_PS).astype(np.bool_),
        rows,
        lambda at: "takes more than 26 days: check its size and the speeds",
    )
    return times.astype(np.int64)
