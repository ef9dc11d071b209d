"""Lines and dots over two axes."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from hocket.report.charts.drawing import WIDTH, Chart, number, svg, text, tip
from hocket.report.charts.scales import Axis, Scale

__all__ = ["Series", "xy_chart"]

_LEFT, _TOP, _RIGHT, _AXIS = 74, 26, 24, 46
_DOT = 4.0


@dataclass(frozen=True, slots=True)
class Series:
    """Points, joined by a line or not; a y that is not a number is left out, and the line ends there.

    `color` is a class such as `c0`. `dashed`, `thin` and `steps` are of the line; `symbol` (`dot`, `ring`, `square`,
    `diamond`, `cross`, `triangle`), `sizes` (pixels, one for each), `tips`, `opens` (anchors) and `spread` (how far an
    x may be off, each way) of the points; `faint`: points of less weight. A series without a name is in no legend.
    """

    name: str
    x: Sequence[float]
    y: Sequence[float]
    color: str
    line: bool = True
    dots: bool = True
    dashed: bool = False
    thin: bool = False
    steps: bool = False
    symbol: str = "dot"
    sizes: Sequence[float] = ()
    tips: Sequence[str] = ()
    opens: Sequence[str] = ()
    spread: Sequence[float] = ()
    faint: bool = False


def xy_chart(
    series: Sequence[Series],
    x: Axis,
    y: Axis,
    label: str,
    height: float = 400,
    verticals: Sequence[tuple[float, str]] = (),
    y_range: tuple[float, float] | None = None,
) -> Chart:
    """The series over two axes; `verticals` are dotted lines at values of x, with their names. `y_range` cuts what is
    outside it; else all is shown."""
    across = Scale.over(
        x, [value for each in series for value in each.x] + [at for at, _ in verticals], _LEFT, WIDTH - _RIGHT
    )
    bottom = height - _AXIS
    if y_range is not None:
        series = [replace(each, y=[_inside(value, *y_range) for value in each.y]) for each in series]
    values = [value for each in series for value in each.y] if y_range is None else list(y_range)
    up = Scale.over(y, values, bottom, _TOP)
    parts = [*up.upright(_LEFT, WIDTH - _RIGHT), *across.across(_TOP, bottom)]
    for value, name in verticals:
        at = across.at(value)
        parts.append(f'<path class="mark dotted" d="M{number(at)} {_TOP}V{number(bottom)}"/>')
        parts.append(text(at - 6, _TOP + 12, name, "soft", "end"))
    parts += [_line(each, across, up) for each in series if each.line]
    parts += [_points(each, across, up) for each in series if each.dots]
    named = {each.name: each for each in reversed(series) if each.name}
    legend = [(f"{each.color}{' dash' * each.dashed}", each.name) for each in reversed(named.values())]
    return Chart(svg(parts, height, label), legend)


def _inside(value: float, low: float, high: float) -> float:
    return value if low <= value <= high else math.nan


def _line(series: Series, across: Scale, up: Scale) -> str:
    path, joined = [], False
    for x, y in zip(series.x, series.y, strict=True):
        if not math.isfinite(y):
            joined = False
            continue
        at_x, at_y = across.at(x), up.at(y)
        if joined and series.steps:  # up at the place of the former point, then across
            path.append(f"V{number(at_y)}H{number(at_x)}")
        else:
            path.append(f"{'L' if joined else 'M'}{number(at_x)} {number(at_y)}")
        joined = True
    kind = f"line {series.color}{' dash' * series.dashed}{' thin' * series.thin}"
    return f'<path class="{kind}" d="{"".join(path)}"/>'


def _points(series: Series, across: Scale, up: Scale) -> str:
    drawn = []
    for at, (x, y) in enumerate(zip(series.x, series.y, strict=True)):
        if not math.isfinite(y):
            continue
        at_x, at_y = across.at(x), up.at(y)
        if series.spread and series.spread[at] > 0:
            ends = [number(across.at(x + sign * series.spread[at])) for sign in (-1, 1)]
            drawn.append(f'<path class="line thin {series.color}" d="M{ends[0]} {number(at_y)}H{ends[1]}"/>')
        size = series.sizes[at] / 2 if series.sizes else _DOT
        said = tip(series.tips[at]) if series.tips else ""
        opens = f' data-opens="{series.opens[at]}"' if series.opens else ""
        drawn.append(_symbol(series.symbol, at_x, at_y, size, said + opens))
    return f'<g class="{series.color}{" faint" * series.faint}">{"".join(drawn)}</g>'


def _symbol(symbol: str, x: float, y: float, size: float, more: str) -> str:
    if symbol in ("dot", "ring"):
        kind = ' class="ring"' if symbol == "ring" else ""
        return f'<circle{kind} cx="{number(x)}" cy="{number(y)}" r="{number(size)}"{more}/>'
    r, twice, slant = number(size), number(2 * size), number(1.3 * size)
    shape = {
        "square": f"m-{r} -{r}h{twice}v{twice}h-{twice}z",
        "diamond": f"m0 -{slant}l{r} {slant}l-{r} {slant}l-{r} -{slant}z",
        "triangle": f"m0 -{r}l{r} {twice}h-{twice}z",
        "cross": f"m-{r} -{r}l{twice} {twice}m0 -{twice}l-{twice} {twice}",
    }[symbol]
    kind = ' class="ring"' if symbol == "cross" else ""
    return f'<path{kind} d="M{number(x)} {number(y)}{shape}"{more}/>'
