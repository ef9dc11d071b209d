"""Plays a rank's program: issues what is due, waits where its first consumer does, notes when."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

import numpy as np
from numpy.typing import NDArray

from hocket.base.errors import HocketError
from hocket.runtime.replay.fabric import Fabric, Pending
from hocket.runtime.replay.operation import RankProgram

__all__ = ["Player"]

_PICOSECONDS_PER_NANOSECOND = 1000


class _Flight:
    """An operation under way; `finish_ns` once its end was seen."""

    __slots__ = ("_lock", "_pending", "finish_ns")

    def __init__(self) -> None:
        self.finish_ns = 0
        self._lock = threading.Lock()
        self._pending: Pending | None = None

    def ended(self) -> None:
        if not self.finish_ns:
            self.finish_ns = time.perf_counter_ns()

    def under_way(self, pending: Pending) -> None:
        self._pending = pending

    def wait(self) -> None:
        with self._lock:
            if self._pending is not None:
                self._pending.wait()
                self._pending = None
        self.ended()


class Player:
    """`play` once an iteration. `abort` is called, from any thread, with what went wrong; it does not return. A thread
    that waits longer than `timeout_s` is something wrong."""

    def __init__(
        self,
        program: RankProgram,
        fabric: Fabric,
        spend: Callable[[int], None],
        abort: Callable[[BaseException], None],
        timeout_s: float,
    ) -> None:
        self._program, self._spend, self._abort = program, spend, abort
        self._starts = fabric.prepare(program.operations)
        self._nodes: list[list[int]] = [[] for _ in range(program.num_streams)]
        for node, stream in enumerate(program.stream):
            self._nodes[stream].append(node)
        self._crossing = _crossing(program)
        self._waiting: list[tuple[int, int, int] | None] = [None] * program.num_streams  # node, for which, since
        self._timeout_ns = round(timeout_s * 1e9)
        threading.Thread(target=self._watch, daemon=True).start()

    def play(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """When each node was issued and ended (int64, ns of this machine's monotonic clock)."""
        program = self._program
        self._start_ns, self._finish_ns = [0] * len(program.row), [0] * len(program.row)
        self._flights = {node: _Flight() for node, operation in enumerate(program.operation) if operation >= 0}
        self._passed = {node: threading.Event() for node in self._crossing}
        threads = [
            threading.Thread(target=partial(self._run, stream), daemon=True) for stream in range(1, len(self._nodes))
        ]
        for thread in threads:
            thread.start()
        self._run(0)
        for thread in threads:
            thread.join()
        for node, flight in self._flights.items():  # what nobody waited for
            self._wait(0, node, flight.wait, node)
            self._finish_ns[node] = flight.finish_ns
        return np.array(self._start_ns, np.int64), np.array(self._finish_ns, np.int64)

    def _run(self, stream: int) -> None:
        try:
            for node in self._nodes[stream]:
                self._play(stream, node)
        except BaseException as error:
            self._abort(error)

    def _play(self, stream: int, node: int) -> None:
        program, passed = self._program, self._passed
        for other in program.waits[node]:
            if program.stream[other] != stream:
                self._wait(stream, node, passed[other].wait, other)
            if program.operation[other] >= 0:
                self._wait(stream, node, self._flights[other].wait, other)
        before = program.after[node]
        if before >= 0:
            self._wait(stream, node, passed[before].wait, before)
        self._start_ns[node] = time.perf_counter_ns()
        operation = program.operation[node]
        if operation < 0:
            if program.duration_ps[node]:
                self._spend(program.duration_ps[node] // _PICOSECONDS_PER_NANOSECOND)
            self._finish_ns[node] = time.perf_counter_ns()
        else:
            flight = self._flights[node]
            with self._named(node):
                flight.under_way(self._starts[operation](flight.ended))
        if node in passed:
            passed[node].set()

    def _wait(self, stream: int, node: int, wait: Callable[[], object], other: int) -> None:
        self._waiting[stream] = node, other, time.perf_counter_ns()
        with self._named(other):
            wait()
        self._waiting[stream] = None

    @contextmanager
    def _named(self, node: int) -> Iterator[None]:
        """Says at which node a backend failed."""
        try:
            yield
        except RuntimeError as error:
            raise HocketError(f"{self._program.label[node]}: {error}") from error

    def _watch(self) -> None:
        while True:
            time.sleep(min(self._timeout_ns / 4e9, 1))
            for waiting in list(self._waiting):
                if waiting is None or time.perf_counter_ns() - waiting[2] < self._timeout_ns:
                    continue
                node, other, _ = waiting
                place = self._program.label[other]
                behind = f", before {self._program.label[node]}" if node != other else ""
                self._abort(
                    HocketError(
                        f"{place} has not ended in {self._timeout_ns / 1e9:g} s{behind}: the ranks wait for each other,"
                        " a rank is gone, or this machine is too slow (raise --timeout)"
                    )
                )


def _crossing(program: RankProgram) -> set[int]:
    """Nodes that a thread other than their own waits for."""
    waited = {
        other
        for node, others in enumerate(program.waits)
        for other in others
        if program.stream[other] != program.stream[node]
    }
    return waited | {before for before in program.after if before >= 0}
