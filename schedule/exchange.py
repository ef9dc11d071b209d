"""A program as rounds of messages, for transports that can only send and receive.

The interpreter of MSCCL has a FIFO behind each connection; a send of NCCL, MPI or torch.distributed may wait until it
is received (rendezvous). In an exchange plan a rank goes through numbered rounds: it exchanges messages, all at once,
and then works on its own memory. Every rank computes the same plan from the same program.
"""

from dataclasses import dataclass
from typing import NamedTuple

import msgspec

from hocket.base.errors import FormatError
from hocket.schedule.program import BUFFERS

__all__ = [
    "EXCHANGE_BUFFERS",
    "STAGING",
    "Exchange",
    "ExchangeMessage",
    "ExchangePlan",
    "LocalStep",
    "Piece",
    "RankPlan",
]

#: The buffer that a plan adds to a program's: messages that wait to be reduced or to be sent.
STAGING = "t"
EXCHANGE_BUFFERS = (*BUFFERS, STAGING)


class Piece(NamedTuple):
    """Where chunks begin: a buffer of EXCHANGE_BUFFERS, and an offset in chunks."""

    buffer: str
    offset: int


class ExchangeMessage(NamedTuple):
    """So many chunks to or from a rank."""

    peer: int
    place: Piece
    chunks: int


class LocalStep(NamedTuple):
    """`target` becomes `source`, or `source` reduced with `other`, chunk by chunk. `target` may be `source` or `other`,
    and overlaps neither in another way."""

    source: Piece
    other: Piece | None
    target: Piece
    chunks: int


@dataclass(frozen=True, slots=True)
class Exchange:
    """What one rank does in one round: all messages at once, in any order (but those between two ranks in one
    direction in the order given), then the local steps, one after another.

    No message is received into chunks that another message of the round is received into or sent from. `round` is the
    same number at both ends of a message; round 0 has no messages.
    """

    round: int
    sends: tuple[ExchangeMessage, ...]
    receives: tuple[ExchangeMessage, ...]
    local_steps: tuple[LocalStep, ...]


@dataclass(frozen=True, slots=True)
class RankPlan:
    """One rank's exchanges, by rising rounds; rounds in which it does nothing are left out."""

    staging_chunks: int
    exchanges: tuple[Exchange, ...]


@dataclass(frozen=True, slots=True)
class ExchangePlan:
    """What `hocket.schedule.plan_exchanges` makes of a program, for in-place or for out-of-place calls."""

    in_place: bool
    ranks: tuple[RankPlan, ...]

    @property
    def rounds(self) -> int:
        """Rounds with messages."""
        return max((plan.exchanges[-1].round for plan in self.ranks if plan.exchanges), default=0)

    def to_json(self) -> bytes:
        """Pieces, messages and local steps are arrays of their fields."""
        return msgspec.json.encode(self)

    @classmethod
    def from_json(cls, data: bytes, source: str) -> "ExchangePlan":
        """Raises FormatError, naming `source`, for what `to_json` cannot have written."""
        try:
            return msgspec.json.decode(data, type=cls)
        except (msgspec.DecodeError, RecursionError) as error:
            raise FormatError(f"{source}: not an exchange plan: {error}") from error
