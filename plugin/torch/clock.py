"""Offsets between the ranks' clocks, measured by ping-pongs with rank 0 over the job's store.

A rank takes a ticket, then plays PINGS rounds: it posts a ping, rank 0 answers with its time. The round with the
shortest round trip gives the offset, wrong by at most half of that trip (Cristian's algorithm).
"""

import itertools
import threading
import time
from datetime import timedelta
from typing import NamedTuple

import torch.distributed as dist

__all__ = ["FOREVER", "ClockServer", "Offset", "measure_offset"]

PINGS = 20
_STOP = "stop"
FOREVER = timedelta(days=365)
_NEXT_PING = timedelta(seconds=1)


class Offset(NamedTuple):
    """At time `t` of this rank's clock, rank 0's showed `t + offset`, give or take `round_trip / 2` (nanoseconds)."""

    t: int
    offset: int
    round_trip: int


def measure_offset(store: dist.Store, patience: timedelta) -> Offset:
    """Plays the ping-pongs with rank 0's ClockServer. Raises DistError when it has not begun to answer in time."""
    ticket = store.add("hocket/ticket", 1)
    rounds = []
    for ping in range(PINGS):
        pong = f"hocket/pong/{ticket}/{ping}"
        begin = time.perf_counter_ns()
        store.set(f"hocket/ping/{ticket}/{ping}", "")
        store.wait([pong], patience)
        end = time.perf_counter_ns()
        rounds.append(Offset(end, int(store.get(pong)) - (begin + end) // 2, end - begin))
    return min(rounds, key=lambda offset: offset.round_trip)


class ClockServer:
    """Rank 0's side: a thread that answers one ticket after the other until `stop`."""

    def __init__(self, store: dist.Store) -> None:
        self._store = store
        self._thread = threading.Thread(target=self._serve, name="hocket-clock", daemon=True)
        self._thread.start()

    def stop(self, store: dist.Store) -> None:
        """Ends the thread; `store` is another connection than the one it listens on."""
        ticket = store.add("hocket/ticket", 1)
        store.set(f"hocket/ping/{ticket}/0", _STOP)
        self._thread.join(timeout=1)

    def _serve(self) -> None:
        for ticket in itertools.count(1):
            for ping in range(PINGS):
                key = f"hocket/ping/{ticket}/{ping}"
                try:
                    self._store.wait([key], FOREVER if ping == 0 else _NEXT_PING)
                except dist.DistError:
                    break  # that rank died in the middle, or gave up
                if ping == 0 and self._store.get(key) == _STOP.encode():
                    return
                self._store.set(f"hocket/pong/{ticket}/{ping}", str(time.perf_counter_ns()))
