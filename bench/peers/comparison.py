"""`hocket bench peers`: every case run, beside what its peer did."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from hocket.api.bench.request import PeersBench
from hocket.api.progress import Progress
from hocket.api.reading import bytes_of
from hocket.api.result import Report, Result
from hocket.base.errors import ExitCode, RequestError
from hocket.bench.peers.case import Case
from hocket.bench.peers.cases import tacos_cases
from hocket.bench.peers.fresh_process import Limits
from hocket.bench.peers.grid_comparison import GridComparison, compare_grid
from hocket.bench.peers.overview import PeersOverview, compare_peers
from hocket.bench.peers.run import Result as CaseResult
from hocket.bench.peers.run import Results
from hocket.bench.peers.table import table

__all__ = ["PeersComparison", "perform"]

_DATA = Path(__file__).resolve().parents[3] / "shared" / "data" / "tacos"
_WIDTH = 260  # of the table, which is no narrower for a narrow terminal


@dataclass(eq=False, repr=False)
class PeersComparison(Result):
    """What came out of each case; `exit_code` is not 0 unless all targets are met."""

    request: PeersBench
    results: Sequence[CaseResult]

    def __post_init__(self) -> None:
        self.met = sum(not result.outcome.shortfalls(result.case.target) for result in self.results)
        self.exit_code = ExitCode.DONE if self.met == len(self.results) else ExitCode.CHECK_FAILED

    def headline(self) -> str:
        not_yet = sum(bool(result.outcome.error) for result in self.results)
        return f"{self.met} of {len(self.results)} cases met; {not_yet} not yet"

    def summary(self) -> str:
        text = StringIO()
        Console(width=_WIDTH, file=text).print(table(self.results))
        return text.getvalue() + self.headline()

    def columns(self) -> Mapping[str, Mapping[str, Any]]:
        names = ("time_ps", "bound_ps", "search_seconds", "cpu_seconds", "whole_seconds", "peak_bytes", "engine")
        cases = {"case": np.array([result.case.name for result in self.results])}
        rows = {name: np.array([getattr(result.outcome, name) for result in self.results]) for name in names}
        return {"cases": cases | rows}


def perform(request: PeersBench, progress: Progress) -> PeersOverview | PeersComparison | GridComparison | Report:
    """The overview of all peers, or the cases one after the other. Raises RequestError where no case has such a name,
    and for options of the overview beside those of cases."""
    cases_asked = request.grid or request.only or request.case or request.list_cases or request.data
    if not cases_asked:
        return compare_peers(request, progress)
    if request.page is not None or request.astra_sim is not None:
        raise RequestError(
            "--page and --astra-sim are of all peers: leave out --only, --grid, --case, --list and --data"
        )
    if request.grid:
        return compare_grid(request, _DATA if request.data is None else Path(request.data), progress)
    cases = _cases(request, progress)
    if request.list_cases:
        return Report(request, [one.name for one in cases])
    limits = Limits(request.timeout, bytes_of("--memory", request.memory))
    results = []
    finished = Results.load(None if request.json is None else Path(request.json), request.to_plain())
    driver = None if request.tacos is None else Path(request.tacos)
    for number, result in enumerate(finished.run(cases, limits, driver), start=1):
        results.append(result)
        said = result.outcome.error or f"{result.outcome.ratio:.4f} x bound in {result.outcome.seconds:.3g} s"
        progress.note(f"[{number}/{len(cases)}] {result.case.name}: {said}")
    return PeersComparison(request, results)


def _cases(request: PeersBench, progress: Progress) -> list[Case]:
    data = _DATA if request.data is None else Path(request.data)
    if not data.is_dir():
        progress.note(f"note: no recorded figures in {data}, so fewer cases: name the folder with --data")
    patterns = request.case or ("*",)
    cases = [one for one in tacos_cases(data) if any(fnmatchcase(one.name, pattern) for pattern in patterns)]
    if not cases:
        raise RequestError(f"--case {' '.join(patterns)}: no case has such a name; --list prints them")
    return cases
