"""What a run comes to: nccl-tests' table, which programs served, and over what they ran."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from hocket.api.result import Result
from hocket.api.run.request import ProgramRun
from hocket.base.errors import ExitCode
from hocket.base.files import write_json
from hocket.base.text import printable
from hocket.runtime.run import Job, Row, format_footer, format_header, format_row, format_table
from hocket.runtime.run.job import Result as Measured
from hocket.runtime.run.table import bandwidths

__all__ = ["ProgramRunResult"]

_CALLS = ("out_of_place", "in_place", "reference")


class ProgramRunResult(Result):
    """A row a size; `wrong`: elements over all sizes and ranks that had a wrong value, 0 when the program is right."""

    def __init__(self, request: ProgramRun, job: Job) -> None:
        self.request: ProgramRun = request
        self.job = job
        self._rows: list[Row] = []

    def add(self, row: Row) -> str:
        """Takes the next size's row; its line."""
        self._rows.append(row)
        return format_row(self.job.task, row)

    @property
    def rows(self) -> Sequence[Row]:
        return tuple(self._rows)

    @property
    def wrong(self) -> int:
        return sum(row.wrong for row in self._rows)

    @property
    def exit_code(self) -> int:  # type: ignore[override]
        return ExitCode.CHECK_FAILED if self.wrong else ExitCode.DONE

    @property
    def source(self) -> str:
        return str(self.request.bundle or self.request.file)

    def headline(self) -> str:
        task, sizes = self.job.task, len(self._rows)
        checked = f"{self.wrong} wrong values" if self.wrong else "every value right"
        several = f"{sizes} size{'s' * (sizes > 1)}"
        return f"{self.source}: {task.kind} on {task.num_ranks} ranks over {task.transport}, {several}, {checked}"

    def head(self) -> list[str]:
        """The lines above the rows."""
        task = self.job.task
        proved = "proved right for any input" if self.request.verify else "NOT PROVED (--no-verify)"
        return [
            f"# {printable(self.source)}: {task.kind} on {task.num_ranks} ranks, transport {task.transport}, warmup "
            f"iters: {task.warmup} iters: {task.iterations}, {proved}",
            "#",
            format_header(),
        ]

    def rest(self) -> str:
        task, rows = self.job.task, self._rows
        lines = [format_footer(task, rows), *self._what_ran()]
        if task.compare:
            library = "mpi" if task.transport == "mpi" else "gloo"
            own = [replace(row, out_of_place=row.reference, in_place=None) for row in rows]
            lines += [f"# {library}'s own {task.kind} on equal buffers:\n#", format_table(task, own)]
        return "\n".join(lines)

    def summary(self) -> str:
        rows = (format_row(self.job.task, row) for row in self._rows)
        return "\n".join([*self.head(), *rows, self.rest()])

    def columns(self) -> Mapping[str, Mapping[str, Any]]:
        """Times are 0 where a call was not run."""
        rows = self._rows
        table = {"size_bytes": np.array([row.size_bytes for row in rows])}
        for call in _CALLS:
            measured = [getattr(row, call) for row in rows]
            table[f"{call}_ps"] = np.array([one.time_ps if one else 0 for one in measured])
            table[f"{call}_wrong"] = np.array([one.wrong if one else 0 for one in measured])
        return {"sizes": table}

    def as_json(self) -> dict[str, Any]:
        """Times in integer picoseconds, bandwidths in bytes per second; `files` are the programs that served, and
        how."""
        task = self.job.task
        return {
            "source": self.source,
            "collective": task.kind,
            "ranks": task.num_ranks,
            "root": task.root,
            "transport": task.transport,
            "data_type": task.data_type,
            "op": task.op,
            "iterations": task.iterations,
            "wrong": self.wrong,
            "rows": [self._plain(row) for row in self._rows],
            "request": self.request.to_plain(),
        }

    def write(self) -> None:
        """The file that the request asks for."""
        if self.request.json is not None:
            write_json(self.request.json, self.as_json())

    def _plain(self, row: Row) -> dict[str, Any]:
        size = row.size_bytes
        served = {call: self.job.served_by(size, call == "in_place") for call in _CALLS[:2]}
        measured = {call: self._measured(size, getattr(row, call)) for call in _CALLS}
        return {"size_bytes": size, "count": row.count, **measured, "files": served, "ran_over": row.transport}

    def _measured(self, size_bytes: int, result: Measured | None) -> dict[str, Any] | None:
        if result is None:
            return None
        algorithm, bus = bandwidths(self.job.task, size_bytes, result)
        return {"time_ps": result.time_ps, "algbw": algorithm, "busbw": bus, "wrong": result.wrong}

    def _what_ran(self) -> list[str]:
        """The transport, and the program of each kind of calls; size by size where they differ."""
        lines = [f"# Transport            : {', '.join(dict.fromkeys(row.transport for row in self._rows))}"]
        one_program = len(self.job.library.algorithms) == 1
        for row in self._rows[:1] if one_program else self._rows:
            size = row.size_bytes
            names = (self.job.served_by(size, call) or "none: stock algorithm" for call in (False, True))
            title = "Program              :" if one_program else f"{size:>12} "
            lines.append("# {} out-of-place: {}, in-place: {}".format(title, *names))
        return lines
