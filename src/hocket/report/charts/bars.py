"""Horizontal bars: stacked by part, or beside each other, with marks."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hocket.report.charts.drawing import WIDTH, Chart, label_width, number, rect, row_label, svg, text, tip
from hocket.report.charts.scales import Axis, Scale

__all__ = ["Bar", "BarPart", "Mark", "bar_chart"]

_GAP, _AXIS, _RIGHT = 6, 44, 24


@dataclass(frozen=True, slots=True)
class BarPart:
    """A part of a bar: which part of all bars, its value, and what is said of it."""

    name: str
    value: float | None
    tip: str


@dataclass(frozen=True, slots=True)
class Mark:
    """A line across a bar at a value."""

    value: float
    tip: str


@dataclass(frozen=True, slots=True)
class Bar:
    """A row: its name, its parts, marks on it, words at its end; `opens` is the anchor that a click leads to."""

    name: str
    parts: Sequence[BarPart]
    mark: Mark | None = None
    words: str = ""
    opens: str = ""


def bar_chart(
    bars: Sequence[Bar],
    axis: Axis,
    colors: Mapping[str, str],
    label: str,
    beside: bool = False,
    mark: str = "",
) -> Chart:
    """A bar a row; its parts follow each other, or with `beside` lie below each other. `colors` are classes by the name
    of a part; `mark` is what the marks are called."""
    left = label_width([bar.name for bar in bars])
    ends = [_end(bar, beside) for bar in bars]
    room = 6.6 * max((len(bar.words) for bar in bars), default=0)
    scale = Scale.over(axis, ends + _starts(bars, axis), left, WIDTH - _RIGHT - room)
    each = 12 if beside else 18 if len(bars) > 12 else 24
    parts: list[str] = []
    y = 4.0
    for bar in bars:
        high = each * (len(bar.parts) if beside else 1)
        parts.append(row_label(left - 8, y + high / 2 + 4, bar.name))
        drawn = _parts(bar, scale, y, each, beside, colors)
        opens = f' data-opens="{bar.opens}"' if bar.opens else ""
        parts.append(f"<g{opens}>{drawn}</g>" if opens else drawn)
        if bar.words:
            parts.append(text(scale.at(_end(bar, beside)) + 8, y + high / 2 + 4, bar.words))
        y += high + _GAP
    axes = scale.across(0, y)
    used = {part.name for bar in bars for part in bar.parts}
    legend = [(color, name) for name, color in colors.items() if name in used] if len(colors) > 1 else []
    return Chart(svg([*axes, *parts], y + _AXIS, label), legend + [("mark", mark)] * bool(mark))


def _end(bar: Bar, beside: bool) -> float:
    values = [part.value or 0.0 for part in bar.parts]
    end = max(values, default=0.0) if beside else sum(values)
    return max(end, bar.mark.value) if bar.mark else end


def _starts(bars: Sequence[Bar], axis: Axis) -> list[float]:
    """Values from which bars of a logarithmic axis can be seen to differ."""
    values = [part.value for bar in bars for part in bar.parts if part.value]
    return [min(values) / 2] if axis.log and values else []


def _parts(bar: Bar, scale: Scale, y: float, each: float, beside: bool, colors: Mapping[str, str]) -> str:
    drawn, so_far = [], 0.0
    for at, part in enumerate(bar.parts):
        value = part.value or 0.0
        if value > 0:
            first = scale.first if beside or not so_far else scale.at(so_far)
            last = scale.at(value if beside else so_far + value)
            top = y + at * each if beside else y
            drawn.append(rect(first, top, last - first, each - beside, colors[part.name], tip(part.tip)))
        so_far += value
    if bar.mark:
        x, high = number(scale.at(bar.mark.value)), number(each + 4)
        drawn.append(f'<path class="mark" d="M{x} {number(y - 2)}v{high}"{tip(bar.mark.tip)}/>')
    return "".join(drawn)
