"""The trace of a rank that computes on the host: its threads' operators, its calls and its waits."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from hocket.chakra.importers.lanes import LaneStep, Operator, build_lanes
from hocket.chakra.importers.pytorch.calls import PROFILES, Untold, calls_of
from hocket.chakra.importers.pytorch.host import HostEvent
from hocket.chakra.importers.pytorch.issues import Issue
from hocket.chakra.importers.pytorch.kineto import HostOperator, Kineto
from hocket.chakra.importers.pytorch.waits import AUTOGRAD, waits_of
from hocket.chakra.importers.pytorch.work import OperatorWork
from hocket.chakra.importers.rank import IssuedCall, Notes
from hocket.chakra.profiled import HOST
from hocket.chakra.trace import Trace

__all__ = ["host_trace", "operators", "roots"]

_COMMUNICATION = ("c10d::", "_c10d_functional::", "record_param_comms", "gloo:", "nccl:")


def host_trace(
    rank: int,
    kineto: Kineto,
    events: Sequence[HostEvent],
    issues: Sequence[Issue],
    groups: Mapping[str, tuple[int, ...]],
    notes: Notes,
    untold: Untold = PROFILES,
) -> Trace:
    """The trace of a rank whose profile has no device."""
    threads = {issue.event.thread for issue in issues} or _busiest(kineto.operations)
    by_thread: dict[int, list[HostOperator]] = defaultdict(list)
    for operation in kineto.operations:
        if operation.thread in threads:
            by_thread[operation.thread].append(operation)
    items: list[Operator | IssuedCall | LaneStep] = [LaneStep(number, start) for start, number in sorted(kineto.steps)]
    outermost: dict[int, list[HostOperator]] = {}
    for thread, operations in sorted(by_thread.items()):
        operations.sort(key=lambda operation: (operation.start, -operation.end))
        outermost[thread] = list(roots(operations))
        items += operators(operations)
    items += calls_of(rank, issues, groups, waits_of(rank, events, issues, outermost, notes), notes, untold)
    return build_lanes(rank, items, HOST, {"generator": "PyTorch profiler"})


def _busiest(operations: Sequence[HostOperator]) -> set[int]:
    time: dict[int, int] = defaultdict(int)
    for operation in operations:
        time[operation.thread] += operation.end - operation.start
    return {max(time, key=lambda thread: time[thread])} if time else set()


def roots(operations: Sequence[HostOperator]) -> Iterator[HostOperator]:
    """The operations of a thread, annotations aside, that are in no other."""
    until = -1
    for operation in operations:
        if not operation.is_annotation and operation.start >= until:
            until = operation.end
            yield operation


@dataclass
class _Open:
    """An operation whose end is still to come, and whether others lie within it, and communication."""

    operation: HostOperator
    communicates: bool
    children: list["_Open"]


def operators(operations: Sequence[HostOperator]) -> Iterator[Operator]:
    """The outermost operators of a thread that neither communicate nor only hold others together, as autograd's
    functions, modules and annotations do. `operations` are in order of start, the longer first."""
    top: list[_Open] = []
    stack: list[_Open] = []
    for operation in operations:
        while stack and stack[-1].operation.end <= operation.start:
            stack.pop()
        found = _Open(operation, operation.name.startswith(_COMMUNICATION), [])
        (stack[-1].children if stack else top).append(found)
        if found.communicates:
            for above in stack:
                above.communicates = True
        stack.append(found)
    yield from _chosen(top)


def _chosen(found: Sequence[_Open]) -> Iterator[Operator]:
    waiting = list(reversed(found))
    until = -1
    while waiting:
        current = waiting.pop()
        operation = current.operation
        if operation.name.startswith(_COMMUNICATION):
            continue
        holds = current.communicates or operation.is_annotation or not _is_operator(operation.name)
        if holds and current.children:
            waiting.extend(reversed(current.children))
        elif not holds or not (operation.is_annotation or current.communicates):
            start = max(operation.start, until)
            until = max(until, operation.end)
            work = _work(current)
            num_ops, num_bytes = (-1, -1) if work is None else work
            yield Operator(operation.name, start, max(operation.end, start), operation.thread, num_ops, num_bytes)


def _work(found: _Open) -> OperatorWork | None:
    """The work of the innermost operators that have one: outer ones of DTensors have the shapes of all ranks' parts."""
    below = [work for child in found.children if (work := _work(child)) is not None]
    if not below:
        return found.operation.work
    return OperatorWork(sum(work.num_ops for work in below), sum(work.num_bytes for work in below))


def _is_operator(name: str) -> bool:
    return "::" in name and not name.startswith((AUTOGRAD, "torch::autograd::"))
