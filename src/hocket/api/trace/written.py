"""Traces that are written: which files, for whom, and what was written."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hocket.api import exported
from hocket.api.parts import TraceFolder
from hocket.api.progress import Progress
from hocket.api.request import Request
from hocket.api.result import Result
from hocket.base.errors import ExitCode, RequestError
from hocket.base.files import require_no_stream
from hocket.base.text import printable_lines
from hocket.chakra import Trace, TraceSet, read_traces, write_traces
from hocket.chakra.groups import FILE_NAMES, write_groups
from hocket.chakra.writing import write_blocks

__all__ = ["TraceWriter", "WrittenTraces", "write_job"]


@dataclass(frozen=True, eq=False, repr=False)
class WrittenTraces(Result):
    """Traces that are there now: where, how many, what their reader's needs changed on how many nodes, and what else
    there is to say before and after that."""

    request: Request
    folder: Path
    prefix: str
    num_ranks: int
    num_nodes: int
    changes: Mapping[str, int]
    before: Sequence[str] = ()
    after: Sequence[str] = ()
    warnings: Sequence[str] = ()
    exit_code: int = ExitCode.DONE

    def headline(self) -> str:
        return f"{self.num_ranks} traces with {self.num_nodes} nodes in {self.folder}"

    def summary(self) -> str:
        changes = (f"  {count} x {change}" for change, count in sorted(self.changes.items()) if count)
        written = f"wrote {self.num_ranks} traces with {self.num_nodes} nodes to {self.folder}"
        return printable_lines([*self.before, written, *changes, *(f"  {line}" for line in self.after)])

    def details(self) -> Mapping[str, Any]:
        place = {"folder": str(self.folder), "prefix": self.prefix}
        return {**place, "num_ranks": self.num_ranks, "num_nodes": self.num_nodes, "changes": dict(self.changes)}

    @property
    def path(self) -> Path:
        """What other verbs take as these traces."""
        return self.folder / self.prefix

    def read(self) -> TraceSet:
        """The traces themselves."""
        return read_traces(self.path)

    def info(self) -> Any:
        """`hocket.trace_info` of them."""
        return exported("trace_info")(self.path)

    def validate(self) -> Any:
        """`hocket.trace_validate` of them."""
        return exported("trace_validate")(self.path)

    def simulate(self, topology: str, **options: Any) -> Any:
        """`hocket.simulate` of them on a topology."""
        return exported("simulate")(self.path, topology, **options)


class TraceWriter:
    """Writes the traces of a job rank by rank, block by block. Raises RequestError for a prefix that begins no file
    name, and for the folder of traces that are `read`."""

    def __init__(self, place: TraceFolder, read: Iterable[str] = ()) -> None:
        self.folder, self._prefix, self._suffix = Path(place.output), place.prefix, ".et.gz" if place.gzip else ".et"
        self._num_ranks = self._num_nodes = 0
        check_place(place, read)

    def write(self, rank: int, blocks: Iterable[Trace]) -> int:
        """Writes a rank's trace and says how many nodes it has."""
        num_nodes = write_blocks(self.folder / f"{self._prefix}.{rank}{self._suffix}", blocks)
        self._num_ranks += 1
        self._num_nodes += num_nodes
        return num_nodes

    def finish(
        self,
        request: Request,
        groups: Mapping[str, tuple[int, ...]],
        changes: Mapping[str, int],
        after: Sequence[str] = (),
    ) -> WrittenTraces:
        """Writes the groups; what there is now."""
        write_groups(self.folder / FILE_NAMES[0], groups)
        counts = self._num_ranks, self._num_nodes
        return WrittenTraces(request, self.folder, self._prefix, *counts, changes, after=after)


def check_place(place: TraceFolder, read: Iterable[str] = ()) -> None:
    """Refuses a prefix that is a path, standard output, and the folder of traces that are read."""
    require_no_stream(place.output)
    prefix, folder = place.prefix, Path(place.output)
    if not prefix or Path(prefix).name != prefix or prefix.startswith("."):
        raise RequestError(f"--prefix '{prefix}' does not begin a file name, such as trace; folders are for --output")
    if os.path.realpath(folder) in {os.path.dirname(os.path.realpath(path)) for path in read}:
        raise RequestError(f"-o {folder} would replace the traces that are read: choose another folder")


def write_job(
    request: Request,
    traces: TraceSet,
    place: TraceFolder,
    profile: str,
    progress: Progress,
    before: Sequence[str] = (),
    after: Sequence[str] = (),
) -> WrittenTraces:
    """Writes the traces of all ranks, as a profile wants them."""
    check_place(place)

    def written(rank: int) -> None:
        progress.count(rank + 1, traces.num_ranks, "traces written")

    folder, suffix = Path(place.output), ".et.gz" if place.gzip else ".et"
    changes = write_traces(folder, traces, place.prefix, profile, written, suffix)
    num_nodes = sum(map(len, traces.traces))
    return WrittenTraces(request, folder, place.prefix, traces.num_ranks, num_nodes, changes, before, after)
