"""When a rank's collectives ran on its device, out of what the device tells later: each group's, in order.

A host only sees when it told its device of a call. The device tells when its stream came to the call, and to the wait
for it, and when that let it go on (lines `r`, `e` and `v` of the stream). The collectives of a group run one after the
other. So a call begins when its stream is ready and the one before it is over; it ends where an event stood behind it,
or where the stream waited until it went on. Of a call that was over before its stream came to the wait the end is not
known, nor the begin of the next where that was ready before.
"""

from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from hocket.recording.calls import GroupKey
from hocket.recording.stream_follower import Issued

__all__ = ["WAITED_NS", "DeviceCalls", "Settled"]

# A stream that went on later than this after it came to a wait, in ns, has waited: two events in a row are apart too.
WAITED_NS = 20_000
# What a device has not told so long after the issue, by the times of the stream, it will not tell.
_PATIENCE_NS = 30_000_000_000
_WAITING = 1 << 14  # calls of a group, of which the times are waited for
_UNBOUNDED = 2**62


class Settled(Protocol):
    """Is told of each collective, once, in the order of its group: when it began and ended, None where that is not
    known."""

    def __call__(self, identifier: int, call: Issued, times: tuple[int, int] | None) -> None: ...


@dataclass
class _Call:
    identifier: int
    issued: Issued
    t: int
    ready: int | None = None
    end: int | None = None
    over_by: int | None = None  # the end is not later, and that is all that is known of it

    @property
    def is_told(self) -> bool:
        return self.end is not None or self.over_by is not None


class _Group:
    """The collectives of a group whose times are not settled, in order."""

    def __init__(self, settled: Settled) -> None:
        self.waiting: deque[_Call] = deque()
        self._settled = settled
        self._over = 0  # the end of the last that is known
        self._over_by = 0  # one behind that was over by then, we do not know when

    def settle(self, is_late: Callable[[_Call], bool]) -> Sequence[int]:
        """Tells of those at the front whose times are known, or that are late; returns their numbers."""
        gone = []
        while self.waiting and (self.waiting[0].is_told or is_late(self.waiting[0])):
            call = self.waiting.popleft()
            gone.append(call.identifier)
            self._settled(call.identifier, call.issued, self._times(call))
        return gone

    def _times(self, call: _Call) -> tuple[int, int] | None:
        ready, end = call.ready, call.end
        if ready is None or end is None:
            self._over_by = max(self._over_by, _UNBOUNDED if call.over_by is None else call.over_by)
            return None
        is_sure = ready >= self._over_by
        begin = max(ready, self._over)
        self._over, self._over_by = max(self._over, end), 0
        return (begin, max(begin, end)) if is_sure else None


class DeviceCalls:
    """The collectives of one rank on its device that wait for their times; `settled` is told of each in the end."""

    def __init__(self, settled: Settled) -> None:
        self._settled = settled
        self._groups: dict[GroupKey, _Group] = {}
        self._calls: OrderedDict[int, _Call] = OrderedDict()
        # Calls that one wait is for are told in lines that follow each other: the wait, and their numbers.
        self._wait: tuple[int, int] = 0, 0
        self._waited: list[int] = []
        self._waited_before: list[int] = []

    def issued(self, identifier: int, call: Issued, t: int) -> None:
        """A collective was issued at `t`; gives up those that are late."""
        group = self._groups.get(call.group.key)
        if group is None:
            group = self._groups[call.group.key] = _Group(self._settled)
        self._calls[identifier] = _Call(identifier, call, t)
        group.waiting.append(self._calls[identifier])
        first = group.waiting[0]
        if len(group.waiting) > _WAITING or (t - first.t > _PATIENCE_NS and not first.is_told):
            self._settle(call.group.key, lambda late: len(group.waiting) > _WAITING or t - late.t > _PATIENCE_NS)

    def refused(self, identifier: int) -> None:
        """It never took place."""
        call = self._calls.pop(identifier, None)
        if call is not None:
            self._groups[call.issued.group.key].waiting.remove(call)

    def ready(self, identifier: int, t: int, end: int | None) -> None:
        """The stream came to a call at `t`, which ended there at `end`, where that was watched."""
        self._end_wait()
        call = self._calls.get(identifier)
        if call is not None:
            call.ready, call.end = t, end
            if end is not None:
                self._settle(call.issued.group.key)

    def waited(self, identifier: int, arrival: int, on: int) -> bool:
        """The stream came to the wait for a call and went on; whether this is another wait than the last line's."""
        is_new = (arrival, on) != self._wait
        if is_new:
            self._end_wait()
            self._wait = arrival, on
        self._waited.append(identifier)
        return is_new

    def looked(self) -> None:
        """A reader has come to the end of what there is: what it saw there the last time too is complete."""
        if self._waited and self._waited == self._waited_before:
            self._end_wait()
        self._waited_before = list(self._waited)

    def close(self) -> None:
        """The stream has ended: nothing more is told."""
        self._end_wait()
        for key in list(self._groups):
            self._settle(key, lambda call: True)

    def _end_wait(self) -> None:
        """All calls of a wait are known: in each group it ended with the last of them, the others were over by then."""
        (arrival, on), numbers, self._waited = self._wait, self._waited, []
        last: dict[GroupKey, list[_Call]] = defaultdict(list)
        for call in (self._calls.get(number) for number in numbers):
            if call is not None:
                last[call.issued.group.key].append(call)
        for key, calls in last.items():
            for call in calls:
                if call.end is None:
                    call.over_by = on
            only = len(last) == 1 and on - arrival > WAITED_NS
            final = max(calls, key=lambda call: call.identifier)
            if only and final.end is None:
                final.end, final.over_by = on, None
            self._settle(key)

    def _settle(self, key: GroupKey, is_late: Callable[[_Call], bool] = lambda call: False) -> None:
        for number in self._groups[key].settle(is_late):
            del self._calls[number]
