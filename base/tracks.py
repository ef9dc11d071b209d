"""Tracks of a timeline: each shows one thing at a time, and as few of them as what overlaps needs."""

from heapq import heapify, heappop, heappush
from itertools import count

__all__ = ["Tracks"]


class Tracks:
    """The tracks of one process: number 0 is the first of the use `first`, the others follow as they are first used."""

    def __init__(self, first: str) -> None:
        self._uses: dict[str, _Lanes] = {}
        self._first = first
        self._next = count(1)
        self._number: dict[tuple[str, int], int] = {}

    def place(self, use: str, start: int, finish: int) -> tuple[int, str | None]:
        """The first track for `use` that is free from `start` on, which is taken until `finish`; and its name where it
        is new: that of the use, with a number behind from the second track on.

        Spans that come in the order of their starts take O(log n) each, n tracks, and as many tracks as overlap at
        most; one that begins before the last one did takes O(n).
        """
        lane = self._uses.setdefault(use, _Lanes()).take(start, finish)
        if (number := self._number.get((use, lane))) is not None:
            return number, None
        number = 0 if (use, lane) == (self._first, 0) else next(self._next)
        self._number[use, lane] = number
        return number, f"{use} {lane}" if lane else use


class _Lanes:
    def __init__(self) -> None:
        self._busy: list[tuple[int, int]] = []  # heap of (free from, lane)
        self._free: list[int] = []  # heap of lanes that are free at `_now`
        self._free_from: list[int] = []  # of each lane
        self._now = 0

    def take(self, start: int, finish: int) -> int:
        if start < self._now:
            self._busy, self._free = [(free, lane) for lane, free in enumerate(self._free_from)], []
            heapify(self._busy)
        self._now = start
        while self._busy and self._busy[0][0] <= start:
            heappush(self._free, heappop(self._busy)[1])
        if self._free:
            lane = heappop(self._free)
            self._free_from[lane] = finish
        else:
            lane = len(self._free_from)
            self._free_from.append(finish)
        heappush(self._busy, (finish, lane))
        return lane
