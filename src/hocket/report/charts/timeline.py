"""Rows of time with spans on them: what ranks do, what links carry."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hocket.report.charts.drawing import WIDTH, Chart, label_width, number, row_label, svg, tip
from hocket.report.charts.scales import Scale, time_axis

__all__ = ["Span", "TimeRow", "span_chart"]

_AXIS, _RIGHT = 44, 24
_EVERY = 8  # of rows too low for a name each, those that have one


@dataclass(frozen=True, slots=True)
class Span:
    """From `start_ps` to `finish_ps` something of the sort `name`; a `tip` of its own, or none. `to_row`: it ends on
    another row than it begins on."""

    name: str
    start_ps: float
    finish_ps: float
    tip: str = ""
    to_row: int | None = None


@dataclass(frozen=True, slots=True)
class TimeRow:
    """A row with its spans; `tip` is said where they have none."""

    name: str
    spans: Sequence[Span]
    tip: str = ""


def span_chart(
    rows: Sequence[TimeRow], whole_ps: float, colors: Mapping[str, str], label: str, row_height: float = 18
) -> Chart:
    """The rows from 0 to `whole_ps`; `colors` are classes by the name of a span."""
    left = label_width([row.name for row in rows])
    scale = Scale(time_axis(whole_ps), 0.0, max(whole_ps, 1.0), left, WIDTH - _RIGHT)
    parts: list[str] = []
    for at, row in enumerate(rows):
        y = 4 + at * row_height
        if row_height >= 10 or at % _EVERY == 0:
            parts.append(row_label(left - 8, y + row_height / 2 + 3, row.name))
        parts.append(f"<g{tip(row.tip) if row.tip else ''}>{_spans(row, at, y, row_height, scale, colors)}</g>")
    height = 4 + len(rows) * row_height
    used = {span.name for row in rows for span in row.spans}
    legend = [(color, name) for name, color in colors.items() if name in used]
    return Chart(svg([*scale.across(0, height), *parts], height + _AXIS, label), legend)


def _spans(row: TimeRow, at: int, y: float, row_height: float, scale: Scale, colors: Mapping[str, str]) -> str:
    """Spans without words of their own are one path for each colour."""
    high = number(row_height - 3 if row_height >= 10 else row_height - 1)
    drawn: list[str] = []
    together: dict[str, list[str]] = {}
    for span in row.spans:
        x0, x1 = scale.at(span.start_ps), scale.at(span.finish_ps)
        wide = max(x1 - x0, 0.4)
        if span.to_row is not None and span.to_row != at:
            middle, end = y + row_height / 2, y + row_height / 2 + (span.to_row - at) * row_height
            path = f"M{number(x0)} {number(middle)}L{number(x1)} {number(end)}"
            drawn.append(f'<path class="line thick {colors[span.name]}" d="{path}"{tip(span.tip)}/>')
        elif span.tip:
            path = f"M{number(x0)} {number(y)}h{number(wide)}v{high}h-{number(wide)}z"
            drawn.append(f'<path class="{colors[span.name]}" d="{path}"{tip(span.tip)}/>')
        else:
            path = f"M{number(x0)} {number(y)}h{number(wide)}v{high}h-{number(wide)}z"
            together.setdefault(colors[span.name], []).append(path)
    return "".join(f'<path class="{color}" d="{"".join(paths)}"/>' for color, paths in together.items()) + "".join(
        drawn
    )
