"""A part of a job's traces: some steps, ids, times or ranks; block by block where the traces are ordered."""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from hocket.base.errors import TraceError
from hocket.chakra.file import BLOCK_BYTES
from hocket.chakra.job_metadata import without_totals
from hocket.chakra.ranks import RankSubset
from hocket.chakra.reading import TraceFiles
from hocket.chakra.steps import NO_STEP, has_step_metadata, step_of_nodes
from hocket.chakra.subset import Cutter, is_ordered, references_back
from hocket.chakra.trace import Trace
from hocket.chakra.trace_file import TraceFile

__all__ = ["TraceSelection", "slice_traces"]

_WHOLE = None  # the size of a block that is the whole trace


@dataclass(frozen=True)
class TraceSelection:
    """Which nodes of which ranks; None: all. `steps` and `nodes` are a first number and one behind the last, `time_us`
    when a node of the part starts: from, and before."""

    steps: tuple[int, int] | None = None
    nodes: tuple[int, int] | None = None
    time_us: tuple[int, int] | None = None
    ranks: tuple[int, ...] | None = None

    def rows(self, trace: Trace, source: str) -> NDArray[np.bool_]:
        """The rows of a block that are part of it; bool, n. Raises TraceError where steps are asked for, and none are
        marked."""
        keep = np.ones(len(trace), np.bool_)
        if self.nodes is not None:
            keep &= (trace.id >= np.uint64(self.nodes[0])) & (trace.id < np.uint64(self.nodes[1]))
        if self.time_us is not None:
            keep &= (trace.start_us >= np.uint64(self.time_us[0])) & (trace.start_us < np.uint64(self.time_us[1]))
        if self.steps is not None:
            step = step_of_nodes(trace, source)
            if not has_step_metadata(trace) and np.all(step == NO_STEP):
                raise TraceError(f"{source}: no steps are marked; choose a part by --nodes or --time")
            keep &= (step >= self.steps[0]) & (step < self.steps[1]) & (step != NO_STEP)
        return keep


def slice_traces(
    traces: TraceFiles, selection: TraceSelection, write: Callable[[int, Iterator[Trace]], int]
) -> tuple[dict[str, tuple[int, ...]], Counter[str]]:
    """Has `write(rank, blocks)` write the part of each rank; returns its groups, and what was done (in words: count).

    Dependencies on what is left out become dependencies on what that depended on, if it is in the part. Ranks get the
    numbers from 0 on, in the order that is asked for. What metadata say of the whole job's step (tokens, operations,
    the request that made it) is left out. Raises TraceError for a rank that is not there, one without a
    node in the part, and as `TraceSelection.rows`; nothing is written then.
    """
    wanted = tuple(range(traces.num_ranks)) if selection.ranks is None else selection.ranks
    ranks = RankSubset(traces, wanted)
    done: Counter[str] = Counter()
    parts = [_Part(traces.files[rank], selection, ranks) for rank in wanted]
    for rank, part in enumerate(parts):
        write(rank, part.blocks(done))
    done.update(ranks.changes)
    return ranks.groups, done


class _Part:
    """The part of one rank: reads the trace once to see where it is and whether the trace can be cut block by block."""

    def __init__(self, file: TraceFile, selection: TraceSelection, ranks: RankSubset) -> None:
        self._file, self._selection, self._ranks = file, selection, ranks
        self._first, self._last, before = (1 << 64) - 1, 0, -1
        self._ordered, any_kept = True, False
        later: list[NDArray[np.uint64]] = [np.empty(0, np.uint64)]
        for trace in file.blocks():
            # without metadata, a mark in one block tells the steps of later ones
            self._ordered = is_ordered(trace, before) and (selection.steps is None or has_step_metadata(trace))
            if not self._ordered:
                any_kept = bool(self._rows(next(file.blocks(_WHOLE))).any())
                break
            before = int(trace.id[-1]) if len(trace) else before
            later.append(references_back(trace))
            if len(kept := trace.id[self._rows(trace)]):
                any_kept = True
                self._first, self._last = min(self._first, int(kept[0])), int(kept[-1])
        self._later = np.unique(np.concatenate(later))
        if not any_kept:
            raise TraceError(f"{file.path}: nothing of it is in the part that is asked for{self._steps_there()}")

    def _steps_there(self) -> str:
        """In words, where steps were asked for: a job's first recorded step need not be 0."""
        if self._selection.steps is None:
            return ""
        steps = step_of_nodes(next(self._file.blocks(_WHOLE)), str(self._file.path))
        marked = steps[steps != NO_STEP]
        return f"; its steps are {marked.min()} to {marked.max()}" if len(marked) else ""

    def _rows(self, trace: Trace) -> NDArray[np.bool_]:
        return self._selection.rows(trace, str(self._file.path)) & self._ranks.rows(trace)

    def blocks(self, done: Counter[str]) -> Iterator[Trace]:
        """What is left of the trace's blocks; `done` counts what was mended."""
        cutter = Cutter(self._first, self._last, self._later) if self._ordered else Cutter()
        for trace in self._file.blocks(BLOCK_BYTES if self._ordered else _WHOLE, complete=True):
            chosen, of_ranks = self._selection.rows(trace, str(self._file.path)), self._ranks.rows(trace)
            done["messages from or to ranks that are not in the part left out"] += int((chosen & ~of_ranks).sum())
            part = self._ranks.renamed(cutter.cut(trace, chosen & of_ranks))
            yield replace(part, metadata=without_totals(part.metadata))
            if self._ordered and len(trace) and int(trace.id[-1]) >= self._last:
                break
        done["dependencies led past nodes that were left out"] += cutter.num_mended
        done["dependencies on absent nodes left out"] += cutter.num_dangling
