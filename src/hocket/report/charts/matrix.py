"""Values of two columns as a grid whose colours say those of a third."""

import math
from collections.abc import Mapping, Sequence

from hocket.report.charts.drawing import WIDTH, Chart, label_width, number, rect, row_label, svg, text, tip

__all__ = ["matrix"]

_CELL, _TOP, _AXIS, _RIGHT = 30.0, 26.0, 46.0, 24.0
_LETTER = 7.0  # pixels of one at the size of labels


def matrix(
    columns: Sequence[str],
    rows: Sequence[str],
    cells: Mapping[tuple[int, int], tuple[str, str]],
    titles: tuple[str, str],
    label: str,
    legend: Sequence[tuple[str, str]],
) -> Chart:
    """`cells` by their column and row from the top: the class of their colour and what is said of them; those that are
    not there stay empty. `titles` of the axes, the one across first."""
    left = max(label_width(rows), 74.0)
    wide = (WIDTH - _RIGHT - left) / max(len(columns), 1)
    parts = [text(8, 14, titles[1])]
    parts += [row_label(left - 8, _TOP + at * _CELL + _CELL / 2 + 4, name) for at, name in enumerate(rows)]
    for (column, row), (color, said) in cells.items():
        parts.append(rect(left + column * wide + 1, _TOP + row * _CELL + 1, wide - 2, _CELL - 2, color, tip(said)))
    bottom = _TOP + len(rows) * _CELL
    longest = max((len(name) for name in columns), default=1)
    every = max(1, math.ceil(longest * _LETTER / wide))  # names that would lie on each other are left out
    for at in range(0, len(columns), every):
        parts.append(text(left + (at + 0.5) * wide, bottom + 17, columns[at], "soft", "middle"))
    parts.append(text((left + WIDTH - _RIGHT) / 2, bottom + 36, titles[0], "soft", "middle"))
    parts.append(f'<path class="grid" d="M{number(left)} {number(bottom)}H{number(WIDTH - _RIGHT)}"/>')
    return Chart(svg(parts, bottom + _AXIS, label), legend)
