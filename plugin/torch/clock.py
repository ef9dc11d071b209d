"""Offsets between the ranks' clocks, measured by ping-pongs with rank 0 over the job's store.

A rank takes a ticket, then plays PINGS rounds: it posts a ping, rank 0 answers with its time. The round with the
shortest round trip gives the offset, wrong by at most half of that trip (Cristian's algorithm).
"""

import itertools
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from typing import NamedTuple

import torch.distributed as dist

__all__ = ["ClockServer", "Offset", "OffsetMeter", "measure_offset", "read_clocks"]

PINGS = 20
_READINGS = 10
_STOP = "stop"
_FOREVER = timedelta(days=365)
_NEXT_PING = timedelta(seconds=1)
_AT_END = 3  # seconds


class Offset(NamedTuple):
    """At time `t` of this rank's clock, rank 0's showed `t + offset`, give or take `round_trip / 2` (nanoseconds)."""

    t: int
    offset: int
    round_trip: int


def read_clocks() -> tuple[int, int]:
    """The wall clock and the performance counter at one time, in ns: of several readings the quickest."""
    readings = []
    for _ in range(_READINGS):
        begin, wall, end = time.perf_counter_ns(), time.time_ns(), time.perf_counter_ns()
        readings.append((end - begin, wall, (begin + end) // 2))
    _, wall, perf = min(readings)
    return wall, perf


def measure_offset(store: dist.Store, patience: timedelta) -> Offset | None:
    """Plays the ping-pongs with rank 0's ClockServer. Raises DistError when it has not begun to answer in time."""
    return _play(store, store.add("hocket/ticket", 1), patience)


def _play(store: dist.Store, ticket: int, patience: timedelta) -> Offset | None:
    """None when OffsetMeter.stop came in between."""
    rounds = []
    for ping in range(PINGS):
        pong = _pong(ticket, ping)
        begin = time.perf_counter_ns()
        store.set(f"hocket/ping/{ticket}/{ping}", "")
        store.wait([pong], patience)
        end = time.perf_counter_ns()
        answer = store.get(pong)
        if answer == _STOP.encode():
            return None
        rounds.append(Offset(end, int(answer) - (begin + end) // 2, end - begin))
    return min(rounds, key=lambda offset: offset.round_trip)


def _pong(ticket: int, ping: int) -> str:
    return f"hocket/pong/{ticket}/{ping}"


class OffsetMeter:
    """The other ranks' side: a thread that measures once, when rank 0 begins to answer, which may be late.

    Neither this thread nor ClockServer's may be blocked in the store when the interpreter ends: it would be ended
    within C++, and the process with it.
    """

    def __init__(self, store: dist.Store, report: Callable[[Offset], None]) -> None:
        self._ticket = store.add("hocket/ticket", 1)
        self._thread = threading.Thread(target=self._measure, args=(store, report), name="hocket-clock", daemon=True)
        self._thread.start()

    def stop(self, store: dist.Store) -> None:
        """Ends the thread; `store` is another connection than its own. Raises DistError when the store is gone."""
        if self._thread.is_alive():
            for ping in range(PINGS):
                store.set(_pong(self._ticket, ping), _STOP)
            self._thread.join(timeout=_AT_END)

    def _measure(self, store: dist.Store, report: Callable[[Offset], None]) -> None:
        with suppress(dist.DistError):  # without it the merge falls back on wall clocks, and says so
            offset = _play(store, self._ticket, _FOREVER)
            if offset is not None:
                report(offset)


class ClockServer:
    """Rank 0's side: a thread that answers one ticket after the other until `stop`, or until the store is gone."""

    def __init__(self, store: dist.Store) -> None:
        self._store = store
        self._thread = threading.Thread(target=self._serve, name="hocket-clock", daemon=True)
        self._thread.start()

    def stop(self, store: dist.Store) -> None:
        """Ends the thread; `store` is another connection than its own. Raises DistError when the store is gone."""
        ticket = store.add("hocket/ticket", 1)
        store.set(f"hocket/ping/{ticket}/0", _STOP)
        self._thread.join(timeout=_AT_END)

    def _serve(self) -> None:
        with suppress(dist.DistError):
            for ticket in itertools.count(1):
                if not self._answer(ticket):
                    return

    def _answer(self, ticket: int) -> bool:
        """Whether to go on with the next. Raises DistError when the store is gone."""
        for ping in range(PINGS):
            key = f"hocket/ping/{ticket}/{ping}"
            try:
                self._store.wait([key], _FOREVER if ping == 0 else _NEXT_PING)
            except dist.DistNetworkError:
                raise
            except dist.DistError:
                return True  # that rank died in the middle, or gave up
            if ping == 0 and self._store.get(key) == _STOP.encode():
                return False
            self._store.set(_pong(ticket, ping), str(time.perf_counter_ns()))
        return True
