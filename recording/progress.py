"""How far each rank came in each group: what it issued last and what it completed last."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from hocket.recording.matching import ABSENT, Matched
from hocket.recording.waits import NONE

__all__ = ["Stand", "find_stands"]


@dataclass(frozen=True)
class Stand:
    """Numbers of the last collective of a group that a rank issued, and of the last that it completed; None where there
    is none. `line` is the script's that issued the last one, "" when not known; `kind` what it is."""

    group: int
    title: str
    rank: int
    issued: int | None
    completed: int | None
    kind: str
    line: str

    def text(self) -> str:
        """A line for people."""
        head = f"stood: rank {self.rank}, group {self.group} ({self.title}):"
        if self.issued is None:
            return f"{head} issued none"
        place = f" ({self.line})" if self.line else ""
        completed = "completed none" if self.completed is None else f"completed #{self.completed}"
        return f"{head} issued {self.kind} #{self.issued}{place}, {completed}"


def find_stands(groups: Sequence[Matched], recorded: Sequence[int]) -> Iterator[Stand]:
    """Where the recorded ranks of each group stood at the end, of the groups in which they do not all stand alike or
    did not complete what they issued."""
    for group in groups:
        stands = [_stand(group, rank) for rank in sorted(set(group.group.ranks) & set(recorded))]
        if len({(stand.issued, stand.completed) for stand in stands}) > 1 or stands[0].issued != stands[0].completed:
            yield from stands


def _stand(group: Matched, rank: int) -> Stand:
    if rank not in group.ranks:
        return Stand(group.number, group.group.title, rank, None, None, "", "")
    member = group.ranks.index(rank)
    issued = np.flatnonzero(group.rows[member] != ABSENT)
    completed = np.flatnonzero(group.end[member] != NONE)
    shape = group.catalogue.shapes[group.shape[member, issued[-1]]]
    last = int(group.sequence[completed[-1]]) if len(completed) else None
    return Stand(group.number, group.group.title, rank, int(group.sequence[issued[-1]]), last, shape.kind, shape.line)
