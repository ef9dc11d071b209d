"""The calls of a rank: what they have in common, and in columns what each has of its own."""

from dataclasses import dataclass
from functools import cached_property

import msgspec
import numpy as np
from numpy.typing import NDArray

from hocket.base.collectives import whole_size

__all__ = ["CallColumns", "CallShape", "Group", "GroupKey", "ShapeFields"]

Numbers = NDArray[np.int64]

# Sorted members, and which of the groups with these members, in order of creation.
GroupKey = tuple[tuple[int, ...], int]


@dataclass(frozen=True)
class Group:
    """A process group as one rank knows it: `ranks` in group order, `order` among groups of the same members."""

    name: str
    description: str
    ranks: tuple[int, ...]
    backend: str
    order: int

    @cached_property
    def key(self) -> GroupKey:
        """What identifies a group on all ranks; names need not."""
        return tuple(sorted(self.ranks)), self.order

    @property
    def title(self) -> str:
        """What people call it."""
        return self.name if self.description in ("", "undefined") else self.description


class ShapeFields(msgspec.Struct, frozen=True, kw_only=True, array_like=True):
    """What calls have in common, apart from their group. Sizes are bytes, `root` and `peer` world ranks.

    `in_splits` are the parts of the input for the group's ranks (rows of the tensor, or bytes), empty when all are the
    same. `stream` is CUDA's that was current at the issue, None elsewhere. `line` is the script's that issued it, as
    file:number, "" when not known; `graph` the number of the graph whose replays call it.
    """

    op: str
    kind: str
    input_bytes: int
    output_bytes: int
    dtype: str
    is_async: bool
    root: int | None
    peer: int | None
    tag: int
    reduction: str | None
    in_splits: tuple[int, ...]
    stream: int | None
    line: str
    graph: int | None = None


class CallShape(ShapeFields, frozen=True, kw_only=True, array_like=True):
    """What calls have in common, with the group that they are called in."""

    group: Group

    @property
    def num_bytes(self) -> int:
        """What MLCommons' converter counts: this rank's input; a message's size. A scatter's is its root's."""
        if self.kind == "scatter":
            return self.input_bytes or self.output_bytes * len(self.group.ranks)
        return self.output_bytes if self.kind == "recv" else self.input_bytes

    @property
    def size_bytes(self) -> int:
        """What nccl-tests counts: this rank's whole buffer; a message's size."""
        return whole_size(self.kind, self.input_bytes, self.output_bytes, len(self.group.ranks))


@dataclass(frozen=True)
class CallColumns:
    """The calls of a rank in order of issue, a column an aspect; NONE (of `waits`) where there is none.

    `shape` counts in `Recording.shapes`. Times are ns. `issued` is the issue by the host, `start` the issue or, where
    the device tells, when its stream was ready for it; `begin` when the operation itself began, as far as that is
    known; `end` is when completion was seen, `wait_begin` to `wait_end` when a thread waited for the call. A stream
    whose times are known is a `thread`. `sequence` is its number in its group, -1 for messages; `peer` a message's
    other end as a world rank, which of a receive from any source only the wait knows; `batch` which of the rank's
    batches it was issued in.
    """

    shape: Numbers
    sequence: Numbers
    step: Numbers
    thread: Numbers
    issued: Numbers
    start: Numbers
    begin: Numbers
    end: Numbers
    wait_begin: Numbers
    wait_end: Numbers
    wait_thread: Numbers
    peer: Numbers
    batch: Numbers
