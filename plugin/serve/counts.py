"""How often which algorithm ran, and how often the stock one did, where, why and for how long: printed at the exit,
never silent."""

import json
import os
import threading
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from hocket.base.files import atomic_write
from hocket.base.notices import notice
from hocket.base.text import printable
from hocket.base.text_table import text_table
from hocket.base.units import format_bytes, format_time
from hocket.runtime.engine.library import Library

__all__ = ["REPORT_VARIABLE", "CalledGroup", "Counts", "StockCount"]

#: Names a file for the counts as JSON.
REPORT_VARIABLE = "HOCKET_ALGORITHMS_REPORT"
_MOST_ROWS = 20  # of the stock library that are printed; the JSON has all
_PS = 1000  # in a nanosecond


@dataclass(frozen=True, slots=True)
class CalledGroup:
    """A process group as its job calls it, and its ranks of the job, as far as they are known."""

    name: str
    ranks: tuple[int, ...] = ()

    def __str__(self) -> str:
        if len(self.ranks) > 8:
            return f"{self.name} ({len(self.ranks)} ranks)"
        return f"{self.name} ({','.join(map(str, self.ranks))})" if self.ranks else self.name


@dataclass(slots=True)
class _Count:
    calls: int = 0
    bytes: int = 0
    calls_by_p2p: int = 0
    time_ns: int = 0
    captured: int = 0
    p2p_reasons: Counter[str] = field(default_factory=Counter)

    @property
    def remarks(self) -> str:
        """What is to be said of some of its calls."""
        found = []
        if self.calls_by_p2p:
            why = "; ".join(self.p2p_reasons)
            found.append(f"{self.calls_by_p2p} over the group's own messages{f' ({why})' if why else ''}")
        if self.captured:
            found.append(f"{self.captured} captured in graphs, whose replays are not seen")
        return ", ".join(found)


@dataclass(slots=True)
class StockCount:
    """Calls of one operation, group and order of size that ran the stock algorithm for one reason. `time_ns`: what
    their callers spent in them and in `wait`; `waits` of the calls were waited for where that is seen. Sizes are bytes
    of a rank's whole buffer, as nccl-tests counts them, None where they are not known."""

    operation: str
    reason: str
    group: CalledGroup | None
    least_bytes: int | None
    most_bytes: int | None
    calls: int = 0
    time_ns: int | None = None
    waits: int = 0

    @property
    def size(self) -> str:
        if self.least_bytes is None or self.most_bytes is None:
            return ""
        ends = dict.fromkeys(map(format_bytes, (self.least_bytes, self.most_bytes)))
        return " to ".join(ends)


