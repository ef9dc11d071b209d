"""A native algorithm on a topology before it is spelled out: the transfers of one rank, those of others are images."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hocket.base.errors import ScheduleError
from hocket.schedule.algorithms.moves import Moves
from hocket.schedule.algorithms.place import Place
from hocket.schedule.collective import Collective
from hocket.schedule.link_symmetry import LinkSymmetry
from hocket.schedule.schedule import Schedule
from hocket.schedule.symmetry import Symmetry
from hocket.topology import FabricRouting, Paths, Routes, Topology, read_routing, routes

__all__ = ["Pattern"]

_MAX_TRANSFERS = 2**31 - 1
_SPREADING = ("spray", "adaptive")  # routings of topologies


@dataclass(frozen=True, eq=False)
class Pattern:
    """Transfers in the order of their steps, as columns: at `step` (int64) `chunk` (int64) travels over `connection`
    (int32), to be added at its end where `reduce`; `own` as in Moves. Connection j is from `src[j]` to `dst[j]` (int64;
    collective ranks, or switches as in Moves).

    Each stands for its images under `symmetry` too. Where that is not trivial all connections start at rank 0. `group`
    as in Schedule.
    """

    collective: Collective
    topology: Topology
    group: NDArray[np.int32] | None
    generator: str
    symmetry: Symmetry
    src: NDArray[np.int64]
    dst: NDArray[np.int64]
    step: NDArray[np.int64]
    connection: NDArray[np.int32]
    chunk: NDArray[np.int64]
    reduce: NDArray[np.bool_]
    own: NDArray[np.bool_]

    @classmethod
    def of(
        cls, moves: Moves, collective: Collective, topology: Topology, group: NDArray[np.int32] | None, generator: str
    ) -> "Pattern":
        """The moves in order, those of one connection in a step together."""
        symmetry, n = moves.symmetry, collective.num_ranks + len(topology.in_network)
        home = symmetry.home(moves.src)
        src, dst = symmetry.act(home, moves.src), symmetry.act(home, moves.dst)
        chunk = symmetry.act_on_chunks(collective, home, moves.chunk)
        ends, connection = np.unique(src * n + dst, return_inverse=True)
        order = np.lexsort((connection, moves.step))
        return cls(
            collective=collective,
            topology=topology,
            group=group,
            generator=generator,
            symmetry=symmetry,
            src=ends // n,
            dst=ends % n,
            step=moves.step[order],
            connection=connection[order].astype(np.int32),
            chunk=chunk[order],
            reduce=moves.reduce[order],
            own=moves.own[order],
        )

    @property
    def ranks(self) -> NDArray[np.int32]:
        """Topology rank of each collective rank (int32)."""
        return np.arange(self.collective.num_ranks, dtype=np.int32) if self.group is None else self.group

    @property
    def num_transfers(self) -> int:
        """Those of all ranks."""
        return len(self.chunk) * self.symmetry.order

    @property
    def num_routes(self) -> int:
        """Those of all ranks."""
        return len(self.dst) * self.symmetry.order

    @cached_property
    def links(self) -> LinkSymmetry | None:
        """The symmetry as one of the topology, where it is one; None where it is trivial too."""
        everyone = np.array_equal(self.ranks, np.arange(self.topology.num_ranks))
        return LinkSymmetry.of(self.symmetry, self.topology) if everyone and self.symmetry.order > 1 else None

    @cached_property
    def routes(self) -> Routes:
        """Shortest routes: that of connection j, seen from element g of the symmetry, is route j * order + g.

        Where the topology has the symmetry too they are images of the `routes_home`.
        """
        elements = np.arange(self.symmetry.order)
        if self.links is None:
            nodes = Place(self.topology, self.ranks).nodes
            ends = [nodes[self.symmetry.act(elements, end[:, None]).ravel()] for end in (self.src, self.dst)]
            return routes(self.topology.graph, np.column_stack(ends))
        home = self.routes_home
        images = self.links.images(home.links)
        # The route to rank 0 becomes one to rank act(g, dst) that comes from rank g.
        parts = [
            images[self.symmetry.act(elements, dst), begin:end].ravel()
            for dst, begin, end in zip(self.dst, home.offset, home.offset[1:], strict=False)
        ]
        hops = np.repeat(np.diff(home.offset), self.symmetry.order)
        return Routes(np.concatenate([[0], np.cumsum(hops)]), np.concatenate([np.zeros(0, np.int32), *parts]))

    @cached_property
    def routes_home(self) -> Routes:
        """The image of each connection that ends at rank 0: all come from one search of the topology."""
        src = self.symmetry.act(self.symmetry.home(self.dst), self.src)
        return routes(self.topology.graph, np.column_stack([src, np.zeros_like(src)]))

    @property
    def routes_of_schedule(self) -> Routes:
        """As `routes`; where the topology's nodes spread what they send, balanced ones: a transfer has one route, and
        the lowest of each pair would leave all other links idle."""
        if self.topology.routing not in _SPREADING:
            return self.routes
        balanced = self.paths(read_routing("d_mod_k"))
        return Routes(balanced.link_offset, balanced.links)

    def paths(self, routing: FabricRouting) -> Paths:
        """As `routes`, by a routing: images of the `paths_home` where the topology and the routing have the
        symmetry."""
        elements = np.arange(self.symmetry.order)
        home = self.paths_home(routing)
        if self.links is None or not (routing.policy.symmetric or home.has_one_each):
            nodes = Place(self.topology, self.ranks).nodes
            ends = [nodes[self.symmetry.act(elements, end[:, None]).ravel()] for end in (self.src, self.dst)]
            return routing.paths(self.topology, np.column_stack(ends))
        images, first, links = self.links.images(home.links), home.first, [np.zeros(0, np.int32)]
        for dst, begin, end in zip(self.dst, first, first[1:], strict=False):
            span = slice(home.link_offset[begin], home.link_offset[end])
            links.append(images[self.symmetry.act(elements, dst), span].ravel())
        picked = home.picked(np.repeat(np.arange(len(self.dst)), self.symmetry.order))
        return picked._replace(links=np.concatenate(links))

    def paths_home(self, routing: FabricRouting) -> Paths:
        """As `routes_home`, by a routing; of one that has not the symmetry all the paths that it may take."""
        if routing not in self._paths_home:
            src = self.symmetry.act(self.symmetry.home(self.dst), self.src)
            among = routing if routing.policy.symmetric else read_routing("spray")
            self._paths_home[routing] = among.paths(self.topology, np.column_stack([src, np.zeros_like(src)]))
        return self._paths_home[routing]

    @cached_property
    def _paths_home(self) -> dict[FabricRouting, Paths]:
        return {}

    def folds(self, routing: FabricRouting) -> bool:
        """Whether topology and routing have the symmetry too, and each link that is used as many images as there are
        ranks."""
        if self.links is None:
            return False
        home = self.paths_home(routing)
        return (routing.policy.symmetric or home.has_one_each) and self.links.frees(home.links)

    def bytes_of(self, collective: Collective) -> NDArray[np.int64] | None:
        """Bytes of each transfer and all its images (int64) in a collective that differs in sizes only; None where the
        images differ in size."""
        rows = collective.chunk_bytes.reshape(-1, collective.chunks_per_rank)
        alike = self.symmetry.order == 1 or self.symmetry.fixes_chunks or bool((rows == rows[0]).all())
        return collective.chunk_bytes[self.chunk] if alike else None

    @cached_property
    def states(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Which of its chunks each transfer reads at its source, and which it changes at its destination, numbered as
        that end sees them (int32)."""
        seen = self.symmetry.act_on_chunks(self.collective, self.symmetry.home(self.dst)[self.connection], self.chunk)
        number = np.unique(np.concatenate([self.chunk, seen]), return_inverse=True)[1].astype(np.int32)
        return number[: len(seen)], number[len(seen) :]

    def spelled_out(self, collective: Collective | None = None) -> Schedule:
        """The untimed schedule with the transfers of all ranks: transfer k * order + g is the image of transfer k under
        element g, so that the order of a step's transfers is the same for all ranks. `collective`: of one that differs
        in sizes only.

        Raises ScheduleError when there are 2^31 transfers or more, and Infeasible when two ranks that must talk are not
        connected.
        """
        if self.num_transfers > _MAX_TRANSFERS:
            raise ScheduleError(
                f"{self.generator}: {self.collective.describe()} takes {self.num_transfers} transfers (limit 2^31)"
            )
        order, routes = self.symmetry.order, self.routes_of_schedule
        image = np.arange(order)
        chunk = self.symmetry.act_on_chunks(self.collective, image, self.chunk[:, None])
        step = np.repeat(self.step, order)
        return Schedule(
            collective=collective or self.collective,
            topology=self.topology,
            route_offset=routes.offset,
            route_links=routes.links,
            chunk=chunk.astype(np.int32).ravel(),
            route=(self.connection[:, None] * order + image).astype(np.int32).ravel(),
            reduce=np.repeat(self.reduce, order),
            start_ps=step,
            finish_ps=step + 1,
            timed=False,
            blocking=False,
            bound=None,
            generator=self.generator,
            seed=None,
            group=self.group,
            own=np.repeat(self.own, order) if self.own.any() else None,
        )
