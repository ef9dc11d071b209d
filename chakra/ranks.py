"""Some ranks of a job as a job of their own."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from hocket.base.errors import TraceError
from hocket.chakra.trace import NodeType, Trace, TraceSource

__all__ = ["RankSubset"]


class RankSubset:
    """Ranks under the numbers from 0 on, in the order given. `groups` are what is left of the job's; `changes` counts,
    in words, what the ranks that are missing change.

    A group loses its members that are not among the ranks: its collectives stay as they were recorded, with fewer
    members. Messages from or to a missing rank are left out. Raises TraceError for a rank that is not there or given
    twice.
    """

    def __init__(self, traces: TraceSource, ranks: Sequence[int]) -> None:
        if len(set(ranks) & set(range(traces.num_ranks))) != len(ranks):
            raise TraceError(f"ranks {list(ranks)}: expected different ones of 0 to {traces.num_ranks - 1}")
        self.changes: Counter[str] = Counter()
        self._is_all = tuple(ranks) == tuple(range(traces.num_ranks))
        self._size = len(ranks)
        self._new = np.full(traces.num_ranks + 1, -1, np.int64)  # the last is of what a node lacks
        self._new[list(ranks)] = np.arange(len(ranks))
        kept = {name: tuple(int(self._new[rank]) for rank in members) for name, members in traces.groups.items()}
        self.groups = {name: left for name, members in kept.items() if (left := tuple(r for r in members if r >= 0))}
        self._smaller = {name for name, members in kept.items() if -1 in members}
        if not self._is_all:
            self._smaller |= {name for name in ("", "0") if name not in traces.groups}
        for name in sorted(self._smaller & traces.groups.keys()):
            now, before = len(self.groups.get(name, ())), len(kept[name])
            self.changes[f"group '{name}': {now} of its {before} ranks stay, the sizes of its collectives too"] += 1

    def rows(self, trace: Trace) -> NDArray[np.bool_]:
        """The rows that are no message from or to a missing rank; bool, n."""
        if self._is_all:
            return np.ones(len(trace), np.bool_)
        is_message = (trace.type == NodeType.COMM_SEND) | (trace.type == NodeType.COMM_RECV)
        is_here = (self._renumbered(trace.comm_src) >= 0) & (self._renumbered(trace.comm_dst) >= 0)
        return np.asarray(is_here | ~is_message)

    def renamed(self, trace: Trace) -> Trace:
        """The trace with the ranks' new numbers in its nodes and metadata."""
        if self._is_all:
            return trace
        rank = trace.metadata.get("rank")
        metadata = dict(trace.metadata)
        if isinstance(rank, int) and 0 <= rank < len(self._new) - 1:
            metadata["rank"] = int(self._new[rank])
        if "world_size" in metadata:
            metadata["world_size"] = self._size
        is_smaller = np.array([text in self._smaller for text in trace.strings] + ["" in self._smaller], np.bool_)
        uncut = (trace.in_splits >= 0) & is_smaller[trace.process_group]
        root = self._renumbered(trace.root)
        self.changes["roots that are no longer there left out"] += int(((root < 0) & (trace.root >= 0)).sum())
        self.changes["uneven splits among a group's former ranks left out"] += int(uncut.sum())
        return replace(
            trace,
            metadata=metadata,
            comm_src=self._renumbered(trace.comm_src),
            comm_dst=self._renumbered(trace.comm_dst),
            root=root,
            in_splits=np.where(uncut, -1, trace.in_splits).astype(np.int32),
        )

    def _renumbered(self, ranks: NDArray[np.int64]) -> NDArray[np.int64]:
        """New numbers of ranks; -1 of those that are missing or no ranks of the job."""
        return self._new[np.where((ranks >= 0) & (ranks < len(self._new) - 1), ranks, -1)]
