"""Takes in what the stream of one rank tells, for the metrics of its job."""

from collections import OrderedDict
from collections.abc import Sequence

from hocket.recording.metrics.covered import CoveredTime
from hocket.recording.metrics.device_calls import WAITED_NS, DeviceCalls
from hocket.recording.metrics.families import Histogram
from hocket.recording.metrics.meter import SECOND, Meter
from hocket.recording.stream_follower import Follower, Issued
from hocket.recording.stream_lines import ClockLine, Meta

__all__ = ["RankMeter"]

_LIMIT = 1 << 16  # calls that something is waited for of: memory must not grow with the job
_REPLAYS = 1 << 10  # of which the end is waited for


class RankMeter:
    """Listens to the stream of a rank that `follower` reads.

    Collectives on the CPU count by the host's times, those on devices by the device's, and nothing of theirs by the
    host's, which only sees when it told the device.
    """

    def __init__(self, meter: Meter, follower: Follower) -> None:
        self.steps = Histogram.empty()
        self.exposed_ns = self.missed = self.last_ns = self.untimed = self.timed = 0
        self.late = CoveredTime()
        self.under_way: dict[int, Issued] = {}
        self._waits: dict[int, Issued] = {}  # calls that no wait was seen of
        self._next = self._rank = 0
        self._meter, self._follower = meter, follower
        self._meta: Meta | None = None
        self._last_step: tuple[int, int] | None = None
        self._devices = DeviceCalls(self._settled)
        self._device_tells = self._on_device = False
        self._replays: OrderedDict[int, Sequence[Issued]] = OrderedDict()

    @property
    def knows_waits(self) -> bool:
        """Whether it can tell how long its threads and streams waited."""
        return self._device_tells or not self._on_device

    @property
    def knows_lateness(self) -> bool:
        """Whether it can tell how late it came to its collectives."""
        return self.timed > 0 or self.untimed == 0

    def looked(self) -> None:
        """All that there is of the stream has been read."""
        self._devices.looked()

    def began(self, meta: Meta) -> None:
        self._close_devices()
        self._meta, self._rank, self._next, self._last_step = meta, meta.rank, 0, None
        self.under_way.clear()
        self._waits.clear()
        self._device_tells = False
        self._meter.begin(meta, self)

    def issued(self, identifier: int, call: Issued, t: int) -> None:
        self.missed += max(0, identifier - self._next)
        self._next = identifier + 1
        self.last_ns = self._follower.last_t
        self._meter.count(call)
        if len(self.under_way) >= _LIMIT:
            self.under_way.clear()
        if len(self._waits) >= _LIMIT:
            self._waits.clear()
        self.under_way[identifier] = self._waits[identifier] = call
        if call.on_device:
            self._on_device = True
        if call.is_message:
            return
        if call.on_device:
            self._devices.issued(identifier, call, t)
        else:
            self._meter.started(self._rank, call, t)

    def refused(self, identifier: int) -> None:
        self.under_way.pop(identifier, None)
        self._waits.pop(identifier, None)
        self._devices.refused(identifier)

    def ended(self, identifier: int, t: int) -> None:
        call = self.under_way.get(identifier)
        if call is None or (call.on_device and not call.is_message and self._device_tells):
            return
        del self.under_way[identifier]
        if not call.is_message and not call.on_device:
            self._meter.completed(self._rank, call, t)

    def waited(self, identifier: int, begin: int, duration: int) -> None:
        call = self._waits.get(identifier)
        if call is not None and not call.on_device:
            del self._waits[identifier]
            self._exposed(call, duration)

    def device_came(self, identifier: int, t: int, end: int | None) -> None:
        self._device_tells = True
        call = self._waits.get(identifier)
        if call is not None and end is not None and not call.is_async:  # its stream waited for it, with no other word
            self._exposed(self._waits.pop(identifier), max(0, end - t))
        self._devices.ready(identifier, t, end)

    def device_waited(self, identifier: int, arrival: int, on: int) -> None:
        self._device_tells = True
        call = self._waits.pop(identifier, None)
        is_new = self._devices.waited(identifier, arrival, on)
        if call is not None and is_new and on - arrival > WAITED_NS:
            self._exposed(call, on - arrival)

    def replayed(self, number: int, calls: Sequence[Issued]) -> None:
        self.last_ns = self._follower.last_t
        for call in calls:
            self._meter.count(call)
        self._replays[number] = calls
        if len(self._replays) > _REPLAYS:
            self._replay_over(next(iter(self._replays)))

    def replay_told(self, number: int, begin: int, end: int) -> None:
        self._replay_over(number)

    def step_ended(self, number: int, t: int) -> None:
        if self._last_step is not None and self._last_step[0] == number - 1:  # else a window of steps has begun
            self.steps.add((t - self._last_step[1]) / SECOND)
        self._last_step = number, t

    def clock_measured(self, line: ClockLine) -> None:
        if self._meta is not None:
            self._meter.clock.measured(self._meta.boot, line)

    def closed(self) -> None:
        self._close_devices()

    def _close_devices(self) -> None:
        self._devices.close()
        for number in list(self._replays):
            self._replay_over(number)

    def _replay_over(self, number: int) -> None:
        """Of a replay's calls nothing tells when each ran."""
        for call in self._replays.pop(number, ()):
            if not call.is_message:
                self.untimed += 1
                self._meter.untimed(self._rank, call)

    def _settled(self, identifier: int, call: Issued, times: tuple[int, int] | None) -> None:
        self.under_way.pop(identifier, None)
        if times is None:
            self.untimed += 1
            self._meter.untimed(self._rank, call)
            return
        self.timed += 1
        begin, end = times
        self._meter.started(self._rank, call, begin)
        self._meter.completed(self._rank, call, end)

    def _exposed(self, call: Issued, duration: int) -> None:
        self._meter.exposed(call, duration)
        self.exposed_ns += duration
