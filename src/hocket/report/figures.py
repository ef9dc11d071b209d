"""The charts that several pages have, made from Hocket's own data models."""

from collections.abc import Mapping, Sequence

import numpy as np

from hocket.base.units import format_bytes, format_time
from hocket.report.charts import (
    Axis,
    Bar,
    BarPart,
    Chart,
    Mark,
    Series,
    Span,
    TimeRow,
    bar_chart,
    span_chart,
    time_axis,
    xy_chart,
)
from hocket.report.node_names import NodeNames
from hocket.schedule import Schedule

__all__ = ["KERNELS", "PARTS", "SERIES", "curves", "link_timeline", "size_axis", "stacked_times"]

SERIES = tuple(f"c{number}" for number in range(8))
"""Classes of colours for series, in order."""
KERNELS = "launch and steps of kernels"
PARTS = {
    "computation": "c0",
    "computation and communication": "c2",
    "exposed communication": "c1",
    "waiting for other ranks": "wait",
    KERNELS: "c4",
    "idle": "idle",
}
"""What a rank does, with the class of its colour."""
_SPARE = ("c3", "c4", "c5", "c6", "c7")


def size_axis(sizes: Sequence[float]) -> Axis:
    """A logarithmic axis of sizes, with ticks at these."""
    return Axis("size", log=True, ticks=[(size, format_bytes(round(size))) for size in sorted(set(sizes))])


def stacked_times(rows: Sequence[tuple[str, Mapping[str, float]]], marks: Sequence[float], mark_name: str) -> Chart:
    """Horizontal bars, one a row, stacked by part (picoseconds), with a mark on each (for example its bound)."""
    parts = list(dict.fromkeys(part for _, times in rows for part in times))
    colors = {part: PARTS.get(part) or _SPARE[at % len(_SPARE)] for at, part in enumerate(parts)}
    bars = [
        Bar(
            name,
            [BarPart(part, time, f"{name}: {part} {format_time(time)}") for part, time in times.items()],
            Mark(mark, f"{name}: {mark_name} {format_time(mark)}"),
        )
        for (name, times), mark in zip(rows, marks, strict=True)
    ]
    longest = max([*marks, *(sum(times.values()) for _, times in rows)], default=0)
    return bar_chart(bars, time_axis(longest), colors, "time by part", mark=mark_name)


def curves(
    sizes: Sequence[int], series: Mapping[str, Sequence[float]], y_title: str, bound: str | None = None
) -> Chart:
    """Lines over message size (log axis); the series named `bound` is dashed."""
    drawn = [
        Series(
            name,
            sizes,
            values,
            "ink" if name == bound else SERIES[at % len(SERIES)],
            dots=name != bound,
            dashed=name == bound,
            tips=[
                f"{name}, {format_bytes(size)}: {value:.4g} {y_title}"
                for size, value in zip(sizes, values, strict=True)
            ],
        )
        for at, (name, values) in enumerate(series.items())
    ]
    return xy_chart(drawn, size_axis(sizes), Axis(y_title, from_zero=True), f"{y_title} over size", height=380)


def link_timeline(schedule: Schedule, max_transfers: int = 4000) -> Chart:
    """What each link does over time: a bar a transfer on each physical link it holds, by operation.

    Above `max_transfers` bars only the busiest links are drawn; the caption of the caller should say so.
    """
    topology = schedule.topology
    offset, links = schedule.route_offset, schedule.route_links
    lengths = np.diff(offset)[schedule.route]
    transfer = np.repeat(np.arange(schedule.num_transfers), lengths)
    link = np.concatenate([links[offset[route] : offset[route + 1]] for route in schedule.route] or [links[:0]])
    uses = np.bincount(link, minlength=topology.num_links)
    busiest = np.argsort(-uses, kind="stable")
    fitting = int(np.searchsorted(np.cumsum(uses[busiest]), max_transfers, side="right"))
    kept = sorted(int(each) for each in busiest[: max(fitting, 1)] if uses[each])
    names = NodeNames(topology)
    rows = []
    for each in kept:
        spans = []
        for number in transfer[link == each].tolist():
            kind = "reduce" if schedule.reduce[number] else "copy"
            start, finish = int(schedule.start_ps[number]), int(schedule.finish_ps[number])
            said = f"{kind} of chunk {schedule.chunk[number]}: {format_time(start)} to {format_time(finish)}"
            spans.append(Span(kind, start, finish, said))
        rows.append(TimeRow(names.link(each), spans))
    return span_chart(rows, schedule.time_ps, {"copy": "c0", "reduce": "c1"}, "transfers of each link over time")
