"""What a backend gives the executor: point-to-point messages, synchronization, and its own collectives."""

from typing import Protocol

from hocket.runtime.run.datatypes import Array, DataType, ReduceOp
from hocket.schedule.collective import Kind

__all__ = ["Backend", "Pending"]


class Pending(Protocol):
    """A message on its way."""

    def wait(self) -> object:
        """Returns when the message's memory may be used again."""


class Backend(Protocol):
    """One process' end of a world of `size` ranks. Messages of one (source, destination, channel) keep their order.

    `send`, `receive` may be called by many threads at once, the others by one thread while no message is under way.
    """

    rank: int
    size: int

    def send(self, data: Array, peer: int, channel: int) -> Pending:
        """Starts to send contiguous `data`, which must not change before the message is done."""

    def receive(self, data: Array, peer: int, channel: int) -> None:
        """Fills contiguous `data` with the connection's next message, which must have its size."""

    def barrier(self) -> None:
        """Returns when every rank has called it."""

    def gather_all(self, values: list[int]) -> list[list[int]]:
        """Every rank's values, by rank."""

    def collective(
        self, kind: Kind, source: Array, target: Array, data_type: DataType, op: ReduceOp, root: int
    ) -> None:
        """The backend's own collective, out of place, in NCCL's layout. Raises HocketError where it has none."""
