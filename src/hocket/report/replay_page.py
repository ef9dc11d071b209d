"""The page of a replay: measured beside recorded and predicted."""

from collections.abc import Mapping, Sequence

from hocket.base.units import format_bandwidth, format_bytes, format_time
from hocket.report.charts import Bar, BarPart, Chart, bar_chart, time_axis
from hocket.report.figures import SERIES
from hocket.report.page import Block, Cards, Figure, Page, Section, Table, Text
from hocket.runtime.replay.comparison import OperationTimes, ReplayComparison

__all__ = ["replay_content", "replay_page"]


def replay_page(comparison: ReplayComparison, subtitle: str) -> str:
    """The page as HTML text."""
    return replay_content(comparison, subtitle).html()


def replay_content(comparison: ReplayComparison, subtitle: str) -> Page:
    """What is on the page."""
    times = comparison.iterations_ps
    cards = Cards(
        [
            (
                "measured",
                format_time(comparison.measured_ps),
                f"{format_time(min(times))} to {format_time(max(times))}",
            ),
            ("recorded", _time(comparison.recorded_ps), "in the traces"),
            ("predicted", _time(comparison.predicted_ps), "on the topology"),
        ]
    )
    sections = [Section("Summary", [cards, *(Text(note) for note in comparison.notes)])]
    if comparison.operations:
        sections.append(Section("Operations", _operations(comparison.operations)))
    sections.append(Section("Ranks", _ranks(comparison)))
    return Page("Replay", subtitle, sections)


def _operations(operations: Sequence[OperationTimes]) -> list[Block]:
    rows = [
        [
            row.kind,
            row.group or "0",
            format_bytes(row.size_bytes),
            str(row.count),
            *map(_time, (row.measured_ps, row.median_ps, row.p95_ps, row.recorded_ps, row.predicted_ps)),
            "-" if row.algbw is None else format_bandwidth(row.algbw),
            "-" if row.busbw is None else format_bandwidth(row.busbw),
        ]
        for row in operations
    ]
    names = [f"{row.kind} {format_bytes(row.size_bytes)}, group {row.group or '0'}" for row in operations]
    series: dict[str, Sequence[int | None]] = {
        "measured": [row.measured_ps for row in operations],
        "recorded": [row.recorded_ps for row in operations],
        "predicted": [row.predicted_ps for row in operations],
    }
    caption = "Means, from the last rank's start to the last one's end; the axis is logarithmic."
    heads = ["operation", "group", "size", "count", "measured", "p50", "p95", "recorded", "predicted", "algbw", "busbw"]
    return [Figure(_bars(names, series, True, "times of operations"), caption), Table(heads, rows)]


def _ranks(comparison: ReplayComparison) -> list[Block]:
    names = [f"rank {row.rank}" for row in comparison.ranks]
    series: dict[str, Sequence[int | None]] = {
        "measured": [row.exposed_ps for row in comparison.ranks],
        "recorded": [row.recorded_exposed_ps for row in comparison.ranks],
        "predicted": [row.predicted_exposed_ps for row in comparison.ranks],
    }
    rows = [
        [
            str(row.rank),
            *map(_time, (row.time_ps, row.exposed_ps, row.recorded_exposed_ps, row.predicted_exposed_ps)),
            f"{row.last:g}",
            format_time(row.delay_ps),
        ]
        for row in comparison.ranks
    ]
    caption = "Exposed communication: the part of a rank's time in which it does not compute."
    return [
        Figure(_bars(names, series, False, "exposed communication of ranks"), caption),
        Table(["rank", "time", "exposed", "recorded", "predicted", "last", "waited for"], rows),
        Text("last: how often it was last in a collective of an iteration; waited for: how long it alone was."),
    ]


def _bars(names: Sequence[str], series: Mapping[str, Sequence[int | None]], log: bool, label: str) -> Chart:
    """A group of bars for each name, one for each source that has times at all."""
    known = {source: times for source, times in series.items() if any(time is not None for time in times)}
    bars = [
        Bar(
            name,
            [BarPart(source, times[at], f"{name}: {source} {_time(times[at])}") for source, times in known.items()],
        )
        for at, name in enumerate(names)
    ]
    longest = max((time or 0 for times in known.values() for time in times), default=0)
    return bar_chart(bars, time_axis(longest, log), dict(zip(known, SERIES, strict=False)), label, beside=True)


def _time(time_ps: int | None) -> str:
    return "-" if time_ps is None else format_time(time_ps)
