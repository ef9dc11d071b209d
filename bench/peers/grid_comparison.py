"""`hocket bench peers --grid`: every cell measured, and what came of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from hocket.api.bench.request import PeersBench
from hocket.api.progress import Progress
from hocket.api.reading import bytes_of
from hocket.api.result import Report, Result
from hocket.base.errors import ExitCode, RequestError
from hocket.base.text_table import text_table
from hocket.base.units import format_bytes, format_time
from hocket.bench.peers.fresh_process import Limits
from hocket.bench.peers.grid import GridOutcome, KeptCells, cells, recorded_times
from hocket.schedule import Kind

__all__ = ["GridComparison", "compare_grid"]


@dataclass(eq=False, repr=False)
class GridComparison(Result):
    """What was found in each cell; `recorded` are microseconds of an all_gather of 1 GiB by topology and peer."""

    request: PeersBench
    outcomes: Sequence[GridOutcome]
    recorded: Mapping[str, Mapping[str, float]]

    def __post_init__(self) -> None:
        failed = any(outcome.error for outcome in self.outcomes)
        self.exit_code = ExitCode.CHECK_FAILED if failed else ExitCode.DONE

    def headline(self) -> str:
        done = [outcome for outcome in self.outcomes if not outcome.error]
        at_bound = sum(outcome.ratio <= 1.01 for outcome in done)
        beaten = sum(outcome.native_ps < outcome.time_ps for outcome in done)
        return (
            f"{len(done)} of {len(self.outcomes)} cases: {at_bound} within 1 % of the bound; a native algorithm is"
            f" quicker in {beaten}; {len(self.outcomes) - len(done)} without a schedule"
        )

    def summary(self) -> str:
        rows = [self._row(list(group)) for _, group in groupby(self.outcomes, _place)]
        heads = ("topology", "collective", "sizes", "/ bound", "native / ours", "NCCL's model / ours", "peers / ours")
        errors = [f"{outcome.cell.name}: {outcome.error}" for outcome in self.outcomes if outcome.error]
        return "\n".join([*text_table(heads, rows, align="<<<<<<<"), "", *errors, self.headline()])

    def columns(self) -> Mapping[str, Mapping[str, Any]]:
        names = ("time_ps", "bound_ps", "chunks", "engine", "seconds", "native", "native_ps", "nccl", "nccl_ps")
        cases = {"case": np.array([outcome.cell.name for outcome in self.outcomes])}
        return {"cases": cases | {name: np.array([getattr(each, name) for each in self.outcomes]) for name in names}}

    def _row(self, group: Sequence[GridOutcome]) -> tuple[str, ...]:
        """A topology and a collective: the least and the greatest of all sizes."""
        done = [outcome for outcome in group if not outcome.error]
        sizes = [outcome.cell.size_bytes for outcome in group]
        nccl = [outcome.nccl_ps / outcome.time_ps for outcome in done if outcome.nccl_ps]
        return (
            group[0].cell.topology.partition(",")[0],
            str(group[0].cell.kind),
            f"{format_bytes(min(sizes))} to {format_bytes(max(sizes))}",
            _range([outcome.ratio for outcome in done], 3),
            _range([outcome.native_ps / outcome.time_ps for outcome in done], 2),
            _range(nccl, 2),
            self._peers(done),
        )

    def _peers(self, done: Sequence[GridOutcome]) -> str:
        """What is recorded of others for an all_gather of 1 GiB, as a ratio to ours."""
        told = []
        for outcome in done:
            if outcome.cell.kind is Kind.ALL_GATHER and outcome.cell.size_bytes == 2**30:
                times = self.recorded.get(outcome.cell.topology, {})
                told += [f"{peer} {time_us * 10**6 / outcome.time_ps:.3f}" for peer, time_us in times.items()]
        return ", ".join(told)


def compare_grid(request: PeersBench, data: Path, progress: Progress) -> GridComparison | Report:
    """Measures the cells one after the other. Raises RequestError where no cell has such a name."""
    wanted = cells(request.case)
    if not wanted:
        raise RequestError(f"--case {' '.join(request.case)}: no case has such a name; --list prints them")
    if request.list_cases:
        return Report(request, [cell.name for cell in wanted])
    if not data.is_dir():
        progress.note(f"note: no recorded figures in {data}, so none beside ours: name the folder with --data")
    limits = Limits(request.timeout, bytes_of("--memory", request.memory))
    kept = KeptCells.load(None if request.json is None else Path(request.json), request.to_plain())
    outcomes = []
    for number, outcome in enumerate(kept.measured(wanted, limits), start=1):
        outcomes.append(outcome)
        progress.count(number, len(wanted), "cases")
        said = outcome.error or f"{format_time(outcome.time_ps)}, {outcome.ratio:.4f} x bound"
        progress.status(f"{outcome.cell.name}: {said}")
    return GridComparison(request, outcomes, recorded_times(data))


def _place(outcome: GridOutcome) -> tuple[str, str]:
    return outcome.cell.topology, str(outcome.cell.kind)


def _range(values: Sequence[float], digits: int) -> str:
    if not values:
        return ""
    least, most = (f"{value:.{digits}f}" for value in (min(values), max(values)))
    return least if least == most else f"{least} to {most}"
