"""Somebody who slows the job down, by what it is known and how it is told."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from hocket.base.rank_names import format_ranks
from hocket.base.units import format_time

__all__ = ["CHANCE", "SHARE", "Straggler", "machine_members", "machine_name", "share_of", "time_text"]

# The least share of the job's time that must be lost, and the greatest chance of naming anybody of a kind wrongly.
SHARE = 0.01
CHANCE = 0.002

_DID = {
    "arrivals": "kept the others waiting by its own work",
    "own work": "worked longer between its waits",
    "transfers": "took longer",
}


@dataclass(frozen=True)
class Straggler:
    """Who costs the job `cost_ns`, which is `share` of its time, more than the median of those like it; `chance` is how
    often chance would name one of them. `kind` is "rank", "machine", "stage" (the ranks at one place of several
    pipelines), "link" or "group", `ranks` are its own; `by` says what it was found by: "arrivals", "own work" or
    "transfers".

    `pattern` of a rank by its arrivals is "sporadic" where half of what it owes comes from at most 5 % of its
    collectives, else "persistent"; by own work it is "recent" where only the end of the job, from half of it or later
    on, is beyond chance.
    """

    kind: str
    name: str
    ranks: tuple[int, ...]
    pattern: str
    cost_ns: int
    share: float
    chance: float
    detail: str
    by: str

    def text(self) -> str:
        """A line for people."""
        cost = f"{time_text(self.cost_ns)}, {self.share:.1%} of the time"
        pattern = f" ({self.pattern})" if self.pattern else ""
        detail = f"; {self.detail}" if self.detail else ""
        more = f"{cost} more than the like; by chance {self.chance:.3f}"
        return f"straggler{pattern}: {self.name} {_DID[self.by]}: {more}{detail}"


def machine_members(machine: Mapping[int, int], number: int) -> tuple[int, ...]:
    """The ranks on a machine, in order."""
    return tuple(sorted(rank for rank, of in machine.items() if of == number))


def machine_name(ranks: tuple[int, ...]) -> str:
    """What a machine is called: hosts' names are not known."""
    return f"the machine of ranks {format_ranks(ranks)}"


def share_of(cost_ns: int, elapsed_ns: int) -> float:
    """The part of the job's time."""
    return float(np.float64(cost_ns) / elapsed_ns) if elapsed_ns else 0.0


def time_text(nanoseconds: int) -> str:
    """A time for people."""
    return format_time(nanoseconds * 1000)
