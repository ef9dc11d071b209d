"""The page of programs for a runtime: what each size takes by them, by the stock library, and at least."""

from collections.abc import Iterator, Sequence
from typing import Annotated

import msgspec

from hocket.base.units import format_bytes, format_limit, format_time
from hocket.report.charts import Axis, Chart, Series, xy_chart
from hocket.report.figures import SERIES, size_axis
from hocket.report.page import Cards, Details, Figure, Page, Section, Table, Text

__all__ = ["BundleFacts", "bundle_content"]

_Count = Annotated[int, msgspec.Meta(ge=0, lt=2**62)]
_TUNED = "Rules of tuner.csv, for NCCL's tuner plugin: quicker than the stock library's own choice."
_Size = Annotated[int, msgspec.Meta(ge=1, lt=2**62)]


class _Stock(msgspec.Struct, frozen=True):
    """What the stock library runs, and in which time."""

    algorithm: str
    time_ps: _Count


class _Tried(msgspec.Struct, frozen=True):
    """A program that was simulated."""

    time_ps: _Count
    source: str
    protocol: str
    thread_blocks: _Count
    instances: _Count


class _Row(msgspec.Struct, frozen=True):
    """A size: its program's bound, the stock library, and the file that serves it (None: the library, or nobody). With
    `--explain` also how many `programs` there were, how many were `simulated`, and those that were `tried`, the
    quickest first."""

    size_bytes: _Size
    bound_ps: _Count
    stock: _Stock | None
    time_ps: _Count | None
    file: str | None
    source: str | None
    protocol: str | None
    thread_blocks: _Count | None
    programs: _Count = 0
    simulated: _Count = 0
    tried: list[_Tried] = []

    @property
    def gain(self) -> float | None:
        """Times as quick as the stock library; None where one of both is not known."""
        if self.stock is None or not self.time_ps:
            return None
        return self.stock.time_ps / self.time_ps


class _SettingTime(msgspec.Struct, frozen=True):
    """What the stock library takes by a setting, and by its own choice."""

    size_bytes: _Size
    time_ps: _Count
    own: str
    own_ps: _Count


class _Setting(msgspec.Struct, frozen=True):
    """A rule of the tuner table: the stock library takes `algorithm` for calls of these sizes."""

    algorithm: str
    min_bytes: _Count
    max_bytes: _Count
    predicted: list[_SettingTime]


class BundleFacts(msgspec.Struct, frozen=True):
    """Programs of a collective for a runtime: the JSON of `hocket synthesize --for`."""

    collective: str
    ranks: _Count
    topology: str
    runtime: str
    assumed: list[str]
    stock: str
    rows: Annotated[list[_Row], msgspec.Meta(min_length=1)]
    tuned: list[_Setting] = []


def bundle_content(found: BundleFacts) -> Page:
    """What is on the page."""
    sections = [
        Section("Summary", [Cards([*_cards(found)])]),
        Section(
            "Time", [Figure(_times(found), "Both axes are logarithmic. A size without a dot is left to the library.")]
        ),
        Section("Sizes", [_table(found)]),
    ]
    if found.tuned:
        sections.append(Section("Settings of the stock library", [Text(_TUNED), _settings(found.tuned)]))
    if compared := [row for row in found.rows if row.programs]:
        about = Text("Programs that were not simulated have no chance by their bounds or guesses.")
        sections.append(Section("What was compared", [about, *map(_compared, compared)]))
    remarks = [*found.assumed, *([f"stock: {found.stock}"] if found.stock else [])]
    if remarks:
        sections.append(Section("Assumed, and notes", [Text(remark) for remark in remarks]))
    title = f"Programs of {found.collective} for {found.runtime}"
    return Page(title, f"{found.ranks} ranks on {found.topology}", sections)


