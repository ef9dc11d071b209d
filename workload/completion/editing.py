"""Adds messages to a trace."""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

import numpy as np
from numpy.typing import NDArray

from hocket.chakra.builder import absent_columns
from hocket.chakra.steps import moved_steps
from hocket.chakra.trace import NodeType, Trace

__all__ = ["AddedMessage", "with_messages"]

_APART = (
    "version",
    "metadata",
    "strings",
    "data_offset",
    "data_deps",
    "ctrl_offset",
    "ctrl_deps",
    "rest_offset",
    "rest",
)


@dataclass(frozen=True)
class AddedMessage:
    """A message before the row `before` (behind the last: the number of rows), which depends on the row `after`, none
    where that is -1, and which the row `awaited_by` depends on, none where that is -1."""

    before: int
    is_send: bool
    num_bytes: int
    src: int
    dst: int
    tag: int
    after: int = -1
    awaited_by: int = -1


def with_messages(trace: Trace, added: Sequence[AddedMessage]) -> Trace:
    """The trace with more messages, its ids numbered anew from 0 in the order of its rows."""
    added = sorted(added, key=lambda message: message.before)
    before = np.array([message.before for message in added], np.int64)
    new_row = np.arange(len(trace)) + np.searchsorted(before, np.arange(len(trace)), side="right")
    own_row = before + np.arange(len(added))
    columns = _columns(trace, added, before)
    columns["id"] = np.arange(len(trace) + len(added), dtype=np.uint64)
    extra = [(int(own_row[at]), int(new_row[message.after])) for at, message in enumerate(added) if message.after >= 0]
    extra += [
        (int(new_row[message.awaited_by]), int(own_row[at]))
        for at, message in enumerate(added)
        if message.awaited_by >= 0
    ]
    for kind, pairs in (("data", extra), ("ctrl", [])):
        offset, deps = _dependencies(trace, kind, new_row, pairs, len(trace) + len(added))
        columns[f"{kind}_offset"], columns[f"{kind}_deps"] = offset, deps
    lengths = np.insert(np.diff(trace.rest_offset), before, 0)
    columns["rest_offset"] = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    moved = replace(trace, strings=(*trace.strings, "send", "recv"), **columns)  # type: ignore[arg-type]
    return replace(moved, metadata=moved_steps(trace.metadata, trace.id, new_row))


def _columns(trace: Trace, added: Sequence[AddedMessage], before: NDArray[np.int64]) -> dict[str, NDArray[np.generic]]:
    own = absent_columns(len(added))
    own["type"][:] = [NodeType.COMM_SEND if message.is_send else NodeType.COMM_RECV for message in added]
    own["name"][:] = [len(trace.strings) + (not message.is_send) for message in added]
    own["is_cpu_op"][:] = 0
    for name, values in (
        ("comm_bytes", [message.num_bytes for message in added]),
        ("comm_src", [message.src for message in added]),
        ("comm_dst", [message.dst for message in added]),
        ("comm_tag", [message.tag for message in added]),
    ):
        own[name][:] = values
    if len(trace):
        own["start_us"][:] = trace.start_us[np.minimum(before, len(trace) - 1)]
    names = [field.name for field in fields(trace) if field.name not in _APART]
    return {name: np.insert(getattr(trace, name), before, own[name]) for name in names}


def _dependencies(
    trace: Trace, kind: str, new_row: NDArray[np.int64], pairs: Sequence[tuple[int, int]], num_rows: int
) -> tuple[NDArray[np.int64], NDArray[np.uint64]]:
    offset, deps = getattr(trace, f"{kind}_offset"), getattr(trace, f"{kind}_deps")
    order = np.argsort(trace.id, kind="stable")
    rows = order[np.searchsorted(trace.id[order], deps).clip(max=max(len(trace) - 1, 0))]
    owner = np.concatenate([np.repeat(new_row, np.diff(offset)), np.array([own for own, _ in pairs], np.int64)])
    target = np.concatenate([new_row[rows], np.array([other for _, other in pairs], np.int64)])
    sorting = np.lexsort((target, owner))
    counts = np.bincount(owner, minlength=num_rows)
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64), target[sorting].astype(np.uint64)
