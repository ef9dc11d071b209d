"""Asynchronous calls without a wait in their rank's stream: nothing in its trace depends on them."""

from dataclasses import dataclass

import numpy as np

from hocket.recording.operations import PEER_TO_PEER
from hocket.recording.recording import Recording
from hocket.recording.waits import NONE

__all__ = ["Unwaited", "find_unwaited"]


@dataclass(frozen=True)
class Unwaited:
    """Of a rank how many of its `of` asynchronous calls have no wait, and what the first of them is."""

    rank: int
    calls: int
    of: int
    first: str

    def text(self) -> str:
        """A line for people."""
        calls = f"{self.calls} of {self.of} asynchronous calls"
        return f"unwaited: rank {self.rank}: no wait was seen for {calls}, nothing depends on them: first {self.first}"


def find_unwaited(recording: Recording) -> Unwaited | None:
    """None where there are none. What did not end is not among them, but sends are, whose end only a wait tells."""
    columns = recording.columns
    asynchronous = recording.by_shape(lambda shape: shape.is_async).astype(bool)
    over = (columns.end != NONE) | recording.by_shape(lambda shape: shape.kind == "send").astype(bool)
    rows = np.flatnonzero(asynchronous & over & (columns.wait_end == NONE))
    if len(rows) == 0:
        return None
    return Unwaited(recording.rank, len(rows), int(asynchronous.sum()), _name(recording, int(rows[0])))


def _name(recording: Recording, row: int) -> str:
    shape = recording.shapes[recording.columns.shape[row]]
    number = "" if shape.kind in PEER_TO_PEER else f" #{recording.columns.sequence[row]}"
    return f"{shape.kind}{number} of {shape.group.title}{f' ({shape.line})' if shape.line else ''}"
