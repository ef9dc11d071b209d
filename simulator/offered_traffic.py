"""Synthetic traffic over a network of packets: what a load, or so many messages under way, comes to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hocket._core.simulator import Job, PacketSettings, traffic
from hocket.base.errors import SimulationError
from hocket.simulator.fidelity import Fidelity
from hocket.simulator.models import Model, Switching, per_link
from hocket.simulator.packet_channels import packet_settings
from hocket.simulator.packets import Latencies, Packets, PacketTraffic
from hocket.simulator.traffic_nodes import is_far_link, node_of_ranks
from hocket.simulator.traffic_patterns import TrafficPairs, traffic_pairs
from hocket.simulator.workload import NodeKind
from hocket.topology import Paths, Topology

__all__ = ["STAGES", "OfferedTraffic", "TrafficPoint", "TrafficSetup"]

#: Where the time of a message between nodes goes, in the engine's order of Stage.
STAGES = (
    "source accelerator",
    "source intra-node network",
    "source NIC",
    "inter-node network",
    "destination NIC",
    "destination intra-node network",
    "destination accelerator",
)
_PICOSECONDS = 10**12


@dataclass(frozen=True, slots=True)
class TrafficSetup:
    """Messages of `message_bytes` for `duration_ps`, of which what is delivered from `from_ps` on is counted; `seed`
    chooses all that is random; in how many `bins` of time (even; 0: none) links are looked at. `drains`: it goes on
    until all messages that were made by then are delivered.

    Raises SimulationError for what cannot be.
    """

    pattern: str
    message_bytes: int = 4096
    duration_ps: int = 500_000_000
    from_ps: int = 250_000_000
    seed: int = 0
    bins: int = 0
    drains: bool = False

    def __post_init__(self) -> None:
        if self.message_bytes < 1:
            raise SimulationError(f"traffic: messages of {self.message_bytes} bytes: expected 1 or more")
        if not 0 <= self.from_ps < self.duration_ps:
            raise SimulationError("traffic: the warm-up takes all of the time: give a shorter one")
        if not 0 <= self.seed < 2**63:
            raise SimulationError(f"traffic: seed={self.seed}: expected 0 or more, below 2^63")


@dataclass(frozen=True, eq=False)
class TrafficPoint:
    """What came of one load, a part of what all senders can send, or of `window` messages of each under way (`load`
    None). `throughput`: what was delivered in the time that is counted, over the same, in bytes on senders' links.
    Payload in bytes/s: `near_bandwidth` within nodes, `far_bandwidth` between them. `near`, `far`: the latencies of
    these messages, from when they are ready; `parts`: those of the far ones by STAGES, whose means add up.

    `link_bytes` (int64) is the payload that each link carried, `utilisation` (links x bins of `bin_ps`, float64) how
    busy it was over time, `busy` (float64) in all of it. `made` and `arrived` count messages of all the time,
    `arrived_from` (int64) those of each rank that are counted.
    """

    load: float | None
    window: int | None
    throughput: float
    near_bandwidth: float
    far_bandwidth: float
    near: Latencies
    far: Latencies
    parts: tuple[Latencies, ...]
    packets: PacketTraffic
    link_bytes: NDArray[np.int64]
    busy: NDArray[np.float64]
    utilisation: NDArray[np.float64]
    bin_ps: int
    made: int
    arrived: int
    arrived_from: NDArray[np.int64]
    packet_hops: int
    events: int

    @property
    def mean_ps(self) -> float:
        """The mean latency of all messages; 0 of none."""
        total = self.near.total + self.far.total
        return (self.near.mean_ps * self.near.total + self.far.mean_ps * self.far.total) / max(1, total)

    @property
    def dropped(self) -> int:
        """Packets that found no room."""
        return int(self.packets.dropped.sum())


class OfferedTraffic:
    """A pattern on a topology, prepared once for all loads.

    Raises SimulationError for what the topology or the model cannot have, DeadlockError where fewer virtual channels
    were asked for than keep buffers from waiting in a circle.
    """

    def __init__(self, topology: Topology, setup: TrafficSetup, fidelity: Fidelity) -> None:
        if fidelity.model != Model.PACKET:
            raise SimulationError(f"traffic is for model packet, not for {fidelity.model}")
        fidelity.check(topology)
        self.topology, self.setup, self.fidelity = topology, setup, fidelity
        self.routing = fidelity.routed(topology)
        self.pairs: TrafficPairs = traffic_pairs(setup.pattern, topology, setup.seed)
        ends = np.stack([self.pairs.src, self.pairs.dst], axis=1)
        self.paths: Paths = self.routing.paths(topology, ends, np.zeros(len(ends), np.int64))
        self._packets: PacketSettings = self._settings()

    @cached_property
    def rates(self) -> NDArray[np.float64]:
        """What each rank can send over the links by which its messages leave, bytes/s (float64); of traffic into one
        rank its part of what that can take over those by which they come."""
        topology, into = self.topology, self.pairs.into
        width = np.zeros(topology.num_nodes)
        ends = topology.src if into is None else topology.dst
        np.add.at(width, ends[self._used], topology.bandwidth[self._used].astype(np.float64))
        return width[: topology.num_ranks] if into is None else self.pairs.share * width[into]

    @cached_property
    def _used(self) -> NDArray[np.int32]:
        """The links by which messages leave senders; of traffic into one rank those by which they come."""
        offset, links = self.paths.link_offset, self.paths.links
        return np.unique(links[offset[:-1] if self.pairs.into is None else offset[1:] - 1])

    @cached_property
    def wire_bytes(self) -> int:
        """Bytes of a message on the widest of these links, with headers and acknowledgements."""
        topology = self.topology
        widest = self._used[int(topology.bandwidth[self._used].argmax())]
        name = topology.classes[topology.link_class[widest]]
        return (self.fidelity.packets or Packets()).link_bytes(self.setup.message_bytes, name)

    def at_load(self, load: float) -> TrafficPoint:
        """What comes of a load, more than 0 and at most 1 (open loop). Raises SimulationError for another."""
        if not 0 < load <= 1:
            raise SimulationError(f"traffic: load {load:g}: expected more than 0, and at most 1 (100 %)")
        with np.errstate(divide="ignore"):
            gap_ps = np.where(self.rates > 0, self.wire_bytes * _PICOSECONDS / (load * self.rates), 0)
        return self._run(np.rint(gap_ps).astype(np.int64), 0, load)

    def with_window(self, window: int) -> TrafficPoint:
        """What comes of so many messages of each sender under way at any time (closed loop). Raises SimulationError for
        fewer than 1."""
        if not 1 <= window <= 1 << 20:
            raise SimulationError(f"traffic: window {window}: expected 1 or more messages of each rank under way")
        return self._run(np.zeros(0, np.int64), window, None)

    def _run(self, gap_ps: NDArray[np.int64], window: int, load: float | None) -> TrafficPoint:
        topology, setup, pairs = self.topology, self.setup, self.pairs
        node = node_of_ranks(topology)
        found = traffic(
            topology.graph,
            stores=per_link(self.fidelity.switching, Switching, topology),
            packets=self._packets,
            message_bytes=setup.message_bytes,
            near=pairs.near,
            far=pairs.far,
            far_ppm=pairs.far_ppm,
            paths=self.paths,
            is_far=(node[pairs.src] != node[pairs.dst]).astype(np.uint8),
            gap_ps=gap_ps,
            window=window,
            adaptive=self.routing.policy.chooses,
            seed=setup.seed,
            from_ps=setup.from_ps,
            until_ps=setup.duration_ps,
            drains=setup.drains,
            bins=setup.bins,
            outer=is_far_link(topology).astype(np.uint8),
        )
        return self._point(found, load, window or None)

    def _point(self, found: Mapping[str, Any], load: float | None, window: int | None) -> TrafficPoint:
        setup = self.setup
        counted_s = (setup.duration_ps - setup.from_ps) / _PICOSECONDS
        per_s = {sort: found[f"{sort}_arrived"] / counted_s for sort in ("near", "far")}
        bins = found["bin_busy_ps"].reshape(self.topology.num_links, -1)
        used = -(-setup.duration_ps // found["bin_ps"])
        packets = PacketTraffic.of(found["packets"]).until(setup.duration_ps)
        return TrafficPoint(
            load=load,
            window=window,
            throughput=sum(per_s.values()) * self.wire_bytes / float(self.rates.sum()),
            near_bandwidth=per_s["near"] * setup.message_bytes,
            far_bandwidth=per_s["far"] * setup.message_bytes,
            near=Latencies(**found["near"]),
            far=Latencies(**found["far"]),
            parts=tuple(Latencies(**part) for part in found["parts"]),
            packets=packets,
            link_bytes=found["link_bytes"],
            busy=np.minimum(1.0, found["link_busy_ps"] / setup.duration_ps),
            utilisation=bins[:, :used] / found["bin_ps"],
            bin_ps=found["bin_ps"],
            made=found["made"],
            arrived=found["arrived"],
            arrived_from=found["arrived_from"],
            packet_hops=int(packets.packets.sum()),
            events=found["events"],
        )

    def _settings(self) -> PacketSettings:
        """Those of packets, with the virtual channels that the paths take."""
        settings = packet_settings(self._job(), [], self.topology, self.fidelity)
        assert settings is not None  # of model packet
        return settings

    def _job(self) -> Job:
        """A job of one message of each pair, which has all paths."""
        pairs, none, empty = self.pairs, np.zeros(0, np.int64), np.zeros(0, np.int32)
        order = np.argsort(pairs.src, kind="stable")
        count = len(order)
        per_rank = np.bincount(pairs.src, minlength=self.topology.num_ranks)
        return Job(
            graph=self.topology.graph,
            rank_offset=np.append(0, np.cumsum(per_rank)),
            kind=np.full(count, NodeKind.SEND, np.uint8),
            operand=order.astype(np.int64),
            member=np.zeros(count, np.int32),
            dependency_offset=np.zeros(count + 1, np.int64),
            dependency=none,
            message_paths=self.paths,
            message_bytes=np.full(count, self.setup.message_bytes, np.int64),
            message_priority=np.zeros(count, np.int32),
            message_stream=np.arange(count, dtype=np.int32),
            access_memory=empty,
            access_service_ps=none,
            access_latency_ps=none,
            plan_of=empty,
            priority_of=empty,
            plan_members=empty,
        )