def _cards(found: BundleFacts) -> Iterator[tuple[str, str, str]]:
    served = [row for row in found.rows if row.file is not None]
    yield "Sizes", f"{len(served)} of {len(found.rows)}", "run a program; the others are left to the stock library"
    gains = [(row.gain, row.size_bytes) for row in found.rows if row.gain is not None]
    if gains:
        best, size = max(gains)
        yield "Best gain", f"{best:.2f}x", f"over the stock library, at {format_bytes(size)}"


def _times(found: BundleFacts) -> Chart:
    sizes = [row.size_bytes for row in found.rows]
    series = []
    for at, (name, times) in enumerate(
        {
            "programs": [row.time_ps for row in found.rows],
            "stock library": [row.stock.time_ps if row.stock else None for row in found.rows],
        }.items()
    ):
        if any(times):
            values = [time / 1e6 if time else float("nan") for time in times]
            said = [
                f"{name}, {format_bytes(size)}: {format_time(time or 0)}"
                for size, time in zip(sizes, times, strict=True)
            ]
            series.append(Series(name, sizes, values, SERIES[at], tips=said))
    bounds = [row.bound_ps / 1e6 or float("nan") for row in found.rows]
    series.append(Series("lower bound of programs", sizes, bounds, "ink", dots=False, dashed=True))
    return xy_chart(series, size_axis(sizes), Axis("microseconds", log=True), "time over size", height=460)


def _table(found: BundleFacts) -> Table:
    rows = [
        [
            format_bytes(row.size_bytes),
            row.file or "left to the stock library",
            row.source or "-",
            _lowered_to(row.protocol or "-", row.thread_blocks or 0) if row.file else "-",
            format_time(row.time_ps) if row.time_ps else "-",
            format_time(row.stock.time_ps) if row.stock else "-",
            row.stock.algorithm if row.stock else "-",
            "-" if row.gain is None else f"{row.gain:.2f}x",
            format_time(row.bound_ps),
        ]
        for row in found.rows
    ]
    heads = ["size", "file", "schedule", "lowered to", "time", "stock", "its algorithm", "gain", "lower bound"]
    return Table(heads, rows)


def _settings(tuned: Sequence[_Setting]) -> Table:
    rows = [
        [
            f"{format_limit(setting.min_bytes)} to {format_limit(setting.max_bytes)}",
            setting.algorithm,
            format_bytes(at.size_bytes),
            format_time(at.time_ps),
            at.own,
            format_time(at.own_ps),
        ]
        for setting in tuned
        for at in setting.predicted
    ]
    return Table(["sizes of the rule", "setting", "size", "time", "its own choice", "time of that"], rows)


def _compared(row: _Row) -> Details:
    """What was compared at a size, the quickest first, behind a line that says which won."""
    rows = [
        (tried.time_ps, tried.source, _lowered_to(tried.protocol, tried.thread_blocks, tried.instances))
        for tried in row.tried
    ]
    if row.file is not None and row.time_ps is not None:
        rows = [one for one in rows if one[:2] != (row.time_ps, row.source)]
        lowered = _lowered_to(row.protocol or "-", row.thread_blocks or 0)
        rows.append((row.time_ps, row.source or "-", f"{lowered} (taken)"))
    if row.stock is not None:
        rows.append((row.stock.time_ps, "stock library", row.stock.algorithm))
    best = max(min((time_ps for time_ps, *_ in rows), default=1), 1)
    rows.append((row.bound_ps, "lower bound of programs", "-"))
    cells = [[*named, format_time(time_ps), f"{time_ps / best:.3f}"] for time_ps, *named in sorted(rows)]
    taken = row.source if row.file is not None else "left to the stock library"
    size = format_bytes(row.size_bytes)
    line = f"{size}: {taken}; {row.simulated:,} of {row.programs:,} programs were simulated"
    heads = ["schedule", "lowered to", "time", "times the quickest"]
    return Details(line, [Table(heads, cells, about=f"compared at {size}")])


def _lowered_to(protocol: str, thread_blocks: int, instances: int = 1) -> str:
    several = f", {instances} instances" if instances > 1 else ""
    return f"{protocol}, {thread_blocks} thread block{'s' * (thread_blocks != 1)}{several}"
