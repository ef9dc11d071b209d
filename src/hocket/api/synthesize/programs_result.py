"""What a bundle for a runtime comes to: each size by a program or by the stock library, and what they take."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import msgspec

from hocket.api.provenance import write_page
from hocket.api.result import Result
from hocket.api.stock_times import StockTime
from hocket.api.synthesize.request import Synthesis
from hocket.base.files import write_json
from hocket.base.text import printable_lines
from hocket.base.text_table import text_table
from hocket.base.units import format_bytes, format_limit, format_time
from hocket.report.bundle_page import BundleFacts, bundle_content
from hocket.translator.bundle import BundleReport, Compared
from hocket.translator.bundle.manifest import TUNER_TABLE, BundleFile, StockSetting
from hocket.translator.bundle.stock_table import gain_of

__all__ = ["ProgramRow", "ProgramsResult"]


@dataclass(frozen=True)
class ProgramRow:
    """A size in bytes; times in ps. `file`: the `number`-th, which serves it, in `time_ps`; None: the stock library
    does, or nobody. `bound_ps`: what no program beats; `stock`: what the library takes, where that is known."""

    size_bytes: int
    bound_ps: int
    stock: StockTime | None
    number: int = 0
    file: BundleFile | None = None
    time_ps: int | None = None

    @property
    def gain(self) -> float | None:
        """Times as quick as the stock library; None where nobody knows."""
        if self.stock is None:
            return None
        return 1.0 if self.time_ps is None else self.stock.time_ps / self.time_ps

    def cells(self) -> tuple[object, ...]:
        stock, gain = self.stock, self.gain
        told = ("", "") if stock is None else (format_time(stock.time_ps), stock.algorithm)
        bound = format_time(self.bound_ps)
        if self.file is None or self.time_ps is None:
            return (format_bytes(self.size_bytes), "", "left to the stock library", "", "", *told, "", bound)
        file = self.file
        return (
            format_bytes(self.size_bytes),
            self.number,
            file.source,
            _lowered_to(file.protocol, file.thread_blocks),
            format_time(self.time_ps),
            *told,
            "" if gain is None else f"{gain:.2f}x",
            bound,
        )

    def plain(self) -> dict[str, Any]:
        file = self.file
        return {
            "size_bytes": self.size_bytes,
            "bound_ps": self.bound_ps,
            "stock": None if self.stock is None else {"algorithm": self.stock.algorithm, "time_ps": self.stock.time_ps},
            "time_ps": self.time_ps,
            "file": None if file is None else file.path,
            "source": None if file is None else file.source,
            "protocol": None if file is None else file.protocol,
            "thread_blocks": None if file is None else file.thread_blocks,
        }


class ProgramsResult(Result):
    """The bundle in `folder` (`report` None: no program gains anything, and none was written), `rows` by size, and what
    was `compared` at each. `topology`: its name, with its `ranks`; `kernels`: what those of the runtime take, in
    sentences; `stock`: the library that they are compared with, or why they are not; "" where none is known."""

    def __init__(
        self,
        request: Synthesis,
        report: BundleReport | None,
        rows: Sequence[ProgramRow],
        compared: Mapping[int, Compared],
        *,
        topology: str,
        ranks: int,
        kernels: Sequence[str],
        stock: str,
    ) -> None:
        self.request: Synthesis = request
        self.folder = Path(request.output or "")
        self.report, self.rows, self.compared = report, tuple(rows), compared
        self.topology, self.ranks, self.kernels, self.stock = topology, ranks, tuple(kernels), stock

    def headline(self) -> str:
        none = "no size at which a program is known to be quicker than the stock library"
        return f"{self._subject}: {self._gain or none}"

    def summary(self) -> str:
        return printable_lines([*self._lines()])

    @property
    def _subject(self) -> str:
        return f"{self.request.collective} on {self.ranks} ranks of {self.topology}, for {self.request.runtime}"

    @property
    def _gain(self) -> str:
        """At how many sizes a program is quicker than the stock library; empty where none is, or nobody knows."""
        gains = [row.gain for row in self.rows if row.gain is not None]
        won = [gain for gain in gains if gain > 1]
        if not won:
            return ""
        return f"quicker than the stock library at {len(won)} of {len(gains)} sizes, by up to {max(won):.2f} times"

    def _lines(self) -> Iterator[str]:
        yield self._subject
        yield from (f"assumed: {sentence}" for sentence in self.kernels)
        if self.stock:
            yield f"stock: {self.stock}"
        yield from text_table(_HEADS, [row.cells() for row in self.rows], align=">><<><>>>")
        whole = [row for row in self.rows if row.file is None and not self.compared[row.size_bytes].simulated]
        if whole:
            sizes = ", ".join(format_bytes(row.size_bytes) for row in whole)
            yield f"note: {self.request.runtime} runs its own algorithm at {sizes}: no program's chunks divide it"
        yield from self._unserved()
        if self.request.explain:
            for row in self.rows:
                yield from _explained(row, self.compared[row.size_bytes], self._settings)
        if self._gain:
            yield self._gain
        if self.report is None or not self.report.bundle.files:
            nothing = ": nothing was written" * (self.report is None)
            yield f"no program is quicker than the stock library at any of these sizes{nothing}"
        if self.report is None:
            return
        yield from map(_setting_line, self._settings)
        if files := len(self.report.bundle.files):
            yield f"proved: {self.report.proofs} executions: no deadlock, no race, every contribution exactly once"
        written = [f"{files} program{'s' * (files > 1)}"] if files else []
        written += [f"{TUNER_TABLE} for NCCL's tuner plugin"] if self._settings else []
        yield f"written: {' and '.join(written)} to {self.folder}; {self.folder}/README.md says how to run them"

    @property
    def _settings(self) -> tuple[StockSetting, ...]:
        return () if self.report is None else self.report.bundle.tuned

    def _unserved(self) -> Iterator[str]:
        """Sizes at which a program is quicker than the stock library, and that no file of the bundle serves."""
        gains = {
            row.size_bytes: row.stock.time_ps / tried[0].time_ps
            for row in self.rows
            if row.file is None and row.stock and (tried := self.compared[row.size_bytes].quickest)
        }
        missed = {size: gain for size, gain in gains.items() if gain > 1 + 1 / _WORTH_A_FILE}
        if missed and self.report is not None:
            sizes = ", ".join(map(format_bytes, missed))
            yield (
                f"note: at {sizes} programs are up to {max(missed.values()):.2f} times quicker than the stock library,"
                f" and {self.request.runtime} loads no more files: a bundle for these sizes alone has them"
            )

    def as_json(self) -> dict[str, Any]:
        """Times are in ps."""
        return {
            "format": "hocket.programs",
            "version": 1,
            "headline": self.headline(),
            "collective": self.request.collective,
            "ranks": self.ranks,
            "topology": self.topology,
            "runtime": self.request.runtime,
            "assumed": list(self.kernels),
            "stock": self.stock,
            "rows": [{**row.plain(), **self._tried(row.size_bytes)} for row in self.rows],
            "tuned": msgspec.to_builtins(self._settings),
            "request": self.request.to_plain(),
        }

    def _tried(self, size_bytes: int) -> dict[str, Any]:
        """What `--explain` adds to a size."""
        if not self.request.explain:
            return {}
        compared = self.compared[size_bytes]
        return {
            "programs": compared.programs,
            "simulated": compared.simulated,
            "tried": [asdict(tried) for tried in compared.quickest],
        }

    def write(self) -> None:
        if self.request.report is not None:
            page = bundle_content(msgspec.convert(self.as_json(), BundleFacts)).html()
            write_page(self.request.report, page, self)
        if self.request.json is not None:
            write_json(self.request.json, self.as_json())


_WORTH_A_FILE = 64  # a program that gains less than a 64th gets no file
_SHOWN = 5  # programs of a size that --explain tells of


def _setting_line(setting: StockSetting) -> str:
    at = gain_of(setting)
    window = f"{format_limit(setting.min_bytes)} to {format_limit(setting.max_bytes)}"
    times = (
        f"{format_time(at.time_ps)} at {format_bytes(at.size_bytes)}, its own choice {at.own} {format_time(at.own_ps)}"
    )
    return f"{TUNER_TABLE}: from {window} stock NCCL takes {setting.algorithm}: {times}"


def _explained(row: ProgramRow, compared: Compared, settings: Sequence[StockSetting]) -> Iterator[str]:
    """What was compared at a size, the quickest first, beside the stock library and the bound."""
    simulated = f"{compared.simulated} of {compared.programs} programs were simulated"
    yield f"{format_bytes(row.size_bytes)}: {simulated}; the others have no chance by their bounds or guesses"
    rows = [
        (tried.time_ps, tried.source, _lowered_to(tried.protocol, tried.thread_blocks, tried.instances))
        for tried in compared.quickest[:_SHOWN]
    ]
    if row.file is not None and row.time_ps is not None:
        file = row.file
        rows = [one for one in rows if one[:2] != (row.time_ps, file.source)]
        rows.append((row.time_ps, file.source, f"{_lowered_to(file.protocol, file.thread_blocks)} (taken)"))
    if row.stock is not None:
        rows.append((row.stock.time_ps, "stock library", row.stock.algorithm))
    rows += [
        (one.time_ps, "stock library", f"{setting.algorithm} ({TUNER_TABLE})")
        for setting in settings
        for one in setting.predicted
        if one.size_bytes == row.size_bytes
    ]
    if not rows:
        return
    best = min(time_ps for time_ps, *_ in rows)
    rows.append((row.bound_ps, "bound", ""))
    cells = [("", format_time(time_ps), f"{time_ps / best:.3f}x", *named) for time_ps, *named in sorted(rows)]
    yield from text_table(("", "time", "", "schedule", "lowered to"), cells, align="<>><<")


def _lowered_to(protocol: str, thread_blocks: int, instances: int = 1) -> str:
    several = f", {instances} instances" if instances > 1 else ""
    return f"{protocol}, {thread_blocks} thread block{'s' * (thread_blocks > 1)}{several}"


_HEADS = ("size", "file", "schedule", "lowered to", "time", "stock", "its algorithm", "gain", "program bound")
