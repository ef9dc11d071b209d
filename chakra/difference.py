"""What differs between the traces of two runs of a job."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import zip_longest
from math import inf
from typing import NamedTuple

import numpy as np

from hocket.chakra.reading import TraceFiles
from hocket.chakra.summary import kind_of_node
from hocket.chakra.trace import NodeType, Trace, members_of

__all__ = ["CommunicationChange", "Difference", "DurationChange", "FirstDifference", "difference"]


# Types of nodes that are no communication.
_COMPUTATION = {kind.name.lower() for kind in NodeType if kind < NodeType.COMM_SEND}


class _Call(NamedTuple):
    """What a rank communicates, without names that another run may choose otherwise."""

    kind: str
    group_ranks: tuple[int, ...]
    num_bytes: int
    dtype: str
    root: int
    src: int
    dst: int
    tag: int

    def __str__(self) -> str:
        if self.src >= 0 or self.dst >= 0:
            return f"{self.kind} of {self.num_bytes} bytes from rank {self.src} to {self.dst} with tag {self.tag}"
        dtype = f" of {self.dtype}" if self.dtype else ""
        root = f" with root {self.root}" if self.root >= 0 else ""
        return f"{self.kind} of {self.num_bytes} bytes{dtype}{root} among ranks {list(self.group_ranks)}"


@dataclass(frozen=True)
class CommunicationChange:
    """How often all ranks together communicate so: in the first run, in the second."""

    kind: str
    group_ranks: tuple[int, ...]
    bytes: int
    dtype: str
    first: int
    second: int


@dataclass(frozen=True)
class FirstDifference:
    """The first communication of a rank that is not the same in both runs; None: the run has no more."""

    rank: int
    index: int
    first: str | None
    first_node: int | None
    second: str | None
    second_node: int | None


@dataclass(frozen=True)
class DurationChange:
    """The measured time (ns) of all nodes of a kind on a rank, or of all `computation` or `communication` on all ranks,
    whose `rank` is None."""

    rank: int | None
    kind: str
    first: int
    second: int

    @property
    def percent(self) -> float:
        """By how much the second run takes longer, in %; infinite where the first took no time."""
        if self.first == 0:
            return inf if self.second else 0.0
        return 100 * (self.second - self.first) / self.first


@dataclass(frozen=True)
class Difference:
    """`differs` says whether the runs communicate differently; durations, and how much computation was seen between,
    differ from run to run and do not count. Groups are compared by their ranks: names are chosen by each run."""

    num_ranks: tuple[int, int]
    nodes_per_type: dict[str, tuple[int, int]]
    groups_only_first: tuple[tuple[int, ...], ...]
    groups_only_second: tuple[tuple[int, ...], ...]
    communication: tuple[CommunicationChange, ...]
    divergences: tuple[FirstDifference, ...]
    durations: tuple[DurationChange, ...]
    totals: tuple[DurationChange, ...]

    @property
    def differs(self) -> bool:
        same_groups = not self.groups_only_first and not self.groups_only_second
        return self.num_ranks[0] != self.num_ranks[1] or not same_groups or bool(self.divergences)


class _Run:
    """One run, read rank by rank; what it counts on the way is of the ranks that were read."""

    def __init__(self, traces: TraceFiles) -> None:
        self._traces = traces
        self.types: Counter[str] = Counter()
        self.calls: Counter[tuple[str, tuple[int, ...], int, str]] = Counter()
        self.duration_ns: Counter[tuple[int, str]] = Counter()  # by rank and kind
        self.groups = {frozenset(ranks) for ranks in traces.groups.values()}

    def rank(self, rank: int) -> list[tuple[_Call, int]]:
        """What the rank communicates in order, and the node's id; none of a rank that the run has not."""
        found: list[tuple[_Call, int]] = []
        if rank >= self._traces.num_ranks:
            return found
        for trace in self._traces.files[rank].blocks():
            for kind, count in zip(*np.unique(trace.type, return_counts=True), strict=True):
                self.types[NodeType(kind).name] += int(count)
                if kind < NodeType.COMM_SEND:
                    name = NodeType(kind).name.lower()
                    self.duration_ns[rank, name] += int(trace.duration_ns[trace.type == kind].sum())
            for row in np.flatnonzero(trace.type >= NodeType.COMM_SEND).tolist():
                call = self._call(trace, row)
                self.calls[call.kind, call.group_ranks, call.num_bytes, call.dtype] += 1
                self.duration_ns[rank, call.kind] += int(trace.duration_ns[row])
                found.append((call, int(trace.id[row])))
        return found

    def total(self, is_computation: bool) -> int:
        """The measured time of all computation or all communication, in ns."""
        return sum(time for (_, kind), time in self.duration_ns.items() if (kind in _COMPUTATION) == is_computation)

    def _call(self, trace: Trace, row: int) -> _Call:
        try:
            ranks = members_of(trace.text(trace.process_group, row), self._traces.groups, self._traces.num_ranks)
        except KeyError:
            ranks = ()
        kind = kind_of_node(int(trace.type[row]), int(trace.comm_type[row]))
        is_message = trace.type[row] != NodeType.COMM_COLL
        ends = (trace.root, trace.comm_src, trace.comm_dst, trace.comm_tag)
        return _Call(
            kind,
            () if is_message else ranks,
            int(trace.comm_bytes[row]),
            trace.text(trace.dtype, row),
            *(int(column[row]) for column in ends),
        )


def difference(first: TraceFiles, second: TraceFiles) -> Difference:
    """Compares two runs, holding the communication of one rank of each at a time."""
    runs = _Run(first), _Run(second)
    divergences = [
        divergence
        for rank in range(max(first.num_ranks, second.num_ranks))
        if (divergence := _diverge(rank, *(run.rank(rank) for run in runs)))
    ]
    only = [sorted(tuple(sorted(ranks)) for ranks in a.groups - b.groups) for a, b in (runs, runs[::-1])]
    return Difference(
        (first.num_ranks, second.num_ranks),
        {kind.name: counts for kind in NodeType if any(counts := (runs[0].types[kind.name], runs[1].types[kind.name]))},
        tuple(only[0]),
        tuple(only[1]),
        tuple(_changes(*runs)),
        tuple(divergences),
        tuple(
            DurationChange(*key, runs[0].duration_ns[key], runs[1].duration_ns[key])
            for key in sorted(runs[0].duration_ns | runs[1].duration_ns)
        ),
        tuple(
            DurationChange(None, kind, *(run.total(is_computation) for run in runs))
            for kind, is_computation in (("computation", True), ("communication", False))
        ),
    )


def _changes(first: _Run, second: _Run) -> Iterator[CommunicationChange]:
    for key in sorted(first.calls | second.calls):
        if first.calls[key] != second.calls[key]:
            yield CommunicationChange(*key, first.calls[key], second.calls[key])


def _diverge(rank: int, first: list[tuple[_Call, int]], second: list[tuple[_Call, int]]) -> FirstDifference | None:
    for index, (one, other) in enumerate(zip_longest(first, second)):
        if one is None or other is None or one[0] != other[0]:
            texts = [(None, None) if call is None else (str(call[0]), call[1]) for call in (one, other)]
            return FirstDifference(rank, index, *texts[0], *texts[1])
    return None
