"""The nodes of all ranks as columns: rank after rank, in ascending id."""

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hocket.base.errors import TraceError
from hocket.base.text import clipped
from hocket.chakra import TraceSet
from hocket.chakra.finding import source_of
from hocket.chakra.steps import step_of_nodes
from hocket.chakra.trace import members_of
from hocket.simulator.fold import Fold

__all__ = ["Nodes"]


class Nodes:
    """A row a node of the job, or of the ranks that stand for others in its `fold`; `rank_offset` int64 says where each
    rank's begin. `num_ranks` are those of the whole job.

    Raises TraceError, naming the file, where two nodes of a rank have one id.
    """

    def __init__(self, traces: TraceSet, fold: Fold | None = None) -> None:
        self.fold, self.num_ranks = fold, traces.num_ranks
        if fold is not None:
            ranks = fold.rank.tolist()
            paths = tuple(traces.paths[rank] for rank in ranks) if traces.paths else ()
            traces = TraceSet([traces.traces[rank] for rank in ranks], traces.groups, paths)
        self.traces = replace(traces, traces=tuple(traces.traces))
        self._used_by: dict[int, tuple[NDArray[np.int32], list[int], NDArray[np.int32]]] = {}
        self.orders = [np.argsort(trace.id, kind="stable") for trace in traces.traces]
        self.rank_offset = np.cumsum([0, *map(len, traces.traces)], dtype=np.int64)
        self.id = self.column("id")
        for rank in range(traces.num_ranks):
            ids = self.ids_of(rank)
            twice = ids[1:][ids[1:] == ids[:-1]]
            if len(twice):
                source = source_of(traces, rank)
                raise TraceError(f"{source}: node id {twice[0]} occurs twice; ids must be unique within a rank")
        self.type = self.column("type")

    def __len__(self) -> int:
        return int(self.rank_offset[-1])

    def ids_of(self, rank: int) -> NDArray[np.uint64]:
        """The ids of a rank's nodes, ascending."""
        return self.id[self.rank_offset[rank] : self.rank_offset[rank + 1]]

    def column(self, name: str) -> NDArray[Any]:
        """A column of `Trace` over all nodes."""
        columns = [getattr(trace, name) for trace in self.traces.traces]
        return np.concatenate([column[order] for column, order in zip(columns, self.orders, strict=True)])

    @cached_property
    def rank(self) -> NDArray[np.int64]:
        """Rank of each node (int64)."""
        return self.trace if self.fold is None else self.fold.rank[self.trace]

    @cached_property
    def trace(self) -> NDArray[np.int64]:
        """Which of the traces each node is of (int64): its rank, unless that stands for others."""
        return np.repeat(np.arange(self.traces.num_ranks), np.diff(self.rank_offset))

    @property
    def row_in_trace(self) -> NDArray[np.int64]:
        """How many nodes of its rank come before each (int64)."""
        return np.arange(len(self)) - self.rank_offset[self.trace]

    def count(self, rows: NDArray[np.int64]) -> int:
        """How many nodes of the whole job these are."""
        return len(rows) if self.fold is None else int(self.fold.counts[self.trace[rows]].sum())

    def members(self, group: str) -> tuple[int, ...]:
        """World ranks of a process group of the job. Raises KeyError when it is unknown."""
        return members_of(group, self.traces.groups, self.num_ranks)

    def text_column(self, name: str, strings: dict[str, int]) -> NDArray[np.int32]:
        """A column that indexes each trace's strings, as indices into `strings`, which grows; -1 stays."""
        columns = []
        known: dict[tuple[str, ...], NDArray[np.int32]] = {}  # ranks that do alike say the same
        for trace, order in zip(self.traces.traces, self.orders, strict=True):
            column = getattr(trace, name)[order]
            used, place = self._used(getattr(trace, name))
            texts = tuple(map(trace.strings.__getitem__, used))
            if (own := known.get(texts)) is None:
                own = known[texts] = np.array(
                    [*(strings.setdefault(text, len(strings)) for text in texts), -1], np.int32
                )
            columns.append(own[place[column]])
        return np.concatenate(columns)

    def _used(self, column: NDArray[np.int32]) -> tuple[list[int], NDArray[np.int32]]:
        """The strings that a column of a trace names, and where each of its strings is among them (the last: none)."""
        known = self._used_by.get(id(column))
        if known is None or known[0] is not column:
            used = np.unique(column[column >= 0])
            place = np.full(int(used.max(initial=-1)) + 2, len(used), np.int32)
            place[used] = np.arange(len(used))
            known = self._used_by[id(column)] = column, used.tolist(), place
        return known[1:]

    def steps(self) -> NDArray[np.int64]:
        """Step of each node (int64, NO_STEP: none). Raises TraceError as `step_of_nodes`."""
        columns = [step_of_nodes(trace, source_of(self.traces, rank)) for rank, trace in enumerate(self.traces.traces)]
        return np.concatenate([column[order] for column, order in zip(columns, self.orders, strict=True)])

    def dependencies(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Data and control dependencies as rows, in CSR form. Raises TraceError for one on a node that is absent."""
        pairs = [self._dependencies_of(rank) for rank in range(self.traces.num_ranks)]
        counts = np.concatenate([count for count, _ in pairs])
        offset = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        return offset, np.concatenate([rows for _, rows in pairs])

    def _dependencies_of(self, rank: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """How many dependencies each node of a rank has, and the rows of all of them, node after node."""
        trace, order, ids = self.traces.traces[rank], self.orders[rank], self.ids_of(rank)
        owner = np.concatenate([_owners(trace.data_offset), _owners(trace.ctrl_offset)])
        wanted = np.concatenate([trace.data_deps, trace.ctrl_deps])
        found = np.searchsorted(ids, wanted)
        absent = np.flatnonzero(ids[np.minimum(found, len(ids) - 1)] != wanted) if len(ids) else np.arange(0)
        if len(absent):
            raise TraceError(
                f"{source_of(self.traces, rank)}: node {trace.id[owner[absent[0]]]} depends on node"
                f" {wanted[absent[0]]}, which does not exist"
            )
        row_of = np.empty(len(trace), np.int64)
        row_of[order] = np.arange(len(trace))
        owner_row = row_of[owner]
        rows = found[np.argsort(owner_row, kind="stable")] + self.rank_offset[rank]
        return np.bincount(owner_row, minlength=len(trace)), rows

    def required(self, rows: NDArray[np.int64], column: str, attribute: str) -> NDArray[np.int64]:
        """A column at some rows. Raises TraceError, naming the attribute, where it is missing (or negative)."""
        values: NDArray[np.int64] = self.column(column)[rows]
        self.require(values >= 0, rows, lambda _: f"attribute {attribute} is missing")
        return values

    def require(self, holds: NDArray[np.bool_], rows: NDArray[np.int64], fault: Callable[[int], str]) -> None:
        """Raises TraceError at the first of `rows` for which something does not hold; `fault` says what is wrong, given
        the place in `rows`."""
        if not holds.all():
            at = int(np.argmin(holds))
            raise TraceError(f"{self.describe(int(rows[at]))}: {fault(at)}")

    def describe(self, row: int) -> str:
        """File, id and name of a node, for messages."""
        rank = int(np.searchsorted(self.rank_offset, row, side="right")) - 1
        trace = self.traces.traces[rank]
        own = self.orders[rank][row - self.rank_offset[rank]]
        return f"{source_of(self.traces, rank)}: node {trace.id[own]} ({clipped(trace.strings[trace.name[own]])})"


def _owners(offset: NDArray[np.int64]) -> NDArray[np.int64]:
    """The row that each entry of a CSR column belongs to."""
    return np.repeat(np.arange(len(offset) - 1), np.diff(offset))
