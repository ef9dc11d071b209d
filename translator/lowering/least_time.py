"""A time that no program of a schedule beats on a runtime, known before it is lowered: what cannot be the quickest need
not be tried."""

from collections.abc import Callable
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hocket._core.schedule import Chains
from hocket.schedule import Protocol, Schedule
from hocket.schedule.schedule import busiest_of
from hocket.topology import routes
from hocket.topology.model import DEFAULT_ROUTING
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
        self._chains: dict[tuple[str, bytes], float] = {}
        self._connections: dict[str, tuple[int, float]] = {}
        self._links: dict[Fraction, float] = {}

    def of(self, strategy: Strategy, size_bytes: int) -> int:
        """In ps, of a call of `size_bytes`, as if kernels reached all of the links' bandwidth. 0: nothing is known."""
        launch, *parts = self._parts(strategy, size_bytes)
        return launch + int(max(parts) * (1 - 1e-6))

    def reached(self, strategy: Strategy, size_bytes: int) -> int:
        """The same, more where kernels reach a part of the links' bandwidth."""
        launch, *parts = self._parts(strategy, size_bytes, whole=False)
        return launch + int(max(parts) * (1 - 1e-6))

    def guess(self, strategy: Strategy, size_bytes: int) -> int:
        """About what it takes, in ps: the steps do not hide behind the bytes. 0: nothing is known."""
        launch, links, connection, chain = self._parts(strategy, size_bytes)
        return launch + int(max(links, connection) + chain)

    def _parts(self, strategy: Strategy, size_bytes: int, *, whole: bool = True) -> tuple[int, float, float, float]:
        """The launch, and what links, the busiest connection and the chain of messages take (ps); `whole`: links of
        whose bandwidth kernels reach all."""
        protocol = self._profile.protocols[strategy.protocol]
        if protocol.pace is None or strategy.merged != 1:
            return 0, 0.0, 0.0, 0.0
        share = size_bytes / max(self._schedule.collective.size_bytes, 1)
        links = self._links_ps(Fraction(1) if whole else protocol.pace.inside_wire) * share * float(protocol.wire)
        chain = self._chain_ps(strategy, protocol, share)
        return protocol.pace.start_ps, links, self._connection_ps(strategy, share), chain

    def _links_ps(self, inside_wire: Fraction) -> float:
        """Of the busiest link, when messages take the ways of the network, which are not always the schedule's, and
        every byte inside a machine is so many there."""
        if inside_wire not in self._links:
            self._links[inside_wire] = self._busiest_link_ps(inside_wire)
        return self._links[inside_wire]

    def _busiest_link_ps(self, inside_wire: Fraction) -> float:
        schedule, topology = self._schedule, self._schedule.topology
        if topology.routing != DEFAULT_ROUTING or not len(self._src):
            return 0.0
        pairs, place = self._pairs
        moved = np.bincount(place, self._bytes) * np.where(self._between(*pairs), 1.0, float(inside_wire))
        found = routes(topology.graph, schedule.ranks[pairs.T].astype(np.int32))
        load = np.bincount(found.links, np.repeat(moved, np.diff(found.offset)), minlength=topology.num_links)
        return float(busiest_of(topology, load))

    def _connection_ps(self, strategy: Strategy, share: float) -> float:
        """Of the connections of two ranks that take longest."""
        most, seconds = self._busiest(strategy.protocol)
        if most * _STEPS_OF_TRANSFER > self._profile.max_steps * strategy.channels:
            return 0.0  # they may be spread over more
        return seconds * share * _PS / (strategy.channels * strategy.instances)

    def _busiest(self, protocol: str) -> tuple[int, float]:
        """The most transfers of a pair of ranks, and the longest that a thread block takes for the bytes of one (s)."""
        if protocol not in self._connections:
            pace = self._profile.protocols[protocol].pace
            assert pace is not None
            pairs, place = self._pairs
            steps, moved = np.bincount(place), np.bincount(place, self._bytes)
            rate = np.where(self._between(*pairs), pace.between_bandwidth or pace.bandwidth, pace.bandwidth)
            self._connections[protocol] = int(steps.max(initial=0)), float((moved / rate).max(initial=0))
        return self._connections[protocol]

    def _chain_ps(self, strategy: Strategy, protocol: Protocol, share: float) -> float:
        """Of the messages that wait for each other."""
        pace = protocol.pace
        assert pace is not None
        sizes, of_size = self._sizes
        first = np.minimum(sizes * share / strategy.instances, protocol.slice_bytes)
        more = np.maximum(first - pace.covered, 0)  # than a step's latency covers
        key = strategy.protocol, more.tobytes()
        if key in self._chains:
            return self._chains[key]
        between = self._between(self._src, self._dst)
        rate = np.where(between, pace.between_bandwidth or pace.bandwidth, pace.bandwidth)
        step = np.where(between, pace.between_ps, pace.inside_ps) + more[of_size] * _PS / rate
        self._chains[key] = self._dependent.longest(step)
        return self._chains[key]

    @cached_property
    def _pairs(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The pairs of ranks that talk, sources over destinations, and of each transfer the number of its pair."""
        ranks = self._schedule.collective.num_ranks
        pairs, place = np.unique(self._src * ranks + self._dst, return_inverse=True)
        return np.stack([pairs // ranks, pairs % ranks]), place

    @cached_property
    def _bytes(self) -> NDArray[np.int64]:
        found: NDArray[np.int64] = self._schedule.collective.chunk_bytes[self._schedule.chunk]
        return found

    @cached_property
    def _sizes(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The different sizes of transfers in bytes, and of each transfer the number of its size."""
        return np.unique(self._bytes, return_inverse=True)

    @cached_property
    def _dependent(self) -> Chains:
        return Chains(self._schedule.transfers)

    @cached_property
    def _between(self) -> Callable[[NDArray[np.int64], NDArray[np.int64]], NDArray[np.bool_]]:
        """Whether messages from ranks to ranks go between machines."""
        machine = self._schedule.topology.machine[self._schedule.ranks]

        def between(src: NDArray[np.int64], dst: NDArray[np.int64]) -> NDArray[np.bool_]:
            different: NDArray[np.bool_] = machine[src] != machine[dst]
            return different

        return between
