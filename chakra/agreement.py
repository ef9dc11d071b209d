"""Checks across ranks: they must join the same collectives in the same order.

Nodes come rank by rank, whole or block by block (`TraceSource.blocks`). Calls that have met those of the other ranks
are forgotten, so that ranks that go in step take little memory.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from hocket.chakra.finding import TraceFinding, TraceSeverity, at_node, source_of
from hocket.chakra.trace import CollectiveType, NodeType, Trace, TraceSource

__all__ = ["SAME_SIZE", "Agreement", "collectives_by_group", "of_unknown_groups"]

#: The others may differ by rank: all_to_all and all_gather of uneven blocks, and what only the root holds.
SAME_SIZE = (
    CollectiveType.ALL_REDUCE,
    CollectiveType.BROADCAST,
    CollectiveType.REDUCE,
    CollectiveType.REDUCE_SCATTER,
    CollectiveType.REDUCE_SCATTER_BLOCK,
)


def collectives_by_group(traces: TraceSource) -> dict[str, dict[int, NDArray[np.int64]]]:
    """For each process group, each rank's rows of its collectives, in file order ("" and "0" are one group)."""
    found: dict[str, dict[int, NDArray[np.int64]]] = defaultdict(dict)
    for rank, trace in traces.blocks():
        for name, rows in _rows_by_group(traces, trace).items():
            found[name][rank] = rows
    return dict(found)


def of_unknown_groups(traces: TraceSource) -> Counter[str]:
    """How many collectives of all ranks are of each process group whose ranks nothing tells."""
    found: Counter[str] = Counter()
    for _, trace in traces.blocks():
        for name, rows in _rows_by_group(traces, trace).items():
            if name != "0" and name not in traces.groups:
                found[name] += len(rows)
    return found


def _rows_by_group(traces: TraceSource, trace: Trace) -> dict[str, NDArray[np.int64]]:
    rows = np.flatnonzero(trace.type == NodeType.COMM_COLL)
    names = np.array([_canonical(traces, text) for text in (*trace.strings, "")], object)  # -1: the last
    groups, first = np.unique(trace.process_group[rows], return_index=True)
    found: dict[str, NDArray[np.int64]] = {}
    for group in groups[np.argsort(first)]:
        same = rows[trace.process_group[rows] == group]
        name = str(names[group])
        found[name] = np.sort(np.concatenate([found[name], same])) if name in found else same
    return found


def _canonical(traces: TraceSource, group: str) -> str:
    return "0" if group == "" and "" not in traces.groups else group


def _kind(number: int) -> str:
    return CollectiveType(number).name if 0 <= number <= max(CollectiveType) else f"collective type {number}"


@dataclass(frozen=True)
class _Calls:
    """Collectives of a rank in a group, as columns."""

    type: NDArray[np.int64]
    size: NDArray[np.int64]
    root: NDArray[np.int64]
    id: NDArray[np.uint64]
    name: NDArray[np.object_]

    @classmethod
    def of(cls, trace: Trace, rows: NDArray[np.int64]) -> "_Calls":
        names = np.array([trace.text(trace.name, row) for row in rows], object)
        return cls(trace.comm_type[rows], trace.comm_bytes[rows], trace.root[rows], trace.id[rows], names)

    def __len__(self) -> int:
        return len(self.type)

    def __getitem__(self, part: slice) -> "_Calls":
        return _Calls(*(getattr(self, column.name)[part] for column in fields(self)))

    def __add__(self, other: "_Calls") -> "_Calls":
        columns = ((getattr(self, column.name), getattr(other, column.name)) for column in fields(self))
        return _Calls(*(np.concatenate(pair) for pair in columns))


_NO_CALLS = _Calls(*(np.empty(0, dtype) for dtype in (np.int64, np.int64, np.int64, np.uint64, object)))


