"""What each operation reads and writes: the operands it must have, and which of them are packets."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from hocket.translator.mscclpp.plan import Op, Operand, OpName

__all__ = ["Access", "OperandPlace", "OperandShape", "place_of", "shape_of"]


class OperandPlace(Enum):
    """Where an operand lies."""

    LOCAL = "a buffer of its own rank"
    REMOTE = "a remote buffer"
    SWITCH = "a switch channel"


def place_of(operand: Operand) -> OperandPlace | None:
    """The one place an operand names; None where it names none or several."""
    named = {
        OperandPlace.LOCAL: operand.type,
        OperandPlace.REMOTE: operand.buffer_id,
        OperandPlace.SWITCH: operand.switch_channel_id,
    }
    places = [place for place, value in named.items() if value is not None]
    return places[0] if len(places) == 1 else None


@dataclass(frozen=True, slots=True)
class Access:
    """An operand's place; `packet`: it is in scratch, as packets, which the reader waits for where `waits`."""

    place: OperandPlace
    packet: bool = False
    waits: bool = True


_LOCAL, _REMOTE, _SWITCH = Access(OperandPlace.LOCAL), Access(OperandPlace.REMOTE), Access(OperandPlace.SWITCH)
_PACKET, _REMOTE_PACKET = Access(OperandPlace.LOCAL, packet=True), Access(OperandPlace.REMOTE, packet=True)
_SWITCH_PACKET = Access(OperandPlace.SWITCH, packet=True)


@dataclass(frozen=True, slots=True)
class OperandShape:
    """The operands of an op: `sources` and `destinations`, of each list the last once or (`many_...`) more often.

    `pairs`: source k goes to destination k, as many of each; else the sum of all sources goes to every destination.
    `channels`: the channel types it can use; none: it uses no channel.
    """

    sources: tuple[Access, ...]
    destinations: tuple[Access, ...]
    channels: tuple[str, ...] = ()
    many_sources: bool = False
    many_destinations: bool = False
    pairs: bool = False

    def source(self, position: int) -> Access:
        return self.sources[min(position, len(self.sources) - 1)]

    def destination(self, position: int) -> Access:
        return self.destinations[min(position, len(self.destinations) - 1)]

    def problem(self, op: Op) -> str | None:
        """What is wrong with an op's operands, in words."""
        for side, operands, expected, many in (
            ("src_buff", op.sources, self.sources, self.many_sources),
            ("dst_buff", op.destinations, self.destinations, self.many_destinations),
        ):
            found = _misplaced(side, operands, expected, many)
            if found:
                return found
        if self.pairs and len(op.sources) != len(op.destinations):
            return f"{len(op.sources)} src_buff for {len(op.destinations)} dst_buff; it needs one for each"
        if len({operand.size for operand in (*op.sources, *op.destinations)}) > 1:
            return "its operands differ in size; the runtime goes by the first and moves wrong bytes for the others"
        if self.pairs and len({source.type for source in op.sources}) > 1 and op.channel_type == "memory":
            return "its src_buff are of different buffers; the runtime takes the first one's for all"
        return None


def _misplaced(side: str, operands: Sequence[Operand], expected: tuple[Access, ...], many: bool) -> str | None:
    if len(operands) < len(expected) or (len(operands) > len(expected) and not many):
        return f"{len(operands)} {side}, expected {len(expected)}{' or more' if many else ''}"
    for position, operand in enumerate(operands):
        access = expected[min(position, len(expected) - 1)]
        if place_of(operand) is not access.place:
            return f"{side} {position} must name {access.place.value} (and nothing else)"
        if access.packet and operand.type not in (None, "s"):
            return f"{side} {position} must be in scratch: packets are"
    return None


# a proxy copies packets as they are, and waits for none
_PACKETS_OVER_PORT = OperandShape(
    (Access(OperandPlace.LOCAL, packet=True, waits=False),), (_REMOTE_PACKET,), ("port",), True, True, pairs=True
)
# the operations that move data
_SHAPES = {
    OpName.PUT: OperandShape((_LOCAL,), (_REMOTE,), ("memory", "port"), True, True, pairs=True),
    OpName.PUT_SIGNAL: OperandShape((_LOCAL,), (_REMOTE,), ("port",), True, True, pairs=True),
    OpName.PUT_SIGNAL_FLUSH: OperandShape((_LOCAL,), (_REMOTE,), ("port",), True, True, pairs=True),
    OpName.GET: OperandShape((_REMOTE,), (_LOCAL,), ("memory",), True, True, pairs=True),
    OpName.COPY: OperandShape((_LOCAL,), (_LOCAL,)),
    OpName.REDUCE: OperandShape((_LOCAL, _LOCAL), (_LOCAL,), many_sources=True),
    OpName.REDUCE_SEND: OperandShape((_LOCAL, _LOCAL), (_LOCAL, _REMOTE), ("memory",), True, True),
    OpName.READ_REDUCE: OperandShape((_LOCAL, _REMOTE), (_LOCAL,), ("memory",), many_sources=True),
    OpName.READ_REDUCE_SEND: OperandShape((_LOCAL, _REMOTE), (_LOCAL, _REMOTE), ("memory",), True, True),
    OpName.PUT_PACKETS: OperandShape((_LOCAL,), (_REMOTE_PACKET,), ("memory",), True, True, pairs=True),
    OpName.READ_PUT_PACKETS: OperandShape((_PACKET,), (_REMOTE_PACKET,), ("memory", "port"), many_destinations=True),
    OpName.COPY_PACKETS: OperandShape((_LOCAL,), (_PACKET,)),
    OpName.UNPACK_PACKETS: OperandShape((_PACKET,), (_LOCAL,)),
    OpName.REDUCE_PACKETS: OperandShape((_LOCAL, _PACKET), (_LOCAL,), many_sources=True),
    OpName.REDUCE_SEND_PACKETS: OperandShape((_LOCAL, _PACKET), (_LOCAL, _REMOTE_PACKET), ("memory",), True, True),
    OpName.REDUCE_COPY_PACKETS: OperandShape((_LOCAL, _PACKET), (_LOCAL, _PACKET), many_sources=True),
    OpName.REDUCE_COPY_SEND_PACKETS: OperandShape(
        (_LOCAL, _PACKET), (_LOCAL, _PACKET, _REMOTE_PACKET), ("memory",), True, True
    ),
    OpName.GROUP_REDUCE: OperandShape((_SWITCH,), (_LOCAL,), ("switch",)),
    OpName.GROUP_REDUCE_STORE: OperandShape((_SWITCH,), (_SWITCH,), ("switch",)),
    OpName.GROUP_STORE: OperandShape((_LOCAL,), (_SWITCH,), ("switch",)),
    OpName.GROUP_STORE_PACKETS: OperandShape((_PACKET,), (_SWITCH_PACKET,), ("switch",)),
}


def shape_of(op: Op) -> OperandShape | None:
    """The operands of an op; None: it moves no data."""
    if op.name is OpName.PUT_PACKETS and op.channel_type == "port":
        return _PACKETS_OVER_PORT
    return _SHAPES.get(op.name)
