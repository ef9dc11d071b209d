"""What each rank does when a job's traces are issued again."""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from hocket.base.collectives import BARRIER
from hocket.base.errors import TraceError
from hocket.chakra import TraceSet
from hocket.chakra.validate import TraceSeverity, validate
from hocket.runtime.replay.elements import element_of
from hocket.runtime.replay.operation import RECEIVE, SEND, Operation, RankProgram
from hocket.runtime.replay.order import issue_order
from hocket.runtime.replay.streams import MAX_STREAMS, divide
from hocket.schedule import Kind
from hocket.simulator.traces import Hardware, workload_of
from hocket.simulator.workload import NodeKind, Workload

__all__ = ["ReplayPlan", "plan_replay"]

_COMMUNICATION = (NodeKind.COLLECTIVE, NodeKind.SEND, NodeKind.RECEIVE)


@dataclass(frozen=True, eq=False)
class ReplayPlan:
    """`groups` are the world ranks of each process group, ascending, in the order in which all ranks make them;
    `programs[r]` is rank r's. `workload` is the job as the simulator reads it, compute scaled."""

    workload: Workload
    groups: tuple[tuple[int, ...], ...]
    programs: tuple[RankProgram, ...]
    notes: tuple[str, ...]

    @property
    def num_ranks(self) -> int:
        return len(self.programs)


def plan_replay(
    traces: TraceSet, compute_scale: Fraction = Fraction(1), hardware: Hardware | None = None
) -> ReplayPlan:
    """The replay of a job's traces, computations `compute_scale` times as long; `hardware` prices those without a
    recorded duration.

    Raises TraceError for what `hocket trace validate` calls an error and for ranks that disagree (`workload_of`), and
    DeadlockError where no order of issue lets the job end.
    """
    errors = [finding.text for finding in validate(traces) if finding.severity is TraceSeverity.ERROR]
    if errors:
        more = f" (and {len(errors) - 1} more errors: hocket trace validate lists them)" if len(errors) > 1 else ""
        raise TraceError(f"{errors[0]}{more}")
    workload = workload_of(traces, 1, hardware or Hardware()).with_compute_scaled(compute_scale)
    orders, previous = issue_order(workload)
    operation_of = _operations(traces, workload)
    programs = tuple(_program(workload, order, previous.tolist(), operation_of) for order in orders)
    notes = workload.notes
    crowded = [rank for rank, program in enumerate(programs) if program.num_streams == MAX_STREAMS]
    if crowded:
        notes = (*notes, f"ranks {crowded} have {MAX_STREAMS} threads, which nodes may share that could run at a time")
    return ReplayPlan(workload, _groups(workload), programs, notes)


def _groups(workload: Workload) -> tuple[tuple[int, ...], ...]:
    """The ranks of each of `workload.groups`; all of them where nobody calls a collective."""
    members: list[tuple[int, ...]] = [()] * len(workload.groups)
    for call, group in zip(workload.call_of.tolist(), workload.group_of.tolist(), strict=True):
        members[group] = tuple(sorted(workload.calls[call].group))
    return tuple(members)


def _operations(traces: TraceSet, workload: Workload) -> Callable[[int], Operation | None]:
    """What a row of the workload communicates; None where it computes."""
    dtypes = [
        [trace.text(trace.dtype, row) for row in np.argsort(trace.id, kind="stable").tolist()]
        for trace in traces.traces
    ]
    rank_of, begins = workload.rank.tolist(), workload.rank_offset.tolist()
    tag_number = np.unique(workload.message_tag, return_inverse=True)[1].tolist()
    made: dict[tuple[object, ...], Operation] = {}

    def operation(row: int) -> Operation | None:
        kind, number = NodeKind(workload.kind[row]), int(workload.operand[row])
        if kind not in _COMMUNICATION:
            return None
        rank = rank_of[row]
        dtype = dtypes[rank][row - begins[rank]]
        if kind is NodeKind.COLLECTIVE:
            key: tuple[object, ...] = int(workload.call_of[number]), int(workload.group_of[number]), rank, dtype
            return made.get(key) or made.setdefault(key, _collective(workload, number, rank, dtype))
        source, destination = int(workload.message_src[number]), int(workload.message_dst[number])
        name, peer = (SEND, destination) if kind is NodeKind.SEND else (RECEIVE, source)
        blocks = (int(workload.message_bytes[number]),)
        message = Operation(name, element_of(dtype, blocks), blocks=blocks, peer=peer, tag=tag_number[number])
        return made.setdefault((rank, message), message)

    return operation


def _collective(workload: Workload, instance: int, rank: int, dtype: str) -> Operation:
    call = workload.calls[workload.call_of[instance]]
    members, size = np.argsort(call.group), len(call.group)
    if call.kind == BARRIER:
        blocks: tuple[int, ...] = ()
    elif Kind(call.kind).shares_buffer:
        blocks = (call.size_bytes,)
    else:
        of_members = np.array(call.collective.chunk_bytes)
        if Kind(call.kind).in_pairs:
            of_members = of_members.reshape(size, size)[members][:, members].ravel()
        else:
            of_members = of_members[members]
        blocks = tuple(of_members.tolist())
    group = sorted(call.group)
    return Operation(
        kind=call.kind,
        element=element_of(dtype, blocks),
        group=int(workload.group_of[instance]),
        group_size=size,
        position=group.index(rank),
        blocks=blocks,
        root=call.group[call.root],
    )


def _program(
    workload: Workload, order: list[int], previous: list[int], operation_of: Callable[[int], Operation | None]
) -> RankProgram:
    place = {row: at for at, row in enumerate(order)}
    offset, dependency = workload.dependency_offset, workload.dependency
    dependencies = [
        sorted({place[row] for row in dependency[offset[node] : offset[node + 1]].tolist()}) for node in order
    ]
    operations = [operation_of(row) for row in order]
    streams = divide(
        dependencies, [operation is None for operation in operations], [place.get(previous[row], -1) for row in order]
    )
    numbers: dict[Operation, int] = {}
    return RankProgram(
        row=order,
        label=[workload.describe(row) for row in order],
        duration_ps=[_duration_ps(workload, row) for row in order],
        operation=[-1 if each is None else numbers.setdefault(each, len(numbers)) for each in operations],
        operations=tuple(numbers),
        stream=streams.stream,
        waits=streams.waits,
        after=streams.after,
    )


def _duration_ps(workload: Workload, row: int) -> int:
    kind, operand = workload.kind[row], int(workload.operand[row])
    if kind == NodeKind.MEMORY:
        return int(workload.access_service_ps[operand] + workload.access_latency_ps[operand])
    return operand if kind in (NodeKind.COMPUTE, NodeKind.COMMUNICATION) else 0
