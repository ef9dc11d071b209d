"""What is known of a rank without its calls: who it is, its groups and shapes, its clock, where its calls lie."""

from typing import Any

import msgspec

from hocket.recording.calls import CallShape, Group, GroupKey, ShapeFields
from hocket.recording.parts.packing import Packed, PackedTable
from hocket.recording.stream_lines import CoresLine, CostLine, Meta, NcclLine

__all__ = ["ChannelSpan", "GroupSpan", "PartHead", "PartSource", "Stored"]


class PartSource(msgspec.Struct, frozen=True):
    """A file that a part was made of, as it was then: its size, when it was written, and how much of it is no zero
    byte at the end (what a stream has reserved and not written)."""

    name: str
    size: int
    mtime_ns: int
    used: int


class Stored(msgspec.Struct, frozen=True):
    """A column: how it is packed and where it begins."""

    packed: Packed
    begin: int


class GroupSpan(msgspec.Struct, frozen=True):
    """The collectives of a group: `count` rows of the table from `begin` on, ascending by number in the group from
    `first` on, without a gap where `consecutive`. `group` counts in the head's groups."""

    group: int
    begin: int
    count: int
    first: int
    consecutive: bool


class ChannelSpan(msgspec.Struct, frozen=True):
    """The messages of a channel as one end sees it, in order of issue: `kind` counts in PEER_TO_PEER, `peer` is a world
    rank. `size` is that of all of them, None where they differ."""

    kind: int
    peer: int
    group: int
    tag: int
    begin: int
    count: int
    size: int | None


class ShapeHead(ShapeFields, frozen=True, kw_only=True, array_like=True):
    """A CallShape whose group counts in the head's groups."""

    group: int

    @classmethod
    def of(cls, shape: CallShape, numbers: dict[Group, int]) -> "ShapeHead":
        return cls(group=numbers[shape.group], **_apart(shape))

    def shape(self, groups: tuple[Group, ...]) -> CallShape:
        """The shape itself."""
        return CallShape(group=groups[self.group], **_apart(self))


def _apart(shape: ShapeFields) -> dict[str, Any]:
    """The fields, apart from the group."""
    return {name: getattr(shape, name) for name in ShapeFields.__struct_fields__}


class PartHead(msgspec.Struct, frozen=True, kw_only=True):
    """A rank's head. The part begins with the table, of `calls` rows; `columns` are in order of issue. `last_step` is
    the greatest training step of a call, NONE without calls.

    `starts` and `marks` are the first and the last issue, and the first and last end of the step before the first call:
    of them, whatever the clock, one is the begin of what was recorded.
    """

    sources: tuple[PartSource, ...]
    path: str
    meta: Meta
    offsets: tuple[tuple[int, int, int], ...]
    errors: tuple[str, ...]
    unseen: tuple[str, ...]
    lost: tuple[str, ...]
    no_operators: str | None
    nccl: NcclLine | None
    ended: bool
    failed: bool
    first_step: int
    cut: bool
    dropped: int
    stepped_ns: int
    cost: CostLine | None
    cores: CoresLine | None
    holes: tuple[tuple[GroupKey, int, int], ...]
    uncommon: int
    gaps: tuple[tuple[int, int], ...] = ()
    groups: tuple[Group, ...]
    shape_heads: tuple[ShapeHead, ...]
    calls: int
    steps: int
    last_step: int
    starts: tuple[int, ...]
    marks: tuple[int, ...]
    table: PackedTable
    columns: dict[str, Stored]
    spans: tuple[GroupSpan, ...]
    channels: tuple[ChannelSpan, ...]
