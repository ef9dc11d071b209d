"""How much time intervals cover together that come one by one, nearly in order, in memory that does not grow."""

from bisect import bisect_left, bisect_right

__all__ = ["CoveredTime"]

_KEPT = 1 << 10  # intervals apart: of more, what lies before the later ones counts as covered


class CoveredTime:
    """`ns` in all of the intervals given to `add`, what overlaps once."""

    def __init__(self) -> None:
        self.ns = 0
        self._begins: list[int] = []  # of intervals that do not touch, in order
        self._ends: list[int] = []
        self._until: int | None = None  # what is earlier counts no more

    def add(self, begin: int, end: int) -> None:
        """Counts what of an interval is in none before."""
        if self._until is not None:
            begin = max(begin, self._until)
        if begin >= end:
            return
        first, last = bisect_left(self._ends, begin), bisect_right(self._begins, end)
        within = sum(self._ends[first:last]) - sum(self._begins[first:last])
        if first < last:
            begin, end = min(begin, self._begins[first]), max(end, self._ends[last - 1])
        self.ns += end - begin - within
        self._begins[first:last], self._ends[first:last] = [begin], [end]
        if len(self._begins) > _KEPT:
            self._until = self._ends[_KEPT // 2 - 1]
            del self._begins[: _KEPT // 2], self._ends[: _KEPT // 2]
