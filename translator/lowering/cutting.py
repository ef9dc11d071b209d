"""Messages and local steps in pieces that a step can move."""

from collections.abc import Sequence
from dataclasses import fields, replace

import numpy as np
from numpy.typing import NDArray

from hocket.schedule import BUFFERS
from hocket.translator.lowering.messages import Messages
from hocket.translator.lowering.placement import LocalCopy

__all__ = ["cut_local_steps", "cut_messages"]

_Columns = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]
_SCRATCH = BUFFERS.index("s")


def cut_messages(messages: Messages, most: int, part: int | None) -> Messages:
    """The messages in pieces of at most `most` chunks, none of which reaches over several parts of `part` chunks of an
    input or output (None: all may)."""
    ends = [(messages.src_buffer, messages.src_offset), (messages.dst_buffer, messages.dst_offset)]
    row, skipped, count = _pieces(messages.count, ends, most, part)
    columns = {field.name: getattr(messages, field.name)[row] for field in fields(Messages)}
    columns |= {name: columns[name] + skipped for name in ("src_offset", "dst_offset")}
    return Messages(**{**columns, "count": count})


def cut_local_steps(steps: Sequence[LocalCopy], most: int, part: int | None) -> list[LocalCopy]:
    """The same of local steps."""
    rows = [(step.count, step.source, step.source_offset, step.destination, step.destination_offset) for step in steps]
    whole, *ends = np.array(rows, np.int64).reshape(-1, 5).T
    row, skipped, count = _pieces(whole, [(ends[0], ends[1]), (ends[2], ends[3])], most, part)
    return [
        replace(
            steps[at],
            source_offset=steps[at].source_offset + skip,
            destination_offset=steps[at].destination_offset + skip,
            count=number,
        )
        for at, skip, number in zip(row.tolist(), skipped.tolist(), count.tolist(), strict=True)
    ]


def _pieces(
    count: NDArray[np.int64], ends: list[tuple[NDArray[np.int64], NDArray[np.int64]]], most: int, part: int | None
) -> _Columns:
    """Of each piece: the row that it is of, how many of the row's chunks come before it, and its own."""
    row = np.repeat(np.arange(len(count)), count)
    inside = np.arange(len(row)) - np.repeat(np.cumsum(count) - count, count)
    begins = inside == 0
    if part is not None:
        for buffer, offset in ends:
            begins |= (buffer[row] != _SCRATCH) & ((offset[row] + inside) % part == 0)
    position = np.arange(len(row))
    since = position - np.maximum.accumulate(np.where(begins, position, 0))
    heads = np.flatnonzero(since % most == 0)
    return row[heads], inside[heads], np.diff(np.append(heads, len(row)))
