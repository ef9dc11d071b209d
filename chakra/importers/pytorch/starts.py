"""Why each of a device's events began when it did: what it followed, and how long nothing else held it."""

from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heappop, heappush

from hocket.chakra.importers.pytorch.kineto import DeviceEvent

__all__ = ["Start", "starts_of"]

_SEARCHED = 64


@dataclass(frozen=True, slots=True)
class Start:
    """An event begins after the events `after` (indices) and, where its stream waits for the host, `idle` ns after the
    end of `idle_after`, of those the last to end and the one before on the stream; after the begin of the recording
    where there are none."""

    after: tuple[int, ...]
    idle: int
    idle_after: tuple[int, ...]


def starts_of(
    events: Sequence[DeviceEvent], launches: Sequence[int], deps: Sequence[Sequence[int]], begin: int
) -> list[Start]:
    """The start of each event, which come in order of start; `begin` is when the recording began.

    An event follows the one before it on its stream and those it depends on (`deps`). Where its stream was idle for
    longer, it also follows what on the device ended last before it began, if that was launched before it: the host, or
    a wait that no profile shows, let it run then. So every event begins in a replay of the recorded durations when it
    began in the recording, and streams that overlapped there overlap.
    """
    found: list[Start] = []
    tails: dict[int, int] = {}
    running: list[tuple[int, int]] = []  # end, index
    ended: list[int] = []  # in order of end
    for index, event in enumerate(events):
        while running and running[0][0] <= event.start:
            ended.append(heappop(running)[1])
        after = dict.fromkeys(deps[index])
        if event.stream in tails:
            after[tails[event.stream]] = None
        ready = max((events[other].end for other in after), default=begin)
        if ready < event.start:
            last = next((each for each in reversed(ended[-_SEARCHED:]) if launches[each] <= launches[index]), None)
            if last is not None and events[last].end > ready:
                after[last] = None
                ready = events[last].end
        idle_after = [other for other in after if events[other].end == ready or other == tails.get(event.stream)]
        found.append(Start(tuple(after), max(event.start - max(ready, begin), 0), tuple(idle_after)))
        tails[event.stream] = index
        heappush(running, (event.end, index))
    return found
