"""How far each rank came in each group: what it issued last and what it completed last."""

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from hocket.recording.calls import CallShape
from hocket.recording.matching import ABSENT, Matched
from hocket.recording.waits import NONE

__all__ = ["GroupStands", "Stand"]


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


class GroupStands:
    """Where the recorded ranks of a group stood at the end, told of its collectives in order."""

    def __init__(self) -> None:
        self._issued: dict[int, tuple[int, CallShape]] = {}
        self._completed: dict[int, int] = {}

    def add(self, block: Matched) -> None:
        """Takes in the next collectives."""
        self._block = block
        last = len(block.sequence) - 1
        issued, completed = block.rows[:, ::-1] != ABSENT, block.end[:, ::-1] != NONE
        for found, there in ((last - issued.argmax(axis=1), issued), (last - completed.argmax(axis=1), completed)):
            for member in np.flatnonzero(there.any(axis=1)).tolist():
                rank, sequence = block.ranks[member], int(block.sequence[found[member]])
                if there is issued:
                    self._issued[rank] = sequence, block.catalogue.shapes[block.shape[member, found[member]]]
                else:
                    self._completed[rank] = sequence

    def found(self, recorded: Collection[int]) -> list[Stand]:
        """Of the ranks that recorded something, where they do not all stand alike or did not complete what they
        issued."""
        stands = [self._stand(rank) for rank in sorted(set(self._block.group.ranks) & set(recorded))]
        alike = len({(stand.issued, stand.completed) for stand in stands}) == 1
        return [] if alike and stands[0].issued == stands[0].completed else stands

    def _stand(self, rank: int) -> Stand:
        group = self._block.number, self._block.group.title
        if rank not in self._issued:
            return Stand(*group, rank, None, None, "", "")
        sequence, shape = self._issued[rank]
        return Stand(*group, rank, sequence, self._completed.get(rank), shape.kind, shape.line)
