"""A trace without some of its nodes."""

from dataclasses import fields, replace

import numpy as np
from numpy.typing import NDArray

from hocket.chakra.id_set import IdSet
from hocket.chakra.trace import Trace

__all__ = ["Cutter", "is_ordered", "references_back", "subset"]

_NO_IDS: NDArray[np.uint64] = np.empty(0, np.uint64)
_LISTS = ("data_offset", "data_deps", "ctrl_offset", "ctrl_deps", "rest_offset", "rest")


def subset(trace: Trace, keep: NDArray[np.bool_]) -> tuple[Trace, int]:
    """The rows in which `keep` holds, and the number of dependencies that were dropped because no node has the id.

    A dependency on a node that is left out becomes one on what that node depended on, so the order stays.
    """
    cutter = Cutter()
    return cutter.cut(trace, keep), cutter.num_dangling


def is_ordered(trace: Trace, last_id: int = -1) -> bool:
    """Whether ids ascend, from above `last_id`, and nodes depend on smaller ids alone: then the trace can be cut block
    by block."""
    if not len(trace):
        return True
    if int(trace.id[0]) <= last_id or not np.all(trace.id[1:] > trace.id[:-1]):
        return False
    owner = np.repeat(trace.id, np.diff(trace.data_offset)), np.repeat(trace.id, np.diff(trace.ctrl_offset))
    return bool(np.all(trace.data_deps < owner[0]) and np.all(trace.ctrl_deps < owner[1]))


def references_back(trace: Trace) -> NDArray[np.uint64]:
    """The nodes before a block that its nodes depend on: uint64, ascending."""
    deps = np.concatenate([trace.data_deps, trace.ctrl_deps])
    return np.unique(deps[deps < trace.id[0]]) if len(trace) else deps


class Cutter:
    """Leaves nodes out and mends what depended on them, in a whole trace or block by block in one that is ordered.

    Of a block only what later ones depend on is remembered: `later` are all ids that `references_back` finds in the
    blocks, ascending. What is left out before the id `first` or behind `last` is forgotten at once: with no node kept
    there, nothing leads back to one. `num_mended` counts the dependencies of kept nodes on nodes that were left out,
    `num_dangling` those on no node at all, which are dropped.
    """

    def __init__(self, first: int = 0, last: int = (1 << 64) - 1, later: NDArray[np.uint64] = _NO_IDS) -> None:
        self._window = np.uint64(first), np.uint64(last)
        self._later = later
        self._seen = IdSet()
        self._kept = _NO_IDS  # of earlier blocks those that are remembered
        self._dropped: dict[int, list[int]] = {}  # what those left out depended on
        self.num_mended = self.num_dangling = 0

    def cut(self, trace: Trace, keep: NDArray[np.bool_]) -> Trace:
        """The rows of the next block in which `keep` holds."""
        self._seen.add(trace.id)
        remembered, self._kept = self._kept, np.union1d(self._kept, trace.id[keep])
        dropped = np.flatnonzero(~keep & (trace.id >= self._window[0]) & (trace.id <= self._window[1]))
        for row in dropped:
            self._dropped[int(trace.id[row])] = _deps_of_row(trace, row)
        part = self._without(trace, keep)
        asked = self._forget(trace.id[dropped])
        self._kept = np.union1d(remembered, np.intersect1d(self._kept, asked))
        return part

    def _forget(self, dropped: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """Forgets those of a block's nodes that were left out for which no later one asks; returns the kept nodes that
        later ones may ask for."""
        asked = set(dropped[_among(dropped, self._later)].tolist())
        targets = [target for node_id in asked for target in self._beyond(node_id)]
        for node_id in set(dropped.tolist()) - asked:
            del self._dropped[node_id]
        return np.concatenate([self._later, np.array(targets, np.uint64)])

    def _without(self, trace: Trace, keep: NDArray[np.bool_]) -> Trace:
        columns: dict[str, NDArray[np.generic]] = {
            field.name: getattr(trace, field.name)[keep]
            for field in fields(trace)
            if field.name not in ("version", "metadata", "strings", *_LISTS)
        }
        lengths = np.diff(trace.rest_offset)
        columns["rest"] = trace.rest[np.repeat(keep, lengths)]
        columns["rest_offset"] = _offsets(lengths[keep])
        row_of = np.cumsum(keep) - 1
        for kind in ("data", "ctrl"):
            owner, deps = self._mend(trace, keep, kind)
            counts = np.bincount(row_of[owner], minlength=int(keep.sum()))
            columns[f"{kind}_offset"], columns[f"{kind}_deps"] = _offsets(counts), deps
        return replace(trace, **columns)  # type: ignore[arg-type]  # each column keeps its type

    def _mend(self, trace: Trace, keep: NDArray[np.bool_], kind: str) -> tuple[NDArray[np.intp], NDArray[np.uint64]]:
        """The dependencies of the kept rows, by row, and the row of each."""
        offset, deps = getattr(trace, f"{kind}_offset"), getattr(trace, f"{kind}_deps")
        owner = np.repeat(np.arange(len(trace)), np.diff(offset))
        wanted = keep[owner]
        owner, deps = owner[wanted], deps[wanted]
        exists = _among(deps, self._kept)
        if exists.all():
            return owner, deps
        is_node = self._seen.has(deps)
        self.num_dangling += int((~is_node).sum())
        self.num_mended += int((is_node & ~exists).sum())
        bypassed = [
            (row, target)
            for row, node_id in zip(owner[~exists], deps[~exists], strict=True)
            for target in self._beyond(int(node_id))
        ]
        owner = np.concatenate([owner[exists], np.array([row for row, _ in bypassed], np.int64)])
        deps = np.concatenate([deps[exists], np.array([target for _, target in bypassed], np.uint64)])
        order = np.argsort(owner, kind="stable")
        owner, deps = owner[order], deps[order]
        exists = _among(deps, self._kept)
        return owner[exists], deps[exists]

    def _beyond(self, node_id: int) -> list[int]:
        """The nodes that a dropped node depended on, through other dropped ones; found once, it is remembered."""
        if node_id not in self._dropped:
            return []
        found: set[int] = set()
        seen: set[int] = set()
        waiting = [node_id]
        while waiting:
            current = waiting.pop()
            if current not in self._dropped:
                found.add(current)
            elif current not in seen:
                seen.add(current)
                waiting.extend(self._dropped[current])
        self._dropped[node_id] = sorted(found)
        return self._dropped[node_id]


def _among(ids: NDArray[np.uint64], ascending: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Which of the ids are among others; np.isin would sort them all."""
    if not len(ascending):
        return np.zeros(len(ids), np.bool_)
    return np.asarray(ascending[np.searchsorted(ascending, ids).clip(max=len(ascending) - 1)] == ids)


def _offsets(counts: NDArray[np.signedinteger]) -> NDArray[np.int64]:
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)


def _deps_of_row(trace: Trace, row: np.intp) -> list[int]:
    data = trace.data_deps[trace.data_offset[row] : trace.data_offset[row + 1]]
    ctrl = trace.ctrl_deps[trace.ctrl_offset[row] : trace.ctrl_offset[row + 1]]
    return [int(node_id) for node_id in (*data, *ctrl)]