class Counts:
    """Of this process, over all of its groups."""

    def __init__(self, library: Library) -> None:
        self._library = library
        self._lock = threading.Lock()
        self._ran: dict[str, _Count] = {algorithm.name: _Count() for algorithm in library.algorithms}
        self._stock: dict[tuple[str, str, CalledGroup | None, int], StockCount] = {}

    def add(self, name: str, num_bytes: int, calls: int = 1, calls_by_p2p: int = 0, time_ns: int = 0) -> None:
        """Runs of an algorithm; `num_bytes`: of the larger buffer, summed over calls; `calls_by_p2p` of them went over
        the group's own messages; `time_ns`: how long the host worked at them."""
        with self._lock:
            count = self._ran[name]
            count.calls += calls
            count.bytes += num_bytes
            count.calls_by_p2p += calls_by_p2p
            count.time_ns += time_ns

    def note(self, name: str, captured: int, why_messages: str) -> None:
        """Of a run that was added: whether it was captured in a graph, and why it went over the group's own messages
        where another engine was asked for."""
        with self._lock:
            count = self._ran[name]
            count.captured += captured
            if why_messages:
                count.p2p_reasons[why_messages] += 1

    def add_stock(
        self,
        operation: str,
        reason: str,
        calls: int = 1,
        group: CalledGroup | None = None,
        size_bytes: int | None = None,
    ) -> StockCount:
        """Operations that were left to the stock algorithm; where their time is to be added."""
        with self._lock:
            key = operation, reason, group, -1 if size_bytes is None else size_bytes.bit_length()
            if key not in self._stock:
                self._stock[key] = StockCount(operation, reason, group, size_bytes, size_bytes)
            count = self._stock[key]
            count.calls += calls
            if size_bytes is not None:
                count.least_bytes = min(size_bytes, count.least_bytes or size_bytes)
                count.most_bytes = max(size_bytes, count.most_bytes or size_bytes)
            return count

    def add_time(self, count: StockCount, time_ns: int, waits: int = 0) -> None:
        """Time that a caller spent in an operation that was counted so, or in waiting for it."""
        with self._lock:
            count.time_ns = (count.time_ns or 0) + time_ns
            count.waits += waits

    def to_json(self) -> dict[str, Any]:
        """Plain data; `bytes` are those of a rank's larger buffer, over all calls; `calls` include `calls_by_p2p` and
        those `captured` in graphs, each once."""
        return {
            "algorithms": [
                {
                    "file": algorithm.name,
                    "collective": algorithm.program.kind,
                    "ranks": algorithm.program.num_ranks,
                    "groups": algorithm.groups,
                    "calls": self._ran[algorithm.name].calls,
                    "bytes": self._ran[algorithm.name].bytes,
                    "calls_by_p2p": self._ran[algorithm.name].calls_by_p2p,
                    "p2p_reasons": dict(self._ran[algorithm.name].p2p_reasons),
                    "captured": self._ran[algorithm.name].captured,
                    "time_ns": self._ran[algorithm.name].time_ns,
                }
                for algorithm in self._library.algorithms
            ],
            "stock": [
                {
                    "operation": count.operation,
                    "reason": count.reason,
                    "group": count.group.name if count.group else None,
                    "group_ranks": count.group.ranks if count.group else (),
                    "min_bytes": count.least_bytes,
                    "max_bytes": count.most_bytes,
                    "calls": count.calls,
                    "time_ns": count.time_ns,
                    "waits": count.waits,
                }
                for count in self._of_stock()
            ],
        }

    def _of_stock(self) -> list[StockCount]:
        """What costs the most first."""
        return sorted(
            self._stock.values(), key=lambda one: (-(one.time_ns or 0), -one.calls, one.operation, one.reason, one.size)
        )

    def describe(self) -> str:
        """A table of the algorithms, and one of what the stock library ran."""
        return "\n".join(
            [
                f"hocket: algorithms of {printable(self._library.source)}, calls of rank 0:",
                *(f"  {line}" for line in text_table(_PROGRAM_HEADS, self._program_rows(), align="<<>>><")),
                *self._stock_lines(),
            ]
        )

    def _program_rows(self) -> Iterator[tuple[object, ...]]:
        for algorithm in self._library.algorithms:
            count = self._ran[algorithm.name]
            if not count.calls:
                yield algorithm.name, algorithm.describe(), 0, "", "", "never ran"
                continue
            time = format_time(count.time_ns * _PS) if count.time_ns else ""
            yield algorithm.name, algorithm.describe(), count.calls, format_bytes(count.bytes), time, count.remarks

    def _stock_lines(self) -> Iterator[str]:
        counts = self._of_stock()
        if not counts:
            return
        calls, time_ns = (sum(getattr(one, name) or 0 for one in counts) for name in ("calls", "time_ns"))
        spent = f", which took their callers {format_time(time_ns * _PS)}" if time_ns else ""
        yield f"  the stock library ran {calls} calls{spent}:"
        rows = [
            (
                one.operation,
                one.group or "",
                one.size,
                one.calls,
                "" if one.time_ns is None else format_time(one.time_ns * _PS),
                one.reason if one.waits or not one.time_ns else f"{one.reason} (no wait seen)",
            )
            for one in counts[:_MOST_ROWS]
        ]
        yield from (f"  {line}" for line in text_table(_STOCK_HEADS, rows, align="<<>>><"))
        if rest := counts[_MOST_ROWS:]:
            more = sum(one.calls for one in rest)
            yield f"  and {more} calls of {len(rest)} more sorts: {REPORT_VARIABLE}=FILE has all"

    def report(self) -> None:
        """What rank 0 says at the end of the job."""
        notice(self.describe())
        if path := os.environ.get(REPORT_VARIABLE):
            with atomic_write(path) as file:
                json.dump(self.to_json(), file, indent=2)


_PROGRAM_HEADS = ("program", "of", "calls", "bytes", "time", "")
_STOCK_HEADS = ("operation", "group", "size", "calls", "time", "why")
