"""Shows a folder of results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from hocket.api.progress import Progress
from hocket.api.result import Result
from hocket.api.view.pages import when
from hocket.api.view.request import ResultView
from hocket.api.view.runs import LeftOut, StoredRun, StoredRuns
from hocket.api.view.server import ResultServer, is_loopback
from hocket.base.errors import FormatError
from hocket.base.text import printable_lines
from hocket.base.text_table import text_table

__all__ = ["ListedRuns", "perform"]


@dataclass(frozen=True, eq=False, repr=False)
class ListedRuns(Result):
    """The runs in a folder, the newest first; `left_out`: files that are of no run, by reason."""

    request: ResultView
    runs: Sequence[StoredRun]
    left_out: Sequence[LeftOut]

    def headline(self) -> str:
        return f"{len(self.runs)} run{'s' * (len(self.runs) != 1)} in {self.request.folder}"

    def rest(self) -> str:
        return self.summary() if self.request.list_runs else ""

    def summary(self) -> str:
        rows = [(run.path, when(run.changed_s), run.headline or "-", run.command) for run in self.runs]
        table = text_table(("run", "when", "what it came to", "made by"), rows, align="<<<<")
        return printable_lines([*table, *(f"left out: {each}" for each in self.left_out)])

    def columns(self) -> Mapping[str, Mapping[str, Any]]:
        names = ("path", "words", "command", "changed_s", "headline")
        table = {name: np.array([getattr(run, name) for run in self.runs]) for name in names}
        times = ("time_ps", "bound_ps")  # 0: the result has none
        left_out = [(path, each.why) for each in self.left_out for path in each.paths]
        others = {name: np.array([pair[at] for pair in left_out], np.str_) for at, name in enumerate(("path", "why"))}
        return {
            "left_out": others,
            "runs": table | {name: np.array([getattr(run, name) or 0 for run in self.runs]) for name in times},
        }


def perform(request: ResultView, progress: Progress) -> ListedRuns:
    """Serves the folder until Ctrl-C, or lists what is in it. Raises FormatError for what is no folder."""
    folder = Path(request.folder)
    if not folder.is_dir():
        raise FormatError(f"{folder}: is no folder; give the one with the results of --json and --report")
    if request.list_runs:
        runs = StoredRuns(folder)
        return ListedRuns(request, runs.all(), runs.left_out)
    server = ResultServer(folder, request.listen)
    if not is_loopback(server.host):
        progress.note(f"anybody who reaches {server.host} can read what is in {folder}")
    progress.say(f"{folder} at {server.url} (Ctrl-C ends it)")
    try:
        server.serve()
    except KeyboardInterrupt:
        progress.note("ended")
    return ListedRuns(request, server.runs.all(), server.runs.left_out)
