"""What the engine hands back, before anything is made of it."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from hocket.simulator.packets import PacketTraffic

__all__ = ["Outcome"]


@dataclass(frozen=True, eq=False)
class Outcome:
    """Times of each node of the workload (-1: never), the use of each link, and what each link did when (if recorded).

    `cause` and `slowed_ps` as in Prediction. `bin_busy_ps` is the busy time of each link in bins of `bin_ps`,
    link after link; empty unless asked for. `packets` is there of model packet. `folded` is how many ranks each that
    was simulated stood for. All columns
    int64 except `cause`, `occupancy_link`, `occupancy_collective` and `occupancy_message`: int32.
    """

    start_ps: NDArray[np.int64]
    finish_ps: NDArray[np.int64]
    cause: NDArray[np.int32]
    slowed_ps: NDArray[np.int64]
    link_busy_ps: NDArray[np.int64]
    link_bytes: NDArray[np.int64]
    link_messages: NDArray[np.int64]
    occupancy_link: NDArray[np.int32]
    occupancy_collective: NDArray[np.int32]
    occupancy_message: NDArray[np.int32]
    occupancy_start_ps: NDArray[np.int64]
    occupancy_finish_ps: NDArray[np.int64]
    bin_ps: int
    bin_busy_ps: NDArray[np.int64]
    events: int
    folded: int = 1
    packets: PacketTraffic | None = None

    def unfolded(self, order: int, link: NDArray[np.int32]) -> "Outcome":
        """The outcome for `order` ranks of that of one, when `link` stands for each link. Nobody waits for another."""
        return replace(
            self,
            start_ps=np.repeat(self.start_ps, order),
            finish_ps=np.repeat(self.finish_ps, order),
            cause=np.arange(order, dtype=np.int32),
            slowed_ps=np.repeat(self.slowed_ps, order),
            link_busy_ps=self.link_busy_ps[link],
            link_bytes=self.link_bytes[link],
            link_messages=self.link_messages[link],
            bin_busy_ps=self.bin_busy_ps.reshape(len(link), -1)[link].ravel(),
            events=self.events * order,
            folded=order,
        )

    def finish_of_ranks(self, rank: NDArray[np.int32], num_ranks: int) -> NDArray[np.int64]:
        """When the last node of each rank ends (int64); `rank` is that of each node."""
        finish = np.zeros(num_ranks, np.int64)
        np.maximum.at(finish, rank, self.finish_ps)
        return finish

    def on_all_links(self, link: NDArray[np.int32]) -> "Outcome":
        """The outcome of a job in which `link` stood for each link."""
        return replace(
            self,
            link_busy_ps=self.link_busy_ps[link],
            link_bytes=self.link_bytes[link],
            link_messages=self.link_messages[link],
            bin_busy_ps=self.bin_busy_ps.reshape(len(link), -1)[link].ravel(),
        )

    @classmethod
    def without_network(
        cls, start_ps: NDArray[np.int64], finish_ps: NDArray[np.int64], num_ranks: int, num_links: int
    ) -> "Outcome":
        """Times of nodes, and links that did nothing."""
        idle, none64, none32 = np.zeros(num_links, np.int64), np.zeros(0, np.int64), np.zeros(0, np.int32)
        itself = np.arange(len(start_ps), dtype=np.int32)
        links = (idle, idle, idle, none32, none32, none32, none64, none64)
        return cls(
            start_ps, finish_ps, itself, np.zeros(num_ranks, np.int64), *links, bin_ps=1, bin_busy_ps=none64, events=0
        )
