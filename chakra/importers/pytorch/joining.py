"""A rank's execution trace and Kineto's timeline, joined: which of their events are one."""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from hocket.chakra.importers.pytorch.execution_trace import ExecutionTrace
from hocket.chakra.importers.pytorch.host import HostEvent, What
from hocket.chakra.importers.pytorch.kineto import Kineto
from hocket.chakra.importers.rank import Notes
from hocket.chakra.losses import Loss, Lost

__all__ = ["JoinedEvents", "joined"]


@dataclass(frozen=True)
class JoinedEvents:
    """What a host did in order: `events` with Kineto's times and the execution trace's arguments; `untimed` are calls
    that the execution trace alone tells, in a timeline that lacks them, by their places there."""

    events: Sequence[HostEvent]
    untimed: Sequence[HostEvent] = ()


def joined(rank: int, trace: ExecutionTrace | None, kineto: Kineto | None, notes: Notes) -> JoinedEvents:
    """Joins by record function id; what has none, as before PyTorch 2.1, in order, where both files have as many events
    of a name. Calls that only the execution trace has get a time from the ones about them, where the timeline has
    their time, and are `untimed` where it has no host or no ids at all."""
    if kineto is None or trace is None:
        return JoinedEvents(list(trace.events) if trace else list(kineto.events) if kineto else [])
    told = {event.function: event for event in trace.events if event.function}
    partners: dict[int, HostEvent] = {}
    for at, event in enumerate(kineto.events):
        other = told.pop(event.function, None)
        if other is not None and other.what is event.what:
            partners[at] = other
    matched = {other.order for other in partners.values()}
    left = [event for event in trace.events if event.order not in matched]
    if kineto.functions is None:
        partners |= _in_order(kineto.events, [at for at in range(len(kineto.events)) if at not in partners], left)
    events = [_merged(event, partners.get(at)) for at, event in enumerate(kineto.events)]
    records = _records_of_calls(trace.events, {other.order: events[at] for at, other in partners.items()})
    matched = {other.order for other in partners.values()} | records.keys()
    lost = [event for event in left if event.order not in matched]
    joint = _with_lost(rank, events, partners, lost, kineto, notes)
    ordered = sorted([*joint.events, *records.values()], key=lambda event: (event.start, -event.end))
    return replace(joint, events=ordered) if records else joint


def _records_of_calls(told: Sequence[HostEvent], timed: Mapping[int, HostEvent]) -> dict[int, HostEvent]:
    """NCCL's records that the timeline lacks, at the times of the calls that made them, by their order in the execution
    trace; `timed` are the events of the timeline by their order there."""
    return {
        record.order: replace(
            record, order=call.start, thread=call.thread, start=call.start, end=call.end, external=call.external
        )
        for before, record in pairwise(told)
        if record.what is What.RECORD and record.order not in timed and before.what is What.CALL
        if (call := timed.get(before.order)) is not None
    }


def _merged(event: HostEvent, other: HostEvent | None) -> HostEvent:
    if other is None:
        return event
    described, own = other.described, event.described
    if described is not None and own is not None and described.num_bytes < 0 <= own.num_bytes:
        described = replace(described, num_bytes=own.num_bytes, dtype=described.dtype or own.dtype)
    return replace(
        event,
        described=described if described is not None else own,
        group=other.group if other.group is not None else event.group,
        sequence=other.sequence if other.sequence is not None else event.sequence,
        tensors=other.tensors,
    )


def _in_order(events: Sequence[HostEvent], places: Sequence[int], others: Sequence[HostEvent]) -> dict[int, HostEvent]:
    """The k-th event of a name is the k-th of the other file, where both have as many."""
    ours: dict[tuple[What, str], list[int]] = defaultdict(list)
    theirs: dict[tuple[What, str], list[HostEvent]] = defaultdict(list)
    for at in places:
        ours[_name(events[at])].append(at)
    for other in others:
        theirs[_name(other)].append(other)
    found: dict[int, HostEvent] = {}
    for name, own in ours.items():
        if len(own) == len(theirs[name]):
            found |= dict(zip(own, theirs[name], strict=True))
    return found


def _name(event: HostEvent) -> tuple[What, str]:
    """What tells an event from others: records of NCCL are called by the operation."""
    kind = event.described.kind if event.what is What.RECORD and event.described else event.name
    return event.what, "" if event.what is What.WAIT else kind


def _with_lost(
    rank: int,
    events: list[HostEvent],
    partners: dict[int, HostEvent],
    lost: Sequence[HostEvent],
    kineto: Kineto,
    notes: Notes,
) -> JoinedEvents:
    lost = [event for event in lost if event.what in (What.CALL, What.RECORD, What.FUNCTIONAL)]
    calls = [event for event in lost if event.what is not What.FUNCTIONAL]
    if not calls:
        return JoinedEvents(events)
    if not partners or kineto.functions is None:
        return JoinedEvents(events, lost)
    first, last = kineto.functions
    outside = [event for event in calls if not first <= event.function <= last]
    if outside:
        loss = Loss(Lost.NODE, "call", "of the execution trace before or after Kineto's profile")
        notes.lose(rank, loss, "calls of the execution trace before or after Kineto's profile: left out", len(outside))
    inside = [event for event in lost if first <= event.function <= last]
    if inside:
        notes["calls that Kineto's profile lacks: at the time of the one before in the execution trace"] += sum(
            event.what is not What.FUNCTIONAL for event in inside
        )
    known = sorted((other.order, at) for at, other in partners.items())
    for event in inside:
        place = bisect_left(known, (event.order, -1)) - 1
        before = events[known[max(place, 0)][1]]
        time = before.end if place >= 0 else before.start
        events.append(replace(event, order=time, thread=before.thread, start=time, end=time))
    events.sort(key=lambda event: (event.start, -event.end))
    return JoinedEvents(events)
