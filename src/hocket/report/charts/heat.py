"""Rows of time in which a colour says how much: of links how busy they are."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hocket.report.charts.drawing import WIDTH, Chart, label_width, number, row_label, svg, tip
from hocket.report.charts.scales import Scale, time_axis

__all__ = ["LEVELS", "HeatRow", "heat_map", "levels"]

LEVELS = 10
"""Colours of heat: `h0` is nothing at all, `h1` up to a ninth, `h9` more than eight."""
_ROW, _AXIS, _RIGHT = 16, 44, 24


@dataclass(frozen=True, slots=True)
class HeatRow:
    """A row: its name, the share (0 to 1) in each of its equal parts of time, and what is said of the whole row."""

    name: str
    share: NDArray[np.float64]
    tip: str


def levels(share: NDArray[np.float64]) -> NDArray[np.int64]:
    """The colours of shares: 0 only of nothing."""
    level: NDArray[np.int64] = np.ceil(share * (LEVELS - 1) - 1e-9).astype(np.int64)
    return np.clip(level, 0, LEVELS - 1)


def heat_map(rows: Sequence[HeatRow], bin_ps: float, label: str) -> Chart:
    """Rows of bins, each `bin_ps` wide; equal neighbours are one rectangle. What a bin's share is shows when it is
    pointed at."""
    left = label_width([row.name for row in rows])
    bins = max((len(row.share) for row in rows), default=1)
    whole = bins * bin_ps
    scale = Scale(time_axis(whole), 0.0, whole, left, WIDTH - _RIGHT)
    parts: list[str] = []
    for at, row in enumerate(rows):
        y = 4 + at * _ROW
        parts.append(row_label(left - 8, y + 12, row.name))
        drawn = _runs(levels(row.share), scale, bin_ps, y)
        shares = " ".join(f"{round(100 * share)}" for share in row.share.tolist())
        parts.append(f'<g data-shares="{shares}"{tip(row.tip)}>{drawn}</g>')
    height = 4.0 + len(rows) * _ROW
    return Chart(svg([*scale.across(0, height), *parts], height + _AXIS, label), [("heat", "0 to 100 %")])


def _runs(level: NDArray[np.int64], scale: Scale, bin_ps: float, y: float) -> str:
    """A path for each colour, with a rectangle for each run of it."""
    high = _ROW - 2
    edge = np.flatnonzero(np.diff(level, prepend=-1, append=-1))
    drawn: dict[int, list[str]] = {}
    for first, last in zip(edge[:-1].tolist(), edge[1:].tolist(), strict=True):
        x0, x1 = scale.at(first * bin_ps), scale.at(last * bin_ps)
        drawn.setdefault(int(level[first]), []).append(f"M{number(x0)} {y}H{number(x1)}v{high}H{number(x0)}z")
    return "".join(f'<path class="h{of}" d="{"".join(paths)}"/>' for of, paths in sorted(drawn.items()))
