"""A trace without some of its nodes."""

from dataclasses import fields, replace

import numpy as np
from numpy.typing import NDArray

from hocket.chakra.trace import Trace

__all__ = ["subset"]

_LISTS = ("data_offset", "data_deps", "ctrl_offset", "ctrl_deps", "rest_offset", "rest")


def subset(trace: Trace, keep: NDArray[np.bool_]) -> tuple[Trace, int]:
    """The rows in which `keep` holds, and the number of dependencies that were dropped because no node has the id.

    A dependency on a node that is left out becomes one on what that node depended on, so the order stays.
    """
    dropped = {int(trace.id[row]): _deps_of_row(trace, row) for row in np.flatnonzero(~keep)}
    kept_ids = np.unique(trace.id[keep])
    columns: dict[str, NDArray[np.generic]] = {
        field.name: getattr(trace, field.name)[keep]
        for field in fields(trace)
        if field.name not in ("version", "metadata", "strings", *_LISTS)
    }
    lengths = np.diff(trace.rest_offset)
    columns["rest"] = trace.rest[np.repeat(keep, lengths)]
    columns["rest_offset"] = np.concatenate([[0], np.cumsum(lengths[keep])]).astype(np.int64)
    num_dangling = 0
    for kind in ("data", "ctrl"):
        offset, deps = getattr(trace, f"{kind}_offset"), getattr(trace, f"{kind}_deps")
        owner = np.repeat(np.arange(len(trace)), np.diff(offset))
        wanted = keep[owner]
        owner, deps = owner[wanted], deps[wanted]
        exists = np.isin(deps, kept_ids)
        bypassed = [
            (row, target)
            for row, node_id in zip(owner[~exists], deps[~exists], strict=True)
            for target in _beyond(int(node_id), dropped)
        ]
        num_dangling += sum(int(node_id) not in dropped for node_id in deps[~exists])
        owner = np.concatenate([owner[exists], np.array([row for row, _ in bypassed], np.int64)])
        deps = np.concatenate([deps[exists], np.array([target for _, target in bypassed], np.uint64)])
        exists = np.isin(deps, kept_ids)
        owner, deps = owner[exists], deps[exists]
        order = np.argsort(owner, kind="stable")
        row_of = np.cumsum(keep) - 1
        counts = np.bincount(row_of[owner], minlength=int(keep.sum()))
        columns[f"{kind}_offset"] = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        columns[f"{kind}_deps"] = deps[order]
    return replace(trace, **columns), num_dangling  # type: ignore[arg-type]  # each column keeps its type


def _deps_of_row(trace: Trace, row: np.intp) -> list[int]:
    data = trace.data_deps[trace.data_offset[row] : trace.data_offset[row + 1]]
    ctrl = trace.ctrl_deps[trace.ctrl_offset[row] : trace.ctrl_offset[row + 1]]
    return [int(node_id) for node_id in (*data, *ctrl)]


def _beyond(node_id: int, dropped: dict[int, list[int]]) -> list[int]:
    """The nodes that a dropped node depended on, through other dropped ones."""
    found: dict[int, None] = {}
    seen: set[int] = set()
    waiting = [node_id]
    while waiting:
        current = waiting.pop()
        if current not in dropped:
            if current != node_id:
                found[current] = None
        elif current not in seen:
            seen.add(current)
            waiting.extend(dropped[current])
    return list(found)
