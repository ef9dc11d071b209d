"""`hocket bench speed`: the rates measured, beside limits and what was recorded."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from hocket.api.bench.request import SpeedBench
from hocket.api.progress import Progress
from hocket.api.result import Result
from hocket.base.errors import ExitCode
from hocket.base.files import write_json
from hocket.base.text_table import text_table
from hocket.bench.cpu import cpu_model
from hocket.bench.speed.instructions import (
    TOLERANCE,
    Counted,
    CountTable,
    compiler,
    count,
    more,
    not_comparable,
    read_table,
    write_table,
)
from hocket.bench.speed.limits import CoreLimits, measure_limits
from hocket.bench.speed.measured import MeasuredRate, rates_text, slower
from hocket.bench.speed.recorded import RECORDED, RecordedRate, commit, keep, newest, read_rates
from hocket.bench.speed.registry import chosen

__all__ = ["SpeedResult", "perform"]


@dataclass(eq=False, repr=False)
class SpeedResult(Result):
    """The rates; `warnings` name those that have become slower, and what could not be compared. `exit_code` is not 0
    where instructions were counted and have become more."""

    request: SpeedBench
    rates: Sequence[MeasuredRate]
    limits: CoreLimits | None
    cpu: str
    grown: Mapping[str, float] = field(default_factory=dict)
    warnings: Sequence[str] = ()

    def __post_init__(self) -> None:
        if any(part > TOLERANCE for part in self.grown.values()):
            self.exit_code = ExitCode.CHECK_FAILED

    def headline(self) -> str:
        slow = sum(slower(rate) for rate in self.rates)
        return f"{len(self.rates)} rates on one core of {self.cpu}, {slow} slower than recorded"

    def summary(self) -> str:
        return "\n".join([*self._limits(), *text_table(*rates_text(self.rates), align="<<"), "", *self._counts()])

    def columns(self) -> Mapping[str, Mapping[str, Any]]:
        names = ("case", "unit", "rate", "instructions", "of_instructions", "of_memory", "last", "change")
        rows = [rate.row() for rate in self.rates]
        return {"rates": {name: np.array([row[name] for row in rows]) for name in names}}

    def _limits(self) -> list[str]:
        if self.limits is None:
            return ["limits of this core: not measured, no g++ here", ""]
        told = self.limits
        return [
            f"limits of one core of {self.cpu}: {told.instructions / 1e9:.1f} G instructions/s, memory"
            f" {told.bytes_read / 1e9:.1f} GB/s read, {told.bytes_copied / 1e9:.1f} GB/s copied,"
            f" {told.loads_in_turn / 1e6:.1f} M loads/s each of which waits for the one before",
            "",
        ]

    def _counts(self) -> list[str]:
        told = [f"{name}: {part:+.1%} instructions" for name, part in self.grown.items() if abs(part) > TOLERANCE]
        counted = f"{len(self.grown)} cases counted, {len(told)} differ by more than {TOLERANCE:.0%} from the table"
        return [*told, *([counted] if self.grown else []), self.headline()]


def perform(request: SpeedBench, progress: Progress) -> SpeedResult:
    """Measures one rate after the other. Raises RequestError where --only names none, FormatError for a file of
    recorded rates that is none, HocketError where --count lacks valgrind."""
    wanted = chosen(request.only)
    path = RECORDED if request.recorded is None else Path(request.recorded)
    cpu, known = cpu_model(), read_rates(path)
    last, limits, table = newest(known, cpu), measure_limits(), read_table()
    warnings = [] if last else [f"no rate of this CPU ({cpu}) is recorded in {path.name}: nothing to hold it against"]
    counts = table.full if table.compiler == compiler() else {}
    rates = []
    for number, case in enumerate(wanted, start=1):
        progress.count(number - 1, len(wanted), "rates")
        progress.status(f"{case.name}: {case.what}")
        if case.needs:
            warnings.append(f"{case.name} is left out: it needs {case.needs}")
            continue
        rates.append(MeasuredRate(case, case.timed(), counts.get(case.name), limits, last.get(case.name)))
    warnings += [rate.warning() for rate in rates if slower(rate)]
    grown = _count(request, table, progress, warnings) if request.count else {}
    if request.record:
        _record(rates, path, cpu, limits)
    result = SpeedResult(request, rates, limits, cpu, grown, warnings)
    if request.json is not None:
        write_json(request.json, _plain(result))
    return result


def _count(request: SpeedBench, table: CountTable, progress: Progress, warnings: list[str]) -> Mapping[str, float]:
    """Counts small work, to hold it against the table; all of it, to be the table, where that is to be kept."""
    progress.status("counting instructions")
    small = count(request.only)
    if request.record:
        full = count(request.only, full=True)
        same = table.compiler == compiler()
        write_table(CountTable(compiler(), _with(table.small, small, same), _with(table.full, full, same)))
        return {}
    if why := not_comparable(table):
        warnings.append(f"instructions are not compared: {why}")
        return {}
    return more(table.small, small)


def _with(kept: Mapping[str, Counted], now: Mapping[str, Counted], same: bool) -> dict[str, Counted]:
    return {**kept, **now} if same else dict(now)


def _record(rates: Sequence[MeasuredRate], path: Path, cpu: str, limits: CoreLimits | None) -> None:
    limit = 0.0 if limits is None else float(f"{limits.instructions:.4g}")
    told = [
        RecordedRate(
            case=rate.case.name,
            unit=rate.case.unit,
            rate=float(f"{rate.timed.rate:.4g}"),
            instruction_limit=limit,
            cpu=cpu,
            compiler=compiler(),
            commit=commit(),
        )
        for rate in rates
    ]
    keep(told, path)


def _plain(result: SpeedResult) -> dict[str, Any]:
    limits = None if result.limits is None else asdict(result.limits)
    told = {"cpu": result.cpu, "compiler": compiler(), "commit": commit(), "limits": limits}
    rows = [rate.row() for rate in result.rates]
    return {"request": result.request.to_plain(), **told, "rates": rows, "more_instructions": dict(result.grown)}
