"""Which ranks share a node: memory channels lead to those, port channels to all others."""

from dataclasses import dataclass

from hocket.base.errors import ScheduleError
from hocket.schedule import Schedule

__all__ = ["RankNodes"]


@dataclass(frozen=True, slots=True)
class RankNodes:
    """The node of each rank."""

    node: tuple[int, ...]

    @classmethod
    def of(cls, schedule: Schedule, ranks_per_node: int | None) -> "RankNodes":
        """The machines of the schedule's topology, or blocks of `ranks_per_node`. Raises ScheduleError where the ranks
        are no multiple of that."""
        n = schedule.collective.num_ranks
        if ranks_per_node is None:
            return cls(tuple(schedule.topology.machine[schedule.ranks].tolist()))
        if ranks_per_node < 1 or n % ranks_per_node:
            raise ScheduleError(f"{n} ranks are not nodes of {ranks_per_node} each")
        return cls(tuple(rank // ranks_per_node for rank in range(n)))

    def together(self, rank: int, other: int) -> bool:
        return self.node[rank] == self.node[other]

    def channel_type(self, rank: int, other: int) -> str:
        return "memory" if self.together(rank, other) else "port"
