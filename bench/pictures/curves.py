"""Lines over sizes, both axes logarithmic."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from math import ceil, floor, log10

from hocket.bench.pictures.canvas import COLORS, GREY, Canvas

__all__ = ["size_curves", "size_name"]

_LEFT, _TOP, _WIDTH, _HEIGHT = 70, 60, 800, 270


def size_name(size: int) -> str:
    """`64 KiB`: of sizes that are whole in their unit."""
    for unit, power in (("GiB", 30), ("MiB", 20), ("KiB", 10)):
        if size >= 1 << power:
            return f"{size >> power} {unit}"
    return f"{size} B"


def size_curves(sizes: Sequence[int], series: Mapping[str, Sequence[float]], title: str) -> str:
    """A line for each of `series`, of values above 0, over `sizes` in bytes."""
    canvas = Canvas(_LEFT + _WIDTH + 20, _TOP + _HEIGHT + 34)
    canvas.text(14, 24, title, size=15, bold=True)
    values = [value for line in series.values() for value in line]
    low, high = floor(log10(min(values))), ceil(log10(max(values)))
    for power in range(low, high + 1):
        y = _TOP + _HEIGHT * (high - power) / (high - low)
        canvas.line(_LEFT, y, _LEFT + _WIDTH, y, GREY)
        canvas.text(_LEFT - 8, y + 4, f"{10.0**power:g}", anchor="end")
    first, last = log10(sizes[0]), log10(sizes[-1])
    places = [_LEFT + _WIDTH * (log10(size) - first) / (last - first) for size in sizes]
    for x, size in zip(places, sizes, strict=True):
        canvas.text(x, _TOP + _HEIGHT + 18, size_name(size), size=11, anchor="middle")
    at = 14.0
    for color, (name, line) in zip(COLORS, series.items(), strict=False):
        canvas.box(at, 36, 12, 12, color)
        canvas.text(at + 17, 46, name)
        at += 44 + 7 * len(name)
        points = [
            (x, _TOP + _HEIGHT * (high - log10(value)) / (high - low)) for x, value in zip(places, line, strict=True)
        ]
        for (x1, y1), (x2, y2) in pairwise(points):
            canvas.line(x1, y1, x2, y2, color, width=2.5)
        for point in points:
            canvas.circle(*point, 3, color)
    return canvas.svg(title)
