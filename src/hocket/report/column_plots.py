"""Figures of the columns of a sweep: curves with both regimes and the knee, heat maps, Pareto fronts."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from hocket.base.units import format_bandwidth, format_bytes, format_time
from hocket.report.charts import Axis, Series, matrix, time_axis, xy_chart
from hocket.report.figures import SERIES, size_axis
from hocket.report.page import Block, Figure, Table, Text
from hocket.simulator.analysis import Columns, alpha_beta, knee_bytes

__all__ = ["Plot", "figures"]

_MOST_LINES = 16
_MOST_DOTS = 4000
_MOST_CELLS = 4000
_SYMBOLS = ("dot", "square", "diamond", "triangle", "ring")
_SIZE = "size_bytes"


class Plot(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Columns of the results as a figure: curves of `y` over `x`, a line each value of the columns `by`; a heat map of
    `value` over `x` and `y`; or the Pareto front of `x` and `y`, both the smaller the better. One figure each value of
    the column `each`. `log`: logarithmic axes."""

    kind: Literal["curves", "heat", "pareto"] = "curves"
    x: str
    y: str
    value: str = ""
    by: list[str] | str = []
    each: str = ""
    log: bool = False
    title: str = ""

    @property
    def lines(self) -> list[str]:
        return [self.by] if isinstance(self.by, str) else self.by

    def named(self) -> Iterator[tuple[str, str]]:
        """The columns it names, after the keys that name them."""
        yield from (("x", self.x), ("y", self.y))
        yield from (("by", name) for name in self.lines)
        yield from ((key, name) for key, name in (("value", self.value), ("each", self.each)) if name)

    def why_not(self) -> str:
        """What is wrong with it; empty where nothing is."""
        if self.kind == "heat" and not self.value:
            return "a heat map needs value: the column that its colours say"
        if self.kind != "heat" and self.value:
            return f"value is of heat maps: {self.kind} has x and y"
        return ""


def figures(plot: Plot, columns: Columns) -> Iterator[Block]:
    """The figures of a plot, and what is read off them."""
    whole = np.ones(len(columns[plot.x]), bool)
    for name in dict.fromkeys(columns[plot.each].tolist()) if plot.each else [""]:
        kept = columns[plot.each] == name if plot.each else whole
        some = {key: column[kept] for key, column in columns.items()}
        title = ", ".join(filter(None, [plot.title, f"{plot.each} {_said(plot.each, name)}" if plot.each else ""]))
        yield from {"curves": _curves, "heat": _heat, "pareto": _front}[plot.kind](plot, some, title)


def _numbers(name: str, column: NDArray[Any]) -> NDArray[np.float64]:
    """A column as numbers, nan where there is none; of texts their places."""
    if column.dtype.kind not in "iuf":
        places = {text: at for at, text in enumerate(dict.fromkeys(column.tolist()))}
        return np.array([places[text] for text in column.tolist()], np.float64)
    numbers = column.astype(np.float64)
    return np.where(numbers < 0, np.nan, numbers) if name.endswith("_ps") else numbers


def _said(name: str, value: Any) -> str:
    """A value of a column in words."""
    if isinstance(value, str):
        return value
    if not math.isfinite(value):
        return "-"
    if name.endswith("_bytes"):
        return format_bytes(round(value))
    if name.endswith("_ps"):
        return format_time(round(value))
    if name in ("busbw", "algbw"):
        return format_bandwidth(float(value))
    return f"{value:,.4g}" if isinstance(value, float) and value < 1e6 else f"{value:,.0f}"


def _axis(name: str, column: NDArray[Any], log: bool) -> Axis:
    if column.dtype.kind not in "iuf":
        names = dict.fromkeys(column.tolist())
        return Axis(name, ticks=[(float(at), text) for at, text in enumerate(names)])
    numbers = _numbers(name, column)
    known = numbers[np.isfinite(numbers)]
    log = log and bool((known > 0).all())
    if name.endswith("_bytes") and log:
        return Axis(name, log=True, ticks=_some([*size_axis(known.tolist()).ticks]))
    if name.endswith("_ps") and len(known):
        axis = time_axis(float(known.max()), log)
        return Axis(f"{name.removesuffix('_ps')}, {axis.title}", log=log, from_zero=not log, unit=axis.unit)
    if name in ("busbw", "algbw"):
        return Axis(f"{name}, GB/s", log=log, from_zero=not log, unit=1e9)
    return Axis(name, log=log, from_zero=not log)


