"""Link orders, which some tools write instead of a schedule: the chunks of every link in the order in which they go
over it, and no times. The earliest causal times are found here."""

from dataclasses import dataclass
from heapq import heappop, heappush

import numpy as np
from numpy.typing import NDArray

from hocket.base.errors import ScheduleError
from hocket.schedule.collective import Collective
from hocket.schedule.schedule import Schedule
from hocket.topology import Topology

__all__ = ["LinkOrders"]

_PICOSECONDS = 10**12


@dataclass(frozen=True, eq=False)
class LinkOrders:
    """Transfers of chunks over direct links between ranks, length M: `link` and `chunk` int32; those of one link go in
    this order."""

    collective: Collective
    topology: Topology
    link: NDArray[np.int32]
    chunk: NDArray[np.int32]
    generator: str

    def replay(self) -> Schedule:
        """The timed schedule in which every transfer starts as soon as its source holds the chunk and the one before
        it has left the link, which is held for latency + serialization (TACOS' model, `blocking`).

        No causal execution of the same orders is quicker. Raises ScheduleError when there is none at all: a link waits
        for a chunk that cannot have come.
        """
        queues = self._queues()
        start = np.full(len(self.link), -1, np.int64)
        finish = np.zeros(len(self.link), np.int64)
        lasts = self._lasts
        held, src, dst = self._held_at_first(), self.topology.src.tolist(), self.topology.dst.tolist()
        link_of, chunk_of = self.link.tolist(), self.chunk.tolist()
        leaving = [self.topology.links_out_of.of(rank).tolist() for rank in range(self.topology.num_ranks)]
        idle = [True] * self.topology.num_links
        under_way: list[tuple[int, int]] = []

        def begin(link: int, now: int) -> None:
            if idle[link] and queues[link] and (src[link], chunk_of[queues[link][-1]]) in held:
                transfer = queues[link].pop()
                idle[link] = False
                start[transfer], finish[transfer] = now, now + lasts[transfer]
                heappush(under_way, (int(finish[transfer]), transfer))

        for link in range(len(idle)):
            begin(link, 0)
        while under_way:
            now, transfer = heappop(under_way)
            link = link_of[transfer]
            held.add((dst[link], chunk_of[transfer]))
            idle[link] = True
            for other in (link, *leaving[dst[link]]):
                begin(other, now)
        stuck = next((link for link, queue in enumerate(queues) if queue), None)
        if stuck is not None:
            raise ScheduleError(
                f"no causal execution: {self.topology.link_name(stuck)} is to send chunk {chunk_of[queues[stuck][-1]]} "
                f"next, which rank {src[stuck]} never gets, or only after it ({sum(map(len, queues))} transfers wait)"
            )
        order = np.lexsort((self.link, start))
        return Schedule(
            collective=self.collective,
            topology=self.topology,
            route_offset=np.arange(self.topology.num_links + 1, dtype=np.int64),
            route_links=np.arange(self.topology.num_links, dtype=np.int32),
            chunk=self.chunk[order],
            route=self.link[order],
            reduce=np.zeros(len(order), np.bool_),
            start_ps=start[order],
            finish_ps=finish[order],
            timed=True,
            blocking=True,
            bound=None,
            generator=self.generator,
            seed=None,
        )

    def shared_time_ps(self) -> int:
        """When the last chunk would arrive if links carried any number of chunks at once, each as quickly as if alone:
        what a tool counts that never marks links busy. Of chunks that do not arrive: 0."""
        held = self._held_at_first()
        arrival = dict.fromkeys(held, 0)
        lasts = self._lasts
        src, dst = self.topology.src[self.link].tolist(), self.topology.dst[self.link].tolist()
        sends: dict[tuple[int, int], list[int]] = {}
        for transfer, chunk in enumerate(self.chunk.tolist()):
            sends.setdefault((src[transfer], chunk), []).append(transfer)
        events = [(0, *place) for place in held]
        while events:
            now, rank, chunk = heappop(events)
            for transfer in sends.pop((rank, chunk), ()):
                place, then = (dst[transfer], chunk), now + lasts[transfer]
                if then < arrival.get(place, then + 1):
                    arrival[place] = then
                    heappush(events, (then, *place))
        return max(arrival.values())

    @property
    def _lasts(self) -> list[int]:
        """Picoseconds of each transfer."""
        bandwidth, latency = self.topology.bandwidth.tolist(), self.topology.latency_ps.tolist()
        sizes = self.collective.chunk_bytes.tolist()
        return [
            latency[link] - (-sizes[chunk] * _PICOSECONDS // bandwidth[link])
            for link, chunk in zip(self.link.tolist(), self.chunk.tolist(), strict=True)
        ]

    def _held_at_first(self) -> set[tuple[int, int]]:
        return {(rank, chunk) for chunk, rank in enumerate(self.collective.origin.tolist())}

    def _queues(self) -> list[list[int]]:
        """The transfers of each link, the first one last."""
        queues: list[list[int]] = [[] for _ in range(self.topology.num_links)]
        for transfer in reversed(range(len(self.link))):
            queues[int(self.link[transfer])].append(transfer)
        return queues
