"""Several jobs as one set of traces, each on ranks of its own, so that they share a network."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from hocket.base.errors import TraceError
from hocket.chakra.builder import TraceBuilder
from hocket.chakra.job_metadata import placed_in_whole
from hocket.chakra.reading import TraceFiles
from hocket.chakra.renaming import group_names, rename_groups
from hocket.chakra.trace import NodeType, Trace

__all__ = ["Combination"]

_WORLD = "world"


class Combination:
    """Jobs side by side: `ranks` says which rank of the whole each rank of each job is.

    Their groups are called `GROUP@JOB`; what was all ranks of a job is its group `world@JOB`. Ranks that no job has,
    below the last that one has, do nothing. Raises TraceError for two jobs of one name, ranks that two jobs have, and
    other numbers of them than a job has.
    """

    def __init__(self, jobs: Sequence[TraceFiles], names: Sequence[str], ranks: Sequence[Sequence[int]]) -> None:
        self._jobs, self._names = jobs, names
        self._ranks = [np.array(of_job, np.int64) for of_job in ranks]
        self._of: dict[int, tuple[int, int]] = {}
        for number, (job, name, of_job) in enumerate(zip(jobs, names, ranks, strict=True)):
            if name in names[:number]:
                raise TraceError(f"two jobs are called '{name}': give their folders other names")
            if len(of_job) != job.num_ranks:
                raise TraceError(f"job '{name}' has {job.num_ranks} ranks, and is placed on {len(of_job)}")
            for own, rank in enumerate(of_job):
                if rank in self._of:
                    raise TraceError(f"rank {rank} is of job '{name}' and of '{names[self._of[rank][0]]}'")
                self._of[rank] = number, own
        self.num_ranks = max(self._of) + 1
        self.groups = {
            f"{group}@{name}": tuple(of_job[rank] for rank in members)
            for job, name, of_job in zip(jobs, names, ranks, strict=True)
            for group, members in {**_worlds(job), **job.groups}.items()
        }

    def blocks(self, rank: int) -> Iterator[Trace]:
        """The blocks of a rank's trace as it is in the whole."""
        if rank not in self._of:
            yield TraceBuilder({"rank": rank, "world_size": self.num_ranks}).build()
            return
        number, own = self._of[rank]
        for trace in self._jobs[number].files[own].blocks(complete=True):
            yield self._placed(number, rank, trace)

    def _placed(self, number: int, rank: int, trace: Trace) -> Trace:
        name, groups = self._names[number], self._jobs[number].groups
        everybody = [text for text in ("", "0") if text not in groups]  # names of all ranks
        renamed = {text: f"{text}@{name}" for text in (*groups, *group_names(trace))}
        renamed |= {text: f"{_WORLD}@{name}" for text in everybody}
        strings = (*trace.strings, "")  # a collective that names no group is of all ranks
        unnamed = (trace.process_group < 0) & (trace.type == NodeType.COMM_COLL)
        named = replace(
            trace,
            metadata=placed_in_whole(trace.metadata, name, self._jobs[number].num_ranks, rank, self.num_ranks),
            strings=strings,
            process_group=np.where(unnamed, len(strings) - 1, trace.process_group).astype(np.int32),
            comm_src=self._new(number, trace.comm_src),
            comm_dst=self._new(number, trace.comm_dst),
            root=self._new(number, trace.root),
        )
        return rename_groups(named, renamed)

    def _new(self, number: int, ranks: NDArray[np.int64]) -> NDArray[np.int64]:
        known = (ranks >= 0) & (ranks < len(self._ranks[number]))
        if not np.all(known | (ranks < 0)):
            raise TraceError(f"job '{self._names[number]}' has messages or roots of rank {int(ranks.max())}, not there")
        return np.where(known, self._ranks[number][np.where(known, ranks, 0)], ranks)


def _worlds(job: TraceFiles) -> dict[str, tuple[int, ...]]:
    return {_WORLD: tuple(range(job.num_ranks))}
