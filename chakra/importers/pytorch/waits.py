"""When a host's threads waited for what they had issued: told by the profiles, or inferred from times."""

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence

from hocket.chakra.importers.pytorch.host import HostEvent, What
from hocket.chakra.importers.pytorch.issues import Issue
from hocket.chakra.importers.pytorch.kineto import HostOperator
from hocket.chakra.importers.rank import LaneWait, Notes
from hocket.chakra.losses import Loss, Lost

__all__ = ["AUTOGRAD", "waits_of"]

AUTOGRAD = "autograd::engine::evaluate_function"


def waits_of(
    rank: int,
    events: Sequence[HostEvent],
    issues: Sequence[Issue],
    outermost: Mapping[int, Sequence[HostOperator]],
    notes: Notes,
) -> dict[Issue, LaneWait]:
    """The wait for each issue of the rank that has one. `outermost` are each thread's operations that are in no other.

    Told are those of synchronous calls, of functional collectives and, where there are times, of messages of gloo
    (their span ends where they were waited for). Of others, what autograd issued is taken to be awaited at the end of
    its pass, as DDP and FSDP do, and the rest where the thread is first idle until its completion, or before what it
    did after it.
    """
    waits = _told(events, issues)
    for issue in issues:
        if issue in waits:
            continue
        described, thread = issue.described, issue.event.thread
        is_message = described.kind in ("send", "recv")
        if described.is_async is False or issue.event.name == "c10d::monitored_barrier_":
            waits[issue] = LaneWait(thread, issue.event.start, issue.end)
            continue
        operations = outermost.get(thread, ())
        wait = _inferred(issue, operations, is_message)
        if wait is not None:
            waits[issue] = wait
            if not is_message:
                notes["waits for asynchronous collectives, inferred from times"] += 1
        else:
            loss = Loss(Lost.WAIT, described.kind, "nothing in the profile waits for it")
            notes.lose(rank, loss, "asynchronous operations that nothing in the profile waits for")
    return waits


def _told(events: Sequence[HostEvent], issues: Sequence[Issue]) -> dict[Issue, LaneWait]:
    """Waits by wait_tensor: for the latest call that wrote the tensor, or where no tensors are told the oldest; and of
    NCCL by its number."""
    waits: dict[Issue, LaneWait] = {}
    functional = [issue for issue in issues if issue.is_functional]
    orders = [issue.event.order for issue in functional]
    for event in events:
        if event.what is What.WAIT_TENSOR:
            open_issues = [issue for issue in functional[: bisect_left(orders, event.order)] if issue not in waits]
            if event.tensors:
                open_issues = [issue for issue in reversed(open_issues) if issue.event.tensors & event.tensors]
            if open_issues:
                waits[open_issues[0]] = LaneWait(event.thread, event.start, max(event.end, event.start))
        elif event.what is What.WAIT and event.sequence is not None:  # of NCCL, which numbers its operations
            numbered = (issue for issue in issues if issue.record and issue.record.sequence == event.sequence)
            issue = next((issue for issue in numbered if issue.event.order < event.order and issue not in waits), None)
            if issue is not None:
                waits[issue] = LaneWait(event.thread, event.start, max(event.end, event.start))
    return waits


def _inferred(issue: Issue, operations: Sequence[HostOperator], is_message: bool) -> LaneWait | None:
    thread, done = issue.event.thread, issue.end
    at = bisect_right(operations, issue.event.start, key=lambda operation: operation.start) - 1
    if (
        not is_message
        and at >= 0
        and operations[at].name.startswith(AUTOGRAD)
        and operations[at].end > issue.event.start
    ):
        while at + 1 < len(operations) and operations[at + 1].name.startswith(AUTOGRAD):
            at += 1
        return LaneWait(thread, operations[at].end, max(operations[at].end, done))
    last = bisect_right(operations, done, key=lambda operation: operation.start) - 1
    if not operations or (last + 1 == len(operations) and not is_message):
        return None
    begin = max(operations[last].end, issue.event.start) if last >= 0 else issue.event.start
    return LaneWait(thread, begin, max(begin, done))
