"""How often which algorithm ran, and how often the stock one did, and why: printed at the exit, never silent."""

import json
import os
import sys
import threading
from collections import defaultdict
from dataclasses import dataclass
from typing import Any

from hocket.base.files import atomic_write
from hocket.base.units import format_bytes
from hocket.runtime.engine.library import Library

__all__ = ["REPORT_VARIABLE", "Counts"]

#: Names a file for the counts as JSON.
REPORT_VARIABLE = "HOCKET_ALGORITHMS_REPORT"


@dataclass(slots=True)
class _Count:
    calls: int = 0
    bytes: int = 0
    calls_by_p2p: int = 0


class Counts:
    """Of this process, over all of its groups."""

    def __init__(self, library: Library) -> None:
        self._library = library
        self._lock = threading.Lock()
        self._ran: dict[str, _Count] = {algorithm.name: _Count() for algorithm in library.algorithms}
        self._stock: dict[tuple[str, str], int] = defaultdict(int)

    def add(self, name: str, num_bytes: int, calls: int = 1, calls_by_p2p: int = 0) -> None:
        """Runs of an algorithm; `num_bytes`: of the larger buffer, summed over calls; `calls_by_p2p` of them went over
        the group's own messages."""
        with self._lock:
            count = self._ran[name]
            count.calls += calls
            count.bytes += num_bytes
            count.calls_by_p2p += calls_by_p2p

    def add_stock(self, operation: str, reason: str, calls: int = 1) -> None:
        """Operations that were left to the stock algorithm."""
        with self._lock:
            self._stock[operation, reason] += calls

    def to_json(self) -> dict[str, Any]:
        """Plain data; `bytes` are those of a rank's larger buffer, over all calls; `calls` include `calls_by_p2p`."""
        return {
            "algorithms": [
                {
                    "file": algorithm.name,
                    "collective": algorithm.program.kind,
                    "ranks": algorithm.program.num_ranks,
                    "calls": self._ran[algorithm.name].calls,
                    "bytes": self._ran[algorithm.name].bytes,
                    "calls_by_p2p": self._ran[algorithm.name].calls_by_p2p,
                }
                for algorithm in self._library.algorithms
            ],
            "stock": [
                {"operation": operation, "reason": reason, "calls": calls}
                for (operation, reason), calls in sorted(self._stock.items())
            ],
        }

    def describe(self) -> str:
        """A line for each algorithm, and for each reason to run the stock one."""
        lines = [f"hocket: algorithms of {self._library.source}, calls of rank 0:"]
        for algorithm in self._library.algorithms:
            count = self._ran[algorithm.name]
            what = f"{count.calls} calls, {format_bytes(count.bytes)}" if count.calls else "never ran"
            if count.calls_by_p2p:
                what += f", {count.calls_by_p2p} of them over the group's own messages"
            lines.append(f"  {algorithm.name} ({algorithm.describe()}): {what}")
        lines += [
            f"  stock: {calls} {operation}: {reason}" for (operation, reason), calls in sorted(self._stock.items())
        ]
        return "\n".join(lines)

    def report(self) -> None:
        """What rank 0 says at the end of the job."""
        print(self.describe(), file=sys.stderr, flush=True)
        if path := os.environ.get(REPORT_VARIABLE):
            with atomic_write(path) as file:
                json.dump(self.to_json(), file, indent=2)