class _Pair:
    """The calls of one rank against those of the group's first rank, as far as they have not met."""

    def __init__(self, source: str, group: str, first: int, rank: int) -> None:
        self._source, self._group, self._first, self._rank = source, group, first, rank
        self._theirs = self._own = _NO_CALLS
        self._met = 0
        self._in_step = True
        self.findings: list[TraceFinding] = []

    def add(self, calls: _Calls, is_own: bool) -> None:
        """The next calls of the rank, or of the group's first rank."""
        if not self._in_step:
            return
        if is_own:
            self._own = self._own + calls
        else:
            self._theirs = self._theirs + calls
        count = min(len(self._own), len(self._theirs))
        self._compare(self._theirs[:count], self._own[:count])
        self._theirs, self._own = self._theirs[count:], self._own[count:]
        self._met += count

    def _compare(self, theirs: _Calls, own: _Calls) -> None:
        different = np.flatnonzero(theirs.type != own.type)
        if len(different):
            # Past the first difference the ranks are out of step, and what stands at the same place means nothing.
            k = int(different[0])
            here, there = _kind(own.type[k]), _kind(theirs.type[k])
            number = f"collective {self._met + k} of group '{self._group}'"
            self._find(own, k, "comm_type", f"{number} is {here} here and {there} on rank {self._first}")
            theirs, own, self._in_step = theirs[:k], own[:k], False
        same_size = np.isin(own.type, SAME_SIZE)
        roots = (theirs.root >= 0) & (own.root >= 0)
        for name, theirs_values, own_values, mask in (
            ("comm_size", theirs.size, own.size, same_size),
            ("comm_root", theirs.root, own.root, roots),
        ):
            for k in np.flatnonzero(mask & (theirs_values != own_values)).tolist():
                number = f"{_kind(own.type[k])} {self._met + k} of group '{self._group}'"
                values = f"has {own_values[k]} here and {theirs_values[k]} on rank {self._first}"
                self._find(own, k, name, f"{number} {values}")

    def _find(self, own: _Calls, k: int, name: str, message: str) -> None:
        place = (self._source, name, message, int(own.id[k]), str(own.name[k]))
        self.findings.append(TraceFinding(TraceSeverity.ERROR, *place))

    def finish(self) -> list[TraceFinding]:
        """All findings, when there are no more calls."""
        own, theirs = self._met + len(self._own), self._met + len(self._theirs)
        if self._in_step and own != theirs:
            counts = f"rank {self._rank} joins {own} collectives of group '{self._group}', rank {self._first} joins"
            self.findings.append(TraceFinding(TraceSeverity.ERROR, self._source, "comm_type", f"{counts} {theirs}"))
        return self.findings


class Agreement:
    """Whether the ranks join the same collectives; blocks are added as they come."""

    def __init__(self, traces: TraceSource) -> None:
        self._traces = traces
        self._strangers: dict[tuple[str, int], TraceFinding] = {}
        self._pairs: dict[str, dict[int, _Pair]] = {}  # of each group, of each rank but its first
        self._first: dict[str, int] = {}

    def add(self, rank: int, trace: Trace) -> None:
        """The next nodes of a rank."""
        for group, rows in _rows_by_group(self._traces, trace).items():
            pairs = self._pairs_of(group)
            members = self._members(group)
            if rank not in members and (group, rank) not in self._strangers:
                message = (
                    f"rank {rank} is not in group '{group}' of ranks {list(members)}"
                    if members
                    else f"group '{group}' is unknown; it must be in the comm-group JSON "
                    f"({sorted(self._traces.groups)} are): name its file with --groups"
                )
                source = source_of(self._traces, rank)
                self._strangers[group, rank] = at_node(trace, source, rows[0], "pg_name", message)
            calls = _Calls.of(trace, rows)
            if rank == self._first.get(group):
                for pair in pairs.values():
                    pair.add(calls, is_own=False)
            elif rank in pairs:
                pairs[rank].add(calls, is_own=True)

    def findings(self) -> Iterator[TraceFinding]:
        """What does not fit together, when all nodes were added."""
        yield from self._strangers.values()
        for pairs in self._pairs.values():
            for pair in pairs.values():
                yield from pair.finish()

    def _pairs_of(self, group: str) -> dict[int, _Pair]:
        if group not in self._pairs:
            members = [rank for rank in self._members(group) if rank < self._traces.num_ranks]
            if members:
                self._first[group] = members[0]
            self._pairs[group] = {
                rank: _Pair(source_of(self._traces, rank), group, members[0], rank) for rank in members[1:]
            }
        return self._pairs[group]

    def _members(self, group: str) -> tuple[int, ...]:
        try:
            return self._traces.members(group)
        except KeyError:
            return ()
