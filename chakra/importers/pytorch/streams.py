"""Which of a device's events wait for others on other streams."""

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Mapping, Sequence

from hocket.chakra.importers.pytorch.issues import Issue
from hocket.chakra.importers.pytorch.kineto import DeviceEvent, Kineto

__all__ = ["awaited", "dependencies"]

_SEARCHED = 64


def dependencies(
    kineto: Kineto, launch: Sequence[int], collectives: Mapping[int, Collection[Issue]]
) -> list[list[int]]:
    """For each event of the device, launched at `launch`, the indices of those on other streams it depends on.

    With synchronization events these are told. Without, a collective depends on the last other event launched before
    it, since PyTorch makes NCCL's stream wait for the current one; and where the host makes a stream wait outside of a
    collective's issue, the next event launched depends on the collectives issued before that nobody waits for yet.
    Only what was complete when an event began is taken: a dependency always holds in what was measured.
    """
    events = kineto.device
    found: list[list[int]] = [[] for _ in events]
    order = sorted(range(len(events)), key=lambda index: (launch[index], index))
    if kineto.waited:
        _told(events, kineto, launch, order, found)
    else:
        _inferred(events, kineto, launch, order, collectives, found)
    return found


def awaited(deps: Sequence[Sequence[int]], collectives: Collection[int]) -> set[int]:
    """The collectives that something on another stream depends on."""
    return {other for own in deps for other in own if other in collectives}


def _told(
    events: Sequence[DeviceEvent], kineto: Kineto, launch: Sequence[int], order: list[int], found: list[list[int]]
) -> None:
    """By the synchronization events: the next on the waiting stream depends on the last before the event's record."""
    by_stream: dict[int, list[int]] = {}
    for index in order:
        by_stream.setdefault(events[index].stream, []).append(index)
    for correlation, (stream, waited_stream, record) in sorted(kineto.waited.items()):
        if correlation not in kineto.launches or record not in kineto.launches:
            continue
        waiting, waited = by_stream.get(stream, []), by_stream.get(waited_stream, [])
        next_one = bisect_right(waiting, kineto.launches[correlation][0], key=launch.__getitem__)
        last = bisect_left(waited, kineto.launches[record][0], key=launch.__getitem__) - 1
        if next_one < len(waiting) and last >= 0 and events[waited[last]].end <= events[waiting[next_one]].start:
            found[waiting[next_one]].append(waited[last])


def _inferred(
    events: Sequence[DeviceEvent],
    kineto: Kineto,
    launch: Sequence[int],
    order: list[int],
    collectives: Mapping[int, Collection[Issue]],
    found: list[list[int]],
) -> None:
    spans = sorted((issue.event.start, issue.event.end) for issues in collectives.values() for issue in issues)
    waits = sorted(kineto.launches[at][0] for at in kineto.stream_waits if at in kineto.launches)
    outside = [time for time in waits if not _within(time, spans)]
    others: list[int] = []
    unawaited: list[int] = []
    wait = 0
    for index in order:
        event = events[index]
        if event.is_communication:
            recent = reversed(others[-_SEARCHED:])
            found[index] += [other for other in recent if events[other].end <= event.start][:1]
            unawaited += [index] if index in collectives else []
            continue
        others.append(index)
        if wait < len(outside) and outside[wait] < launch[index]:
            while wait < len(outside) and outside[wait] < launch[index]:
                wait += 1
            done = [
                other for other in unawaited if events[other].end <= event.start and launch[other] < outside[wait - 1]
            ]
            found[index] += done
            unawaited = [other for other in unawaited if other not in done]


def _within(time: int, spans: Sequence[tuple[int, int]]) -> bool:
    """Whether a time is in one of the spans, which are in order of start and of which few overlap."""
    last = bisect_right(spans, (time, 2**63))
    return any(end >= time for _, end in spans[max(0, last - 8) : last])
