"""Old traces made whole: collectives without type or size, dependencies on nodes that a filter removed.

MLCommons' converters of 2024 wrote the host's calls of c10d as collectives too, without type and size, beside the
kernels that do them; filters took nodes out and left what depended on them; and nodes came to depend on each other.
"""

import re
from collections import Counter
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from hocket._core import chakra as engine
from hocket.base.collectives import kind_called
from hocket.chakra.losses import REPAIRS, Loss, Lost, with_losses
from hocket.chakra.profiled import unsized
from hocket.chakra.trace import CollectiveType, NodeType, Trace

__all__ = ["kind_in_name", "repaired"]

_MOST_CYCLES = 1 << 16
_KIND = re.compile(
    r"all_?reduce|all_?gather|reduce_?scatter|all_?to_?all|broadcast|barrier|gather|scatter|reduce", re.IGNORECASE
)
_CALL = re.compile(r"c10d::|nccl:|gloo:|record_param_comms|nccl\w*Kernel_", re.IGNORECASE)
_FIELDS = ("data", "ctrl")


def repaired(trace: Trace) -> Trace:
    """The trace with what can be inferred of its nodes; its metadata count what was inferred and what was left out
    (REPAIRS), and the collectives that stay without size (LOSSES), which take their recorded time as communication of
    unknown size."""
    done: Counter[Loss] = Counter()
    lost: Counter[Loss] = Counter()
    trace = _without_cycles(_without_dangling(trace, done), done)
    trace = _with_collectives(trace, done, lost)
    metadata = with_losses(with_losses(trace.metadata, done, REPAIRS), lost)
    return replace(trace, metadata=metadata)


def kind_in_name(name: str) -> str:
    """The kind of collective that a node's name tells, such as c10d::allreduce_(0) or ncclKernel_Broadcast_RING_LL; ""
    where it does not."""
    told = _CALL.search(name)
    found = _KIND.search(name, told.end() if told else 0)
    return (kind_called(found[0]) or "") if found else ""


def _without_dangling(trace: Trace, done: Counter[Loss]) -> Trace:
    for field in _FIELDS:
        deps: NDArray[np.uint64] = getattr(trace, f"{field}_deps")
        keep = np.isin(deps, trace.id)
        loss = Loss(Lost.DEPENDENCY, f"{field}_deps", "on nodes that are not in the file: left out")
        done[loss] += int((~keep).sum())
        trace = _with_deps(trace, field, keep)
    return trace


def _without_cycles(trace: Trace, done: Counter[Loss]) -> Trace:
    """Leaves out what nodes of a cycle depend on in it behind them in the file, until there is none."""
    place = {int(node): row for row, node in enumerate(trace.id)}
    while True:
        *_, cycles = engine.find_dependency_faults(trace, _MOST_CYCLES)
        if not cycles:
            return trace
        of_cycle = np.full(len(trace), -1)
        for number, rows in enumerate(cycles):
            of_cycle[list(rows)] = number
        dropped = 0
        for field in _FIELDS:
            deps = np.array([place[int(node)] for node in getattr(trace, f"{field}_deps")], np.int64)
            owner = np.repeat(np.arange(len(trace)), np.diff(getattr(trace, f"{field}_offset")))
            behind = (of_cycle[owner] >= 0) & (of_cycle[owner] == of_cycle[deps]) & (deps >= owner)
            loss = Loss(Lost.DEPENDENCY, f"{field}_deps", "of nodes on themselves, directly or by others: left out")
            done[loss] += int(behind.sum())
            dropped += int(behind.sum())
            trace = _with_deps(trace, field, ~behind)
        if not dropped:  # no cycle is without a step back
            return trace


def _with_deps(trace: Trace, field: str, keep: NDArray[np.bool_]) -> Trace:
    offset = getattr(trace, f"{field}_offset")
    kept = np.concatenate([np.zeros(1, np.int64), np.cumsum(keep, dtype=np.int64)])
    return replace(trace, **{f"{field}_deps": getattr(trace, f"{field}_deps")[keep], f"{field}_offset": kept[offset]})


def _with_collectives(trace: Trace, done: Counter[Loss], lost: Counter[Loss]) -> Trace:
    is_collective = trace.type == NodeType.COMM_COLL
    comm_type, node_type, name = trace.comm_type.copy(), trace.type.copy(), trace.name.copy()
    comm_bytes = trace.comm_bytes.copy()
    strings = list(trace.strings)
    kernels = Counter(
        kind_in_name(strings[trace.name[row]]) for row in np.flatnonzero(is_collective & (trace.is_cpu_op == 0))
    )
    del kernels[""]  # of no kind that is known: they do nobody's call
    for row in np.flatnonzero(is_collective & ((comm_type == -1) | (trace.comm_bytes == -1))):
        kind = kind_in_name(strings[name[row]])
        if comm_type[row] == -1 and trace.comm_bytes[row] == -1 and trace.is_cpu_op[row] == 1 and kernels[kind]:
            kernels[kind] -= 1
            node_type[row] = NodeType.COMP
            done[Loss(Lost.COLLECTIVE, kind, "the host's call beside the kernel that does it: made computation")] += 1
            continue
        inferred = comm_type[row] == -1 and kind != ""
        if inferred:
            comm_type[row] = CollectiveType[kind.upper()]
        if comm_type[row] == CollectiveType.BARRIER:
            comm_bytes[row] = max(comm_bytes[row], 0)
        if comm_type[row] != -1 and comm_bytes[row] != -1:
            done[Loss(Lost.COLLECTIVE, kind, "its type, inferred from the node's name")] += int(inferred)
            continue
        missing = "type" if comm_type[row] == -1 else "size"
        lost[Loss(Lost.COLLECTIVE, kind, f"its {missing}, which the trace does not tell")] += 1
        node_type[row], comm_type[row], comm_bytes[row] = NodeType.COMP, -1, -1
        strings.append(unsized(strings[name[row]]))
        name[row] = len(strings) - 1
    return replace(trace, type=node_type, comm_type=comm_type, comm_bytes=comm_bytes, name=name, strings=tuple(strings))
