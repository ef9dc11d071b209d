"""Charts as SVG: bars beside each other, and lines over sizes; values on a logarithmic scale."""

from collections.abc import Mapping, Sequence
from html import escape
from math import ceil, floor, log10

__all__ = ["bars", "lines"]

_WIDTH, _HEIGHT, _LEFT, _TOP = 900, 300, 90, 52
_COLORS = ("#2458a6", "#d1662b", "#3c8d5a", "#8457a8", "#b8901f", "#b03a5b", "#4aa3b5", "#6b7684")
_GREY, _INK = "#d5dbe1", "#222"
_FONT = 'font-family="system-ui, DejaVu Sans, sans-serif" font-size="12"'


class _Scale:
    """A logarithmic axis whose ends are powers of ten."""

    def __init__(self, values: Sequence[float], start: float, length: float) -> None:
        self.low = floor(log10(min(values)) + 1e-9)
        self.high = max(ceil(log10(max(values)) - 1e-9), self.low + 1)
        self._start, self._length = start, length

    def place(self, value: float) -> float:
        share = (log10(value) - self.low) / (self.high - self.low)
        return self._start + share * self._length

    def ticks(self) -> list[float]:
        return [10.0**power for power in range(self.low, self.high + 1)]


def bars(groups: Sequence[str], series: Mapping[str, Sequence[float | None]], title: str) -> str:
    """A group of bars for each name of `groups`, a bar for each of `series` (None: no bar), from 1 up or down."""
    shown = [value for values in series.values() for value in values if value]
    axis = _Scale([*shown, 1.0], _TOP + _HEIGHT, -_HEIGHT)
    step = (_WIDTH - _LEFT) / len(groups)
    width = 0.8 * step / len(series)
    parts = _grid(axis)
    for number, values in enumerate(series.values()):
        for at, value in enumerate(values):
            if value:
                left = _LEFT + at * step + 0.1 * step + number * width
                top, bottom = sorted((axis.place(value), axis.place(1.0)))
                parts.append(
                    f'<rect x="{left:.1f}" y="{top:.1f}" width="{width:.1f}" height="{max(bottom - top, 0.8):.1f}"'
                    f' fill="{_COLORS[number]}"><title>{value:.4g}</title></rect>'
                )
    for at, name in enumerate(groups):
        x, y = _LEFT + (at + 0.5) * step, _TOP + _HEIGHT + 14
        parts.append(_text(x, y, name, "end", f' transform="rotate(-35 {x:.1f} {y:.1f})"'))
    return _svg(parts, list(series), title, 110)


def lines(xs: Sequence[float], names: Sequence[str], series: Mapping[str, Sequence[float]], title: str) -> str:
    """A line for each of `series` over `xs`, which are called `names`."""
    axis = _Scale([value for values in series.values() for value in values], _TOP + _HEIGHT, -_HEIGHT)
    first, last = log10(xs[0]), log10(xs[-1])
    places = [_LEFT + 20 + (log10(x) - first) / (last - first) * (_WIDTH - _LEFT - 40) for x in xs]
    parts = _grid(axis)
    for number, values in enumerate(series.values()):
        points = " ".join(f"{x:.1f},{axis.place(value):.1f}" for x, value in zip(places, values, strict=True))
        parts.append(f'<polyline points="{points}" fill="none" stroke="{_COLORS[number]}" stroke-width="2"/>')
    parts += [_text(x, _TOP + _HEIGHT + 16, name, "middle") for x, name in zip(places, names, strict=True)]
    return _svg(parts, list(series), title, 30)


def _grid(axis: _Scale) -> list[str]:
    parts = []
    for tick in axis.ticks():
        y = axis.place(tick)
        parts.append(f'<line x1="{_LEFT}" y1="{y:.1f}" x2="{_WIDTH}" y2="{y:.1f}" stroke="{_GREY}"/>')
        parts.append(_text(_LEFT - 6, y + 4, f"{tick:g}", "end"))
    return parts


def _svg(parts: Sequence[str], names: Sequence[str], title: str, below: int) -> str:
    """The picture: a white ground, since pages may be dark, the title with the names of the series, and the parts."""
    height = _TOP + _HEIGHT + below
    head = [_text(_LEFT, 18, title, "start", ' font-weight="bold"')]
    x = _LEFT
    for color, name in zip(_COLORS, names, strict=False):
        head.append(f'<rect x="{x}" y="27" width="10" height="10" fill="{color}"/>')
        head.append(_text(x + 14, 36, name, "start"))
        x += 30 + 7 * len(name)
    size = f'width="{_WIDTH + 10}" height="{height}" viewBox="0 0 {_WIDTH + 10} {height}"'
    ground = f'<rect width="{_WIDTH + 10}" height="{height}" fill="#fff"/>'
    body = "\n".join([ground, *head, *parts])
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size} {_FONT}>\n{body}\n</svg>\n'


def _text(x: float, y: float, words: str, anchor: str, more: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{_INK}"{more}>{escape(words)}</text>'
