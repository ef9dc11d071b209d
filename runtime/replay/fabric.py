"""What a backend gives a replay: operations of recorded kinds and sizes, and a word with the others beside them."""

from collections.abc import Callable, Sequence
from typing import Protocol

from hocket.runtime.replay.operation import Operation

__all__ = ["Ended", "Fabric", "Pending", "Start"]

Ended = Callable[[], None]


class Pending(Protocol):
    """An operation under way."""

    def wait(self) -> object:
        """Returns when it is complete; called once."""


Start = Callable[[Ended], Pending]
"""Starts an operation. The argument is called where its end is seen before somebody waits, from any thread."""


class Fabric(Protocol):
    """One process' end of a world of `size` ranks.

    Threads may start and wait at once; what is of one group, or one pair of ranks, starts in an order that all have.
    `gather` is no operation of the job, and collectors do not take it for one.
    """

    rank: int
    size: int

    def prepare(self, operations: Sequence[Operation]) -> list[Start]:
        """How each of this rank's operations starts, on buffers that all of them share."""

    def gather(self, value: bytes) -> list[bytes]:
        """The values of all ranks by rank on rank 0, nothing on the others; returns when all have given theirs."""

    def close(self) -> None:
        """Takes leave, when all ranks are done."""
