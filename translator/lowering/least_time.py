"""A time that no program of a schedule beats on a runtime, known before it is lowered: what cannot be the quickest need
not be tried."""

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hocket.schedule import Pace, Protocol, Schedule, dependencies
from hocket.translator.lowering.lowering import Strategy
from hocket.translator.msccl.profile import Profile

__all__ = ["LeastTime"]

_PS = 10**12
_STEPS_OF_TRANSFER = 3  # a step, and what else may wait in its thread block


class LeastTime:
    """Of programs of `schedule` for `profile`: of its links, which carry so many bytes; of its connections, whose
    thread blocks move so many; and of its longest chain of messages that wait for each other, whose first slices take a
    step each. The largest of them, after the launch."""

    def __init__(self, schedule: Schedule, profile: Profile) -> None:
        self._schedule, self._profile = schedule, profile
        self._src, self._dst = schedule.src.astype(np.int64), schedule.dst.astype(np.int64)
        self._chains: dict[tuple[str, int, int], float] = {}

    def of(self, strategy: Strategy, size_bytes: int) -> int:
        """In ps, of a call of `size_bytes`. 0: nothing is known."""
        launch, *parts = self._parts(strategy, size_bytes)
        return launch + int(max(parts) * (1 - 1e-6))

    def guess(self, strategy: Strategy, size_bytes: int) -> int:
        """About what it takes, in ps: the steps do not hide behind the bytes. 0: nothing is known."""
        launch, links, connection, chain = self._parts(strategy, size_bytes)
        return launch + int(max(links, connection) + chain)

    def _parts(self, strategy: Strategy, size_bytes: int) -> tuple[int, float, float, float]:
        """The launch, and what links, the busiest connection and the chain of messages take (ps)."""
        protocol = self._profile.protocols[strategy.protocol]
        if protocol.pace is None or strategy.merged != 1:
            return 0, 0.0, 0.0, 0.0
        share = size_bytes / max(self._schedule.collective.size_bytes, 1)
        links = self._schedule.busiest_link_ps * share * float(protocol.wire)
        key = strategy.protocol, strategy.instances, size_bytes
        if key not in self._chains:
            self._chains[key] = self._chain_ps(strategy, protocol, share)
        return protocol.pace.start_ps, links, self._connection_ps(strategy, protocol.pace, share), self._chains[key]

    def _connection_ps(self, strategy: Strategy, pace: Pace, share: float) -> float:
        """Of the connections of two ranks that take longest."""
        pairs, steps, moved = self._pairs
        if steps.max(initial=0) * _STEPS_OF_TRANSFER > self._profile.max_steps * strategy.channels:
            return 0.0  # they may be spread over more
        between = self._between(*pairs)
        rate = np.where(between, pace.between_bandwidth or pace.bandwidth, pace.bandwidth)
        return float((moved / rate).max(initial=0)) * share * _PS / (strategy.channels * strategy.instances)

    @cached_property
    def _pairs(self) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        """Ranks that send to ranks (2 x pairs), and of each pair the transfers and bytes."""
        pairs, place = np.unique(np.stack([self._src, self._dst]), axis=1, return_inverse=True)
        return pairs, np.bincount(place.ravel()), np.bincount(place.ravel(), self._bytes)

    def _chain_ps(self, strategy: Strategy, protocol: Protocol, share: float) -> float:
        """Of the messages that wait for each other, level by level."""
        pace = protocol.pace
        assert pace is not None
        between = self._between(self._src, self._dst)
        rate = np.where(between, pace.between_bandwidth or pace.bandwidth, pace.bandwidth)
        first = np.minimum(self._bytes * share / strategy.instances, protocol.slice_bytes)
        step = np.where(between, pace.between_ps, pace.inside_ps) + np.maximum(first - pace.covered, 0) * _PS / rate
        offset, ids = self._waits
        done = np.zeros(len(step))
        for level in self._levels:
            begins = np.zeros(len(level))
            counts = offset[level + 1] - offset[level]
            waiting = np.repeat(np.arange(len(level)), counts)
            waited = np.concatenate([ids[offset[one] : offset[one + 1]] for one in level.tolist()] or [ids[:0]])
            np.maximum.at(begins, waiting, done[waited])
            done[level] = begins + step[level]
        return float(done.max(initial=0))

    @cached_property
    def _bytes(self) -> NDArray[np.int64]:
        found: NDArray[np.int64] = self._schedule.collective.chunk_bytes[self._schedule.chunk]
        return found

    @cached_property
    def _waits(self) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        return dependencies(self._schedule)

    @cached_property
    def _levels(self) -> list[NDArray[np.int64]]:
        """The transfers by how many others they wait for, one after the other."""
        offset, ids = self._waits
        level = np.zeros(len(self._src), np.int64)
        for transfer in range(len(level)):  # none waits for a later one
            waited = ids[offset[transfer] : offset[transfer + 1]]
            if len(waited):
                level[transfer] = level[waited].max() + 1
        order = np.argsort(level, kind="stable")
        return np.split(order, np.flatnonzero(np.diff(level[order])) + 1) if len(order) else []

    @cached_property
    def _between(self) -> Callable[[NDArray[np.int64], NDArray[np.int64]], NDArray[np.bool_]]:
        """Whether messages from ranks to ranks go between machines."""
        machine = self._schedule.topology.machine[self._schedule.ranks]

        def between(src: NDArray[np.int64], dst: NDArray[np.int64]) -> NDArray[np.bool_]:
            different: NDArray[np.bool_] = machine[src] != machine[dst]
            return different

        return between