def _some(ticks: list[tuple[float, str]]) -> list[tuple[float, str]]:
    return ticks[:: -(-len(ticks) // 12)] if ticks else ticks


def _groups(plot: Plot, columns: Columns) -> Mapping[str, NDArray[np.int64]]:
    """The rows of each line, by its name."""
    names = [[_said(name, value) for value in columns[name].tolist()] for name in plot.lines]
    found: dict[str, list[int]] = {}
    for at in range(len(columns[plot.x])):
        found.setdefault(", ".join(each[at] for each in names), []).append(at)
    return {name: np.array(rows) for name, rows in found.items()}


def _tips(plot: Plot, columns: Columns, rows: Sequence[int], name: str) -> list[str]:
    head = f"{name}\n" if name else ""
    xs, ys = columns[plot.x].tolist(), columns[plot.y].tolist()
    return [f"{head}{plot.x} {_said(plot.x, xs[at])}\n{plot.y} {_said(plot.y, ys[at])}" for at in rows]


def _curves(plot: Plot, columns: Columns, title: str) -> Iterator[Block]:
    regimes = plot.x == _SIZE and plot.y.endswith("time_ps") and plot.log
    x, y = _numbers(plot.x, columns[plot.x]), _numbers(plot.y, columns[plot.y])
    groups = _groups(plot, columns)
    series, rows = [], []
    several = False
    for at, (name, places) in enumerate([*groups.items()][:_MOST_LINES]):
        color = SERIES[at % len(SERIES)]
        places = places[np.isfinite(x[places]) & np.isfinite(y[places])]
        places = places[np.argsort(x[places], kind="stable")][:_MOST_DOTS]
        if not len(places):
            continue
        across, up = x[places], y[places]
        joined = len(np.unique(across)) == len(across)
        several |= not joined
        tips = _tips(plot, columns, places.tolist(), name)
        symbol = _SYMBOLS[at // len(SERIES) % len(_SYMBOLS)]
        series.append(Series(name, across.tolist(), up.tolist(), color, line=joined, tips=tips, symbol=symbol))
        if regimes and joined and len(across) > 1:
            lines, row = _regimes(name, across, up, color)
            series += lines
            rows.append(row)
    if not series:
        yield Text(f"{title}: no point has both {plot.x} and {plot.y}.")
        return
    caption = f"{title}. " if title else ""
    if regimes:
        caption += (
            "Thin lines: the two regimes, the time of the smallest size and the bandwidth of the largest; a ring marks"
            " the knee, where the time is twice that of the smallest size."
        )
    if several:
        caption += "Several points share an x: they are not joined. "
    if len(groups) > _MOST_LINES:
        caption += f"{len(groups) - _MOST_LINES} more lines are in results.csv."
    axes = (_axis(plot.x, columns[plot.x], plot.log), _axis(plot.y, columns[plot.y], plot.log))
    yield Figure(xy_chart(series, *axes, f"{plot.y} over {plot.x}", height=440), caption.strip())
    if rows:
        yield Table(["line", "smallest size", "time", "largest size", "bandwidth", "knee", "alpha + size / beta"], rows)


def _regimes(
    name: str, sizes: NDArray[np.float64], times: NDArray[np.float64], color: str
) -> tuple[list[Series], list[str]]:
    """What a collective takes if only latency counted, and if only bandwidth did, and the size between."""
    floor, ends = float(times[0]), [float(sizes[0]), float(sizes[-1])]
    pace = float(times[-1] / max(sizes[-1], 1.0))
    knee = knee_bytes(sizes.astype(int).tolist(), times.astype(int).tolist(), int(floor))
    fit = alpha_beta(sizes.astype(int).tolist(), times.astype(int).tolist())
    row = [name, format_bytes(int(ends[0])), format_time(int(floor)), format_bytes(int(ends[1]))]
    row += [format_bandwidth(1e12 / max(pace, 1e-9)), "outside" if knee is None else format_bytes(round(knee))]
    row.append(f"{format_time(round(fit.alpha_ps))} + size / {format_bandwidth(fit.bandwidth)}, {fit.worst:.0%} off")
    if knee is None:
        return [], row
    corner = floor / pace
    thin: dict[str, Any] = {"dots": False, "dashed": True, "thin": True}
    said = [f"knee of {name}: {format_bytes(round(knee))}"]
    return [
        Series("", [ends[0], corner], [floor, floor], color, **thin),
        Series("", [corner, ends[1]], [floor, pace * ends[1]], color, **thin),
        Series("", [knee], [2 * floor], color, line=False, symbol="ring", sizes=[18], tips=said),
    ], row


def _heat(plot: Plot, columns: Columns, title: str) -> Iterator[Block]:
    across, up = (_ordered(columns[name]) for name in (plot.x, plot.y))
    if len(across) * len(up) > _MOST_CELLS:
        yield Text(f"{title}: {len(across):,} by {len(up):,} cells are too many for a heat map.")
        return
    values = columns[plot.value]
    of_numbers = values.dtype.kind in "iuf"
    numbers = _numbers(plot.value, values)
    cells: dict[tuple[int, int], int] = {}
    fastest = next((name for name in ("time_ps", "step_ps") if name in columns), plot.value)
    order = numbers if of_numbers else _numbers(fastest, columns[fastest])
    failed = columns.get("error", columns.get("skipped", np.array([""] * len(values))))
    places = zip(columns[plot.x].tolist(), columns[plot.y].tolist(), strict=True)
    shared = False
    for at, (x, y) in enumerate(places):
        if not math.isfinite(numbers[at]) or failed[at]:
            continue
        cell = across.index(x), len(up) - 1 - up.index(y)
        shared |= cell in cells
        if cell not in cells or order[at] < order[cells[cell]]:
            cells[cell] = at
    if not cells:
        yield Text(f"{title}: no point has {plot.value}.")
        return
    colors, legend = _colors(plot, values, numbers, [*cells.values()])
    said = {name: columns[name].tolist() for name in (plot.x, plot.y, plot.value)}
    shown = {
        cell: (colors[at], "\n".join(f"{name} {_said(name, cells_of[at])}" for name, cells_of in said.items()))
        for cell, at in cells.items()
    }
    names = [_said(plot.x, each) for each in across], [_said(plot.y, each) for each in reversed(up)]
    caption = f"{title}. " if title else ""
    caption += f"The colour is {plot.value}; point at a cell to see it."
    if shared:
        caption += f" Of several points of a cell it is {'the least' if of_numbers else 'that of the fastest'}."
    picture = matrix(*names, shown, (plot.x, plot.y), f"{plot.value} over {plot.x} and {plot.y}", legend)
    yield Figure(picture, caption)


def _ordered(column: NDArray[Any]) -> list[Any]:
    """The values of an axis: numbers ascending, texts as they come."""
    found = dict.fromkeys(column.tolist())
    return sorted(found) if column.dtype.kind in "iuf" else list(found)


def _colors(
    plot: Plot, values: NDArray[Any], numbers: NDArray[np.float64], shown: Sequence[int]
) -> tuple[Mapping[int, str], list[tuple[str, str]]]:
    """The class of each row's colour, and the legend."""
    if values.dtype.kind not in "iuf":
        names = {name: SERIES[at % len(SERIES)] for at, name in enumerate(dict.fromkeys(values[shown].tolist()))}
        return {at: names[values[at]] for at in shown}, [(color, name) for name, color in names.items()]
    known = numbers[shown]
    log = plot.log and bool((known > 0).all())
    scaled = np.log(known) if log else known
    low, high = float(scaled.min()), float(scaled.max())
    level = 1 + np.round(8 * (scaled - low) / ((high - low) or 1.0)).astype(int)
    ends = [_said(plot.value, float(each)) for each in (known.min(), known.max())]
    words = f"{plot.value}: {ends[0]} to {ends[1]}{', logarithmic' if log else ''}"
    return {at: f"h{each}" for at, each in zip(shown, level.tolist(), strict=True)}, [("heat", words)]


def _front(plot: Plot, columns: Columns, title: str) -> Iterator[Block]:
    x, y = _numbers(plot.x, columns[plot.x]), _numbers(plot.y, columns[plot.y])
    series, rows = [], []
    for at, (name, places) in enumerate([*_groups(plot, columns).items()][:_MOST_LINES]):
        color, symbol = SERIES[at % len(SERIES)], _SYMBOLS[at % len(_SYMBOLS)]
        places = places[np.isfinite(x[places]) & np.isfinite(y[places])]
        ordered = places[np.lexsort((y[places], x[places]))]
        best = [int(each) for each, least in zip(ordered, _least_before(y[ordered]), strict=True) if y[each] < least]
        others = [int(each) for each in ordered.tolist() if each not in set(best)][:_MOST_DOTS]
        line = x[best].tolist(), y[best].tolist()
        series.append(Series("", *line, color, dots=False, thin=True, steps=True))
        tips = _tips(plot, columns, others, name)
        series.append(Series(name, x[others].tolist(), y[others].tolist(), color, line=False, faint=True, tips=tips))
        tips = _tips(plot, columns, best, name)
        label = f"{name}, Pareto front" if name else "Pareto front"
        looks: dict[str, Any] = {"line": False, "symbol": symbol, "sizes": [11.0] * len(best), "tips": tips}
        series.append(Series(label, *line, color, **looks))
        rows += [
            [name, _said(plot.x, columns[plot.x].tolist()[each]), _said(plot.y, columns[plot.y].tolist()[each])]
            for each in best
        ]
    caption = f"{title}. " if title else ""
    caption += "On a line are the points that no other has both numbers smaller of."
    axes = (_axis(plot.x, columns[plot.x], plot.log), _axis(plot.y, columns[plot.y], plot.log))
    yield Figure(xy_chart(series, *axes, f"{plot.y} over {plot.x}", height=440), caption)
    yield Table(["Pareto front", plot.x, plot.y], rows)


def _least_before(values: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.concatenate([[np.inf], np.minimum.accumulate(values)])[: len(values)]
