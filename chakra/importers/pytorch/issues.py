"""The collectives and messages that a host issued, each with all that the profiles tell of it."""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from hocket.base.collectives import kind_called
from hocket.chakra.importers.dtypes import common_dtype
from hocket.chakra.importers.pytorch.c10d import Described
from hocket.chakra.importers.pytorch.host import HostEvent, What

__all__ = ["Issue", "complete", "issues_of"]

_SEARCHED = 64


@dataclass(eq=False)
class Issue:
    """An operation from its issue on: `event` is the c10d call, or NCCL's record where that is all there is.
    `group` is a name, None while unknown; `spans` are the backend's; a functional one is waited for by wait_tensor.
    Where it is not `is_timed`, the execution trace alone tells of it, and its times are places there."""

    event: HostEvent
    described: Described
    group: str | None = None
    record: HostEvent | None = None
    spans: list[HostEvent] = field(default_factory=list)
    is_functional: bool = False
    is_timed: bool = True

    @property
    def is_direct(self) -> bool:
        """Whether a kernel of the operation's own communicates."""
        return self.event.what is What.DIRECT

    @property
    def is_gloo(self) -> bool:
        return any(span.name.startswith("gloo:") for span in self.spans)

    @property
    def end(self) -> int:
        """When it is complete, as far as the host's events tell."""
        return max([self.event.end, *(span.end for span in self.spans)])


def issues_of(events: Iterable[HostEvent]) -> list[Issue]:
    """What was issued, in order of issue."""
    issues: list[Issue] = []
    latest: dict[int, Issue] = {}  # by thread
    named: dict[int, str | None] = {}  # the group of a thread's functional operation whose call is still to come
    spans: list[HostEvent] = []
    for event in events:
        if event.what is What.FUNCTIONAL:
            named[event.thread] = event.group
        elif event.what is What.SPAN:
            spans.append(event)
        elif event.what is What.DIRECT and event.described is not None:
            issues.append(Issue(event, event.described))
        elif event.what is What.CALL and event.described is not None:
            is_functional = event.thread in named
            issue = Issue(event, event.described, named.pop(event.thread, None), is_functional=is_functional)
            issues.append(issue)
            latest[event.thread] = issue
        elif event.what is What.RECORD and event.described is not None:
            issued = latest.get(event.thread)
            if issued is None or issued.record is not None or event.start > issued.event.end > issued.event.start:
                issues.append(Issue(event, event.described, event.group, event))
            else:
                _record(issued, event, event.described)
    alone = _attach_by_number(_attach(spans, issues), issues)
    if alone:
        issues = sorted([*issues, *_of_spans(alone)], key=lambda issue: issue.event.order)
    for issue in issues:
        if issue.described.num_bytes < 0 and issue.spans:
            told = [span.described for span in issue.spans if span.described]
            sizes = [described.num_bytes for described in told]
            issue.described = replace(
                issue.described,
                num_bytes=sum(sizes) if min(sizes) >= 0 else -1,
                dtype=issue.described.dtype or common_dtype(described.dtype for described in told),
            )
    return issues


def complete(issue: Issue, record: HostEvent) -> None:
    """Adds what a kernel says of the operation that it does, where the host told no record, group or size."""
    described = record.described
    if described is None or described.kind != issue.described.kind:
        return
    if issue.record is None or issue.group is None or issue.described.num_bytes < 0:
        event = issue.record
        _record(issue, record, described)
        issue.record = event or record
    if issue.described.peer < 0 <= described.peer:
        issue.described = replace(issue.described, peer=described.peer)


def _record(issue: Issue, event: HostEvent, recorded: Described) -> None:
    """Adds NCCL's record of a call: it knows the group and the sizes, the call root, peer and whether it is async."""
    called = issue.described
    issue.record = event
    issue.group = event.group if event.group is not None else issue.group
    issue.described = replace(
        called,
        num_bytes=recorded.num_bytes if recorded.num_bytes >= 0 else called.num_bytes,
        dtype=called.dtype or recorded.dtype,
        in_splits=called.in_splits or recorded.in_splits,
        members=recorded.members or called.members,
        is_async=called.is_async if called.is_async is not None else recorded.is_async,
    )


def _attach(spans: Sequence[HostEvent], issues: Sequence[Issue]) -> list[HostEvent]:
    """Gives the backends' spans to the calls within which they begin; returns those that begin in none."""
    starts = [issue.event.start for issue in issues]
    alone = []
    for span in spans:
        last = bisect_right(starts, span.start)
        for issue in reversed(issues[max(0, last - _SEARCHED) : last]):
            if issue.event.end >= span.start and issue.event.end > issue.event.start:
                issue.spans.append(span)
                break
        else:
            alone.append(span)
    return alone


def _attach_by_number(spans: Sequence[HostEvent], issues: Sequence[Issue]) -> list[HostEvent]:
    """Gives gloo's spans that begin later than the call of theirs returned, on a worker thread, to the call that was
    numbered last before them, where it is of their kind; returns the others. PyTorch numbers record functions as they
    are made, and gloo makes that of a span within the call."""
    numbered = sorted((issue for issue in issues if issue.event.function), key=lambda issue: issue.event.function)
    numbers = [issue.event.function for issue in numbered]
    alone = []
    for span in spans:
        at = bisect_right(numbers, span.function) - 1
        kind = span.described.kind if span.described else ""
        if at >= 0 and span.name.startswith("gloo:") and kind in _kinds_of_spans(numbered[at].described.kind):
            numbered[at].spans.append(span)
        else:
            alone.append(span)
    return alone


def _kinds_of_spans(kind: str) -> tuple[str, ...]:
    """The kinds of operations that gloo makes one of."""
    return {"reduce_scatter": ("reduce_scatter", "all_reduce"), "barrier": ("barrier", "send", "recv")}.get(
        kind, (kind,)
    )


def _of_spans(spans: Iterable[HostEvent]) -> Iterator[Issue]:
    """What NCCL's spans alone tell of, as in profiles of PyTorch before 2.0, which have no calls of c10d. A span that
    begins within another of its thread is the same operation again, as an annotation."""
    until: dict[int, int] = {}
    for span in spans:
        if span.name.startswith("nccl:") and span.described is not None and kind_called(span.described.kind):
            if span.start >= until.get(span.thread, -1):
                yield Issue(span, span.described, record=span)
            until[span.thread] = max(span.end, until.get(span.thread, -1))
