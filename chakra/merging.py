"""Traces of ranks from several places as the traces of one job."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hocket.base.errors import FormatError, TraceError
from hocket.chakra.groups import read_groups
from hocket.chakra.job_folders import find_job
from hocket.chakra.reading import find_groups
from hocket.chakra.trace import Trace
from hocket.chakra.trace_file import TraceFile

__all__ = ["Merge", "trace_paths"]

_SUFFIX = re.compile(r"\.et(\.gz)?$")
_NUMBER = re.compile(r"[0-9]+")


def trace_paths(path: Path) -> list[Path]:
    """The `.et` files that a folder, a prefix or the name of a file means, by the numbers in their names; of a folder
    of jobs those of its latest. Raises FormatError where there is none."""
    path = find_job(path).path
    if path.is_file():
        return [path]
    folder, prefix = (path, "") if path.is_dir() else (path.parent, path.name)
    found = [file for file in folder.glob("*") if file.name.startswith(prefix) and _SUFFIX.search(file.name)]
    if not found:
        raise FormatError(f"{path}: no .et file, and no folder or prefix of such")
    return sorted(found, key=lambda file: (_NUMBER.split(file.name), list(map(int, _NUMBER.findall(file.name)))))


class Merge:
    """Files as the ranks 0, 1, ... of one job: `files` in the order of their ranks, `groups` of all their folders.

    The number of a file's rank is what `ranks` says, else `rank` in its metadata, else the last number in its name; the
    ranks are numbered from 0 in the order of these numbers, in the nodes and groups too. With `in_order` the files are
    the ranks 0, 1, ... as they are given, and what their nodes and groups say of ranks stays. Raises TraceError where
    two files have one number, and FormatError for files that are no traces and groups that contradict each other.
    """

    def __init__(self, paths: Sequence[Path], ranks: Sequence[int] | None = None, in_order: bool = False) -> None:
        files = [TraceFile(path) for path in paths]
        numbers = list(range(len(files))) if in_order else list(ranks or map(_number, files))
        if len(numbers) != len(files):
            raise TraceError(f"{len(numbers)} ranks are named for {len(files)} files: name one for each")
        order = sorted(range(len(files)), key=lambda place: numbers[place])
        for place, following in pairwise(order):
            if numbers[place] == numbers[following]:
                raise TraceError(
                    f"{files[place].path} and {files[following].path} are both of rank {numbers[place]}: name each "
                    "file's rank with --ranks, or take them in the order given with --in-order"
                )
        self.files = tuple(files[place] for place in order)
        self.numbers = tuple(numbers[place] for place in order)
        self.changes: Counter[str] = Counter()
        self._rename = not in_order and self.numbers != tuple(range(len(files)))
        self.groups = {
            name: tuple(self._renumber_one(name, rank) for rank in members)
            for name, members in _groups({file.path.parent for file in files}).items()
        }

    def blocks(self, rank: int) -> Iterator[Trace]:
        """The blocks of a rank's trace as it is in the job."""
        for trace in self.files[rank].blocks(complete=True):
            yield self._renumbered(rank, trace)

    def _renumbered(self, rank: int, trace: Trace) -> Trace:
        told = {"rank": rank, "world_size": len(self.files)}
        metadata = trace.metadata | {key: value for key, value in told.items() if key in trace.metadata}
        trace = replace(trace, metadata=metadata)
        if not self._rename:
            return trace
        src, dst, root = (self._new(ranks) for ranks in (trace.comm_src, trace.comm_dst, trace.root))
        changed = (src != trace.comm_src) | (dst != trace.comm_dst) | (root != trace.root)
        self.changes["nodes with other numbers of ranks"] += int(changed.sum())
        return replace(trace, comm_src=src, comm_dst=dst, root=root)

    def _new(self, ranks: NDArray[np.int64]) -> NDArray[np.int64]:
        """New numbers of ranks; those of ranks that are not here become numbers behind the last, which is not there."""
        numbers = np.array(self.numbers, np.int64)
        place = np.minimum(np.searchsorted(numbers, ranks), len(numbers) - 1)
        known = numbers[place] == ranks
        self.changes["ends of messages or roots that are no rank here"] += int((~known & (ranks >= 0)).sum())
        return np.where(known, place, np.where(ranks < 0, ranks, ranks + len(numbers)))

    def _renumber_one(self, group: str, rank: int) -> int:
        if not self._rename:
            return rank
        if rank not in self.numbers:
            raise TraceError(f"group '{group}' has rank {rank}, but no file is of it: merge the files of all ranks")
        return self.numbers.index(rank)


def _number(file: TraceFile) -> int:
    rank = file.metadata.get("rank")
    if isinstance(rank, int) and rank >= 0:
        return rank
    numbers = _NUMBER.findall(_SUFFIX.sub("", file.path.name))
    if not numbers:
        raise TraceError(
            f"{file.path}: neither its metadata nor its name has the number of a rank: name each file's rank with "
            "--ranks, or take them in the order given with --in-order"
        )
    return int(numbers[-1])


def _groups(folders: set[Path]) -> dict[str, tuple[int, ...]]:
    groups: dict[str, tuple[int, ...]] = {}
    told: dict[str, Path] = {}
    for folder in sorted(folders):
        path = find_groups(folder)
        for name, ranks in (read_groups(path) if path else {}).items():
            if path and groups.setdefault(name, ranks) != ranks:
                raise FormatError(
                    f"{path}: group '{name}' is of ranks {list(ranks)}, but {list(groups[name])} in {told[name]}: "
                    "give the groups of one folder other names"
                )
            if path:
                told.setdefault(name, path)
    return groups
