"""What a collective follows, in the engine's form."""

import hashlib
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hocket._core.simulator import Plan
from hocket.schedule import Collective, Schedule, busiest_of
from hocket.schedule.algorithms import Pattern
from hocket.topology import FabricRouting, Paths, Routes, routing_of

__all__ = ["CollectivePlan", "Folded"]

_PATTERN = ("src", "dst", "step", "connection", "chunk", "reduce", "own")


@dataclass(frozen=True, eq=False)
class Folded:
    """The plan of one rank that stands for `order` ranks which all do alike, and for each link (int32) the one that
    stands for it."""

    plan: Plan
    order: int
    link: NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class CollectivePlan:
    """The schedule that a collective follows or the pattern of it, the name of the algorithm (or schedule file) it came
    from, and why it is not what was asked for. `sized`: the collective, where it differs from the source's in sizes.
    `by_step`: what goes over a connection in one step is one message, not one a chunk. `routing`: that of a pattern's
    messages, the topology's own unless said; a schedule names its routes. `launch_ps`: how long a member takes to
    begin. `link`: the link that stands for each link (int32; None: itself). `alone`: one member stands for all."""

    source: Pattern | Schedule
    algorithm: str
    note: str | None = None
    sized: Collective | None = None
    by_step: bool = False
    routing: FabricRouting | None = None
    launch_ps: int = 0
    link: NDArray[np.int32] | None = None
    alone: bool = False

    @property
    def collective(self) -> Collective:
        return self.source.collective if self.sized is None else self.sized

    @property
    def names_routes(self) -> bool:
        """Whether the routes are the source's own."""
        return isinstance(self.source, Schedule)

    @property
    def relays(self) -> bool:
        """Whether ranks outside the group take part."""
        return isinstance(self.source, Schedule) and self.source.relays

    @cached_property
    def schedule(self) -> Schedule:
        """All transfers. Raises ScheduleError where they are too many."""
        schedule = self.source if isinstance(self.source, Schedule) else self.source.spelled_out()
        return schedule if self.sized is None else replace(schedule, collective=self.sized)

    @cached_property
    def plan(self) -> Plan:
        """The engine's form: messages in the schedule's order on every route, waiting for what they depend on."""
        if (pattern := self._alike) is not None:
            if self.alone:
                first = self.paths.picked(np.arange(len(pattern.dst)) * pattern.symmetry.order)
                return self._plan_of(pattern, 1, first, np.zeros(len(pattern.dst), np.int32))
            elements = np.arange(pattern.symmetry.order)
            dst = pattern.symmetry.act(elements, pattern.dst[:, None]).ravel().astype(np.int32)
            return self._plan_of(pattern, pattern.symmetry.order, self.paths, dst)
        schedule = self.schedule
        if self.collective.block_bytes is not None:
            sent = self.collective.sent[schedule.chunk]
            columns = ("chunk", "route", "reduce", "start_ps", "finish_ps")
            kept = {name: getattr(schedule, name)[sent] for name in columns}
            schedule = replace(schedule, **kept, own=schedule.own_of(sent))
        size = self.collective.chunk_bytes[schedule.chunk]
        return Plan(schedule.transfers, size, schedule.ranks, schedule.relay_nodes, self.paths, self.by_step)

    @cached_property
    def paths(self) -> Paths:
        """Those of each route between all ranks."""
        if isinstance(self.source, Schedule):
            paths = Paths.single(Routes(self.source.route_offset, self.source.route_links))
        else:
            paths = self.source.paths(self.routed)
        return paths if self.link is None else paths._replace(links=self.link[paths.links])

    @property
    def one_for_all(self) -> bool:
        """Whether all members do alike, so that one may stand for all."""
        pattern = self._alike
        return pattern is not None and pattern.symmetry.order == pattern.collective.num_ranks

    @cached_property
    def fingerprint(self) -> bytes:
        """Alike for plans of other groups that do the same."""
        source = self.source
        columns = ("chunk", "route", "reduce", "start_ps", "is_own") if isinstance(source, Schedule) else _PATTERN
        digest = hashlib.blake2b(digest_size=16)
        for name in columns:
            digest.update(np.ascontiguousarray(getattr(source, name)).tobytes())
        return digest.digest()

    @property
    def routed(self) -> FabricRouting:
        """The routing, where there is a choice."""
        return routing_of(self.source.topology) if self.routing is None else self.routing

    @property
    def splits(self) -> bool:
        """Whether messages go in parts."""
        return self.routed.policy.spreads and not self.paths.has_one_each

    @cached_property
    def folded(self) -> Folded | None:
        """None unless all ranks of the topology do alike on links that are alike.

        The plan of all ranks is then so many copies of this one: the k-th copies of messages, links and gates meet each
        other as those of the fold do (an element of the symmetry takes the first copies to them, and no link to
        itself). Events of one instant come copy after copy of one event of the fold, from the first on, because a
        pattern's schedule is in that order: ties break alike, and every copy ends up with the times of the fold.
        """
        pattern = self._alike
        if pattern is None or pattern.links is None or not pattern.folds(self.routed):
            return None
        home = pattern.paths_home(self.routed)
        alone = np.zeros(len(pattern.dst), np.int32)
        plan = self._plan_of(pattern, 1, home._replace(links=pattern.links.first[home.links].astype(np.int32)), alone)
        return Folded(plan, pattern.symmetry.order, pattern.links.first)

    @property
    def num_messages(self) -> int:
        """Those to simulate: of one rank where it can stand for all."""
        if isinstance(self.source, Schedule):
            return len(self.source.chunk)
        folds = self._alike is not None and self.source.folds(self.routed)
        return len(self.source.chunk) if folds else self.source.num_transfers

    @property
    def num_routes(self) -> int:
        """Those between all ranks."""
        return len(self.source.route_offset) - 1 if isinstance(self.source, Schedule) else self.source.num_routes

    @property
    def busiest_link_ps(self) -> int:
        """Picoseconds that the busiest link needs for its bytes alone; 0 where messages choose their paths."""
        if isinstance(self.source, Schedule):
            return self.schedule.busiest_link_ps
        if self.routed.policy.chooses:
            return 0
        topology = self.source.topology
        if (pattern := self._alike) is None:
            schedule = self.schedule
            size = schedule.collective.chunk_bytes[schedule.chunk]
            amount = np.bincount(schedule.route, size, minlength=len(schedule.route_offset) - 1)
            return busiest_of(topology, self.paths.link_bytes(amount, topology.num_links))
        amount = np.bincount(pattern.connection, self._bytes, minlength=len(pattern.dst))
        if pattern.links is None or not pattern.folds(self.routed):
            amount = np.repeat(amount, pattern.symmetry.order)
            return busiest_of(topology, self.paths.link_bytes(amount, topology.num_links))
        home = pattern.paths_home(self.routed)
        home = home._replace(links=pattern.links.first[home.links])
        return busiest_of(topology, home.link_bytes(amount, topology.num_links))

    def without_bytes(self) -> "CollectivePlan":
        """The same for a collective that moves nothing."""
        collective = self.collective.without_bytes()
        return replace(self, note=None, sized=collective)

    @cached_property
    def _bytes(self) -> NDArray[np.int64] | None:
        """Bytes of each transfer of the pattern; None where its images differ in size."""
        if isinstance(self.source, Schedule) or self.collective.block_bytes is not None:
            return None
        return self.source.bytes_of(self.collective)

    @property
    def _alike(self) -> Pattern | None:
        """The pattern, where it has images and they do not differ in size."""
        if isinstance(self.source, Schedule) or self.source.symmetry.order == 1 or self._bytes is None:
            return None
        return self.source

    def _plan_of(
        self,
        pattern: Pattern,
        copies: int,
        paths: Paths,
        dst: NDArray[np.int32],
    ) -> Plan:
        """The plan in which `copies` members do what the pattern's first rank does, over these paths."""
        assert self._bytes is not None
        sends, delivers = pattern.states
        return Plan(
            connection=pattern.connection,
            sends=sends,
            delivers=delivers,
            reduce=pattern.reduce,
            own=pattern.own,
            step=pattern.step,
            bytes=self._bytes,
            copies=copies,
            paths=paths,
            route_dst=dst,
            by_step=self.by_step,
        )
