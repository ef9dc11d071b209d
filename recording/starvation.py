"""Ranks that come late because their host gave them no core: the host is to be named for it, not the rank's work."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from hocket.base.units import format_time
from hocket.recording.stream_lines import CoresLine

__all__ = ["Starved", "waited_beyond_others"]


@dataclass(frozen=True)
class Starved:
    """A rank that would be named for `cost_ns`, but waited `waiting_ns` of the job's time for a core, `beyond_ns` more
    than the median of the others; or a `link` that would be, whose receiver `rank` and sender waited so long, all of
    which counts, for messages move only when their hosts have a core for them."""

    rank: int
    cost_ns: int
    waiting_ns: int
    beyond_ns: int
    link: str = ""

    def text(self) -> str:
        """A line for people."""
        waiting, beyond, cost = (format_time(value * 1000) for value in (self.waiting_ns, self.beyond_ns, self.cost_ns))
        if self.link:
            return (
                f"starved: {self.link} took {cost} more than the like: its ranks could have run and had no core for"
                f" {waiting}; are there fewer cores than processes, or other programs?"
            )
        return (
            f"starved: rank {self.rank} kept the others waiting for {cost}: it could have run and had no core for"
            f" {waiting}, {beyond} more than the others; are there fewer cores than processes, or other programs?"
        )


def waited_beyond_others(cores: Mapping[int, CoresLine], elapsed_ns: int) -> dict[int, tuple[int, int]]:
    """Of each rank that tells: how much of `elapsed_ns` it waited for a core, and how much more than the median of the
    others, ns; nothing of a single one."""
    if len(cores) < 2:
        return {}
    waited = {rank: round(line.waiting / line.wall * elapsed_ns) for rank, line in cores.items() if line.wall}
    found = {}
    for rank, own in waited.items():
        others = [value for other, value in waited.items() if other != rank]
        found[rank] = own, own - round(float(np.median(others))) if others else 0
    return found
