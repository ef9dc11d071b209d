"""Schedules of all_to_alls whose blocks change from call to call, in milliseconds: what depends on the topology alone
is prepared once."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hocket._core.schedule import Holding, least_holds
from hocket._core.synthesizer import Alternatives
from hocket.base.errors import ScheduleError
from hocket.schedule import Bound, Collective, Kind, Schedule
from hocket.topology import Lanes, Topology, links_within, subset

__all__ = ["AllToAllPlanner"]

GENERATOR = "balancing"
# Paths of each pair of ranks that are looked for; fewer where searching for them would look at more links than this.
_MOST_PATHS, _FEWEST_PATHS = 8, 2
_SEARCH_WORK = 200_000_000
# Paths are cheap or dear for a chunk of this size, in weights of links that have so many bits.
_USUAL_BYTES = 2**20
_WEIGHT_BITS = 30
_MOST_PASSES = 6
# A block is cut so that the slowest port holds the largest chunk for about this part of the bound, into no more chunks
# than the second number, all blocks together into about as many as the third.
_PARTS, _MOST_CHUNKS, _MOST_IN_ALL = 40, 32, 6_000
_LARGEST_CHUNKS = 4096  # that may be asked for
_PICOSECONDS = 10**12
_MOST_BYTES = 2**55


class AllToAllPlanner:
    """Plans all_to_alls between the ranks of `group` (None: all), block by block of any size, on a topology that stays
    the same: for a mixture of experts, whose blocks are others in every step.

    `blocking`: a transfer holds its links for latency + serialization. Ranks outside the group do not relay. Making a
    planner takes about a second for 64 ranks, `plan` some milliseconds.

    Raises ScheduleError for a group that is not of different ranks of the topology.
    """

    def __init__(
        self, topology: Topology, group: Sequence[int] | NDArray[np.int32] | None = None, blocking: bool = False
    ) -> None:
        if group is not None:
            group = np.asarray(group, np.int32)
            members, total = group.tolist(), topology.num_ranks
            if not members or len(set(members)) != len(members) or min(members) < 0 or max(members) >= total:
                raise ScheduleError(f"a group must be different ranks of {topology.name}'s {total}, got {members}")
        self.topology, self.group, self.blocking = topology, group, blocking
        self._alone = topology if group is None else subset(topology, group)
        lanes = None if blocking else Lanes.of(self._alone)  # the plan puts one transfer at a time on a link
        searched = self._alone if lanes is None else lanes.topology
        holds = least_holds(searched.graph, _USUAL_BYTES, True, Holding.BLOCKING).astype(object)
        longest = max(1, int(holds.max(initial=1)))
        weight = np.maximum(1, (holds << _WEIGHT_BITS) // longest).astype(np.int64)
        self._alternatives = Alternatives(searched.graph, np.zeros(0, np.uint8), weight, _paths(searched))
        offset, links = self._alternatives.hops
        if lanes is not None:
            links = lanes.link[links]
        if group is not None:
            links = links_within(topology, group).astype(np.int32)[links]
        self._hops = offset, links

    def plan(self, sizes: NDArray[np.integer[Any]], chunks: int | None = None) -> Schedule:
        """A timed schedule of the all_to_all in which rank s has `sizes[s, d]` bytes for rank d, with a bound that its
        time is compared with by `verify`. It is not verified: that takes about as long again
        (`hocket.schedule.verify`).

        `chunks`: into so many each block is cut; without it, few where the blocks are many, more where few blocks are
        most of the bytes. What a rank has for itself stays where it is. The same sizes give the same schedule.

        Raises ScheduleError for sizes of another shape or type or below 0 and for such chunks, Infeasible where no
        links lead from a rank to one it has something for.
        """
        blocks = self._checked(sizes)
        bound = self.bound(blocks)
        if chunks is None:
            chunks = self._cut(blocks, bound)
        elif not isinstance(chunks, int) or not 1 <= chunks <= _LARGEST_CHUNKS:
            raise ScheduleError(f"chunks of a block: expected a whole number from 1 to {_LARGEST_CHUNKS}, got {chunks}")
        collective = Collective.uneven(Kind.ALL_TO_ALL, len(blocks), blocks.ravel().tolist(), chunks)
        return self.plan_collective(collective, bound)

    def plan_collective(self, collective: Collective, bound: Bound | None = None) -> Schedule:
        """The same for an all_to_all that is cut into chunks already."""
        ranks = collective.num_ranks
        sizes = collective.chunk_bytes
        pair = np.repeat(np.arange(ranks**2, dtype=np.int32), collective.chunks_per_rank)
        sent = np.flatnonzero((sizes > 0) & (pair // ranks != pair % ranks))
        chunk, route, start_ps, finish_ps = self._alternatives.plan(
            pair[sent], sizes[sent], _MOST_PASSES, self.blocking
        )
        offset, links = self._hops
        return Schedule(
            collective=collective,
            topology=self.topology,
            route_offset=offset,
            route_links=links,
            chunk=sent.astype(np.int32)[chunk],
            route=route,
            reduce=np.zeros(len(chunk), np.bool_),
            start_ps=start_ps,
            finish_ps=finish_ps,
            timed=True,
            blocking=self.blocking,
            bound=bound,
            generator=GENERATOR,
            seed=0,
            group=self.group,
        )

    def bound(self, sizes: NDArray[np.int64]) -> Bound:
        """A time that no schedule beats: bytes (int64, ranks x ranks) that enter and leave ranks, machines and what
        else the topology is parted into, over the bandwidth there. `bound_of_any_chunks` of `hocket.schedule` may know
        more, and takes longer."""
        worst = Bound(0, "no block has a byte")
        for partition in self._alone.partitions:
            part, number = partition.part[: len(sizes)], len(partition.names)
            for name, blocks, bandwidth in (
                ("egress", sizes, partition.egress_bandwidth.tolist()),
                ("ingress", sizes.T, partition.ingress_bandwidth.tolist()),
            ):
                moved = np.zeros((number, len(sizes)), np.int64)
                np.add.at(moved, part, blocks)
                crossing = moved.sum(axis=1)
                np.subtract.at(crossing, part, moved[part, np.arange(len(sizes))])
                for called, size, flow in zip(partition.names.tolist(), crossing.tolist(), bandwidth, strict=True):
                    # Where nothing can cross, `plan` says which ranks are apart.
                    if size and flow and (time_ps := -(-size * _PICOSECONDS // flow)) > worst.time_ps:
                        worst = Bound(time_ps, f"{name} of {partition.one.format(called)}")
        return worst

    def chunks(self, sizes: NDArray[np.integer[Any]]) -> int:
        """Into how many chunks `plan` cuts each block of these sizes. Raises as `plan`."""
        blocks = self._checked(sizes)
        return self._cut(blocks, self.bound(blocks))

    def _cut(self, blocks: NDArray[np.int64], bound: Bound) -> int:
        moved = blocks[~np.eye(len(blocks), dtype=np.bool_)]
        number = np.count_nonzero(moved)
        if not number or not self._alone.num_links:
            return 1
        held_ps = int(moved.max()) * _PICOSECONDS // int(self._alone.bandwidth.min())
        parts = -(-held_ps * _PARTS // max(1, bound.time_ps))
        return int(max(1, min(parts, _MOST_CHUNKS, round(_MOST_IN_ALL / number), int(moved.max()))))

    def _checked(self, sizes: NDArray[np.integer[Any]]) -> NDArray[np.int64]:
        ranks, wanted = self._alone.num_ranks, "a square array of whole numbers, the bytes from each rank to each"
        if not isinstance(sizes, np.ndarray) or not np.issubdtype(sizes.dtype, np.integer):
            raise ScheduleError(f"sizes must be {wanted}, got {getattr(sizes, 'dtype', type(sizes).__name__)}")
        if sizes.shape != (ranks, ranks):
            raise ScheduleError(f"sizes must be {wanted} of {ranks} ranks, got the shape {sizes.shape}")
        if sizes.min() < 0:
            source, destination = np.argwhere(sizes < 0)[0].tolist()
            raise ScheduleError(
                f"sizes must not be negative, got {sizes[source, destination]} from rank {source} to rank {destination}"
            )
        if int(sizes.max()) >= _MOST_BYTES or int(sizes.sum(dtype=object)) >= _MOST_BYTES:
            raise ScheduleError("sizes must be below 2^55 bytes (32 PiB) in all")
        return sizes.astype(np.int64)


def _paths(topology: Topology) -> int:
    """How many to look for, of each pair."""
    pairs = topology.num_ranks * max(1, topology.num_ranks - 1)
    return int(min(_MOST_PATHS, max(_FEWEST_PATHS, _SEARCH_WORK // (pairs * max(1, topology.num_links)))))
