"""Thread blocks as lanes of steps, with the steps of a counterexample marked and joined by arrows."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from hocket.base.text import markup
from hocket.schedule import Arrow, StepPlace

__all__ = ["Box", "Lane", "draw_lanes"]

_LABEL, _BOX, _GAP, _LANE, _HEIGHT, _TOP = 190, 146, 22, 96, 40, 26
_INK, _SOFT, _BAD = "#1c2430", "#5b6675", "#c8321e"
#: Steps shown on either side of a marked one, and lanes at most.
_AROUND, _MAX_LANES = 2, 24


@dataclass(frozen=True, slots=True)
class Box:
    """A step in words: what it is, where (`place`), and what it waits for (`corner`)."""

    name: str
    place: str
    corner: str = ""


@dataclass(frozen=True, slots=True)
class Lane:
    """A thread block: lines below its name, and its steps."""

    notes: Sequence[str]
    steps: Sequence[Box]


def draw_lanes(lane_of: Callable[[int, int], Lane], places: Sequence[StepPlace], arrows: Sequence[Arrow]) -> str:
    """An SVG of the thread blocks of `places` (and of what they are joined to), a few steps around each of them;
    `lane_of(rank, block)` is one of them."""
    marked = [*places, *(arrow.head for arrow in arrows)]
    lanes = list(dict.fromkeys((place.rank, place.block) for place in marked))[:_MAX_LANES]
    at: dict[StepPlace, tuple[int, int]] = {}
    parts: list[str] = []
    width = 0
    for row, (rank, block) in enumerate(lanes):
        lane = lane_of(rank, block)
        wanted = {place.step for place in marked if (place.rank, place.block) == (rank, block)}
        shown = _shown(wanted, len(lane.steps))
        top = _TOP + row * _LANE
        parts.append(_label(lane, rank, block, top))
        for column, position in enumerate(shown):
            left = _LABEL + column * (_BOX + _GAP)
            width = max(width, left + _BOX + _GAP)
            if position is None:
                parts.append(_text(left + _BOX / 2, top + _HEIGHT / 2 + 5, "…", _SOFT, 16, "middle"))
                continue
            at[StepPlace(rank, block, position)] = (left, top)
            parts.append(_box(lane.steps[position], position, left, top, position in wanted))
    for arrow in arrows:
        if arrow.tail in at and arrow.head in at:
            parts.insert(0, _arrow(at[arrow.tail], at[arrow.head], arrow.words, width + 60))  # behind the boxes
    height = _TOP + len(lanes) * _LANE + 10
    head = (
        f'<defs><marker id="head" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7" '
        f'orient="auto-start-reverse"><path d="M0 0 L10 5 L0 10 z" fill="{_BAD}"/></marker></defs>'
    )
    size = f'width="{width + 160}" height="{height}" viewBox="0 0 {width + 160} {height}"'
    style = 'style="max-width:100%;height:auto" font-family="system-ui, DejaVu Sans, sans-serif"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size} {style}>{head}{"".join(parts)}</svg>'


def _shown(wanted: set[int], length: int) -> list[int | None]:
    """Positions near the wanted ones, with None where some are left out."""
    near = sorted({p for w in wanted for p in range(max(0, w - _AROUND), min(length, w + _AROUND + 1))})
    shown: list[int | None] = [None] if near and near[0] > 0 else []
    for number, position in enumerate(near):
        if number and near[number - 1] != position - 1:
            shown.append(None)
        shown.append(position)
    return [*shown, None] if near and near[-1] < length - 1 else shown


def _label(lane: Lane, rank: int, block: int, top: int) -> str:
    return _text(4, top + 16, f"rank {rank} · thread block {block}", _INK, 13) + "".join(
        _text(4, top + 32 + 14 * number, words, _SOFT, 11) for number, words in enumerate(lane.notes)
    )


def _box(of: Box, position: int, left: int, top: int, marked: bool) -> str:
    border, fill, weight = (_BAD, "#fdf0ee", 2) if marked else ("#c3ccd6", "#ffffff", 1)
    box = (
        f'<rect x="{left}" y="{top}" width="{_BOX}" height="{_HEIGHT}" rx="5" fill="{fill}" stroke="{border}" '
        f'stroke-width="{weight}"/>'
    )
    first = _text(left + 8, top + 16, f"{position}: {of.name}", _INK, 12)
    second = _text(left + 8, top + 32, of.place, _SOFT, 11)
    return box + first + second + _text(left + _BOX - 6, top + 16, of.corner, _SOFT, 10, "end")


def _arrow(tail: tuple[int, int], head: tuple[int, int], words: str, right: int) -> str:
    """Straight between neighbouring lanes, below the boxes in one lane, and around the right end between others."""
    down = head[1] - tail[1]
    label: tuple[float, float]
    if abs(down) > _LANE:
        x0, x1, y0, y1 = tail[0] + _BOX, head[0] + _BOX, tail[1] + _HEIGHT / 2, head[1] + _HEIGHT / 2
        curve = f"M{x0} {y0:.0f} C{right} {y0:.0f} {right} {y1:.0f} {x1} {y1:.0f}"
        label = ((x0 + x1 + 6 * right) / 8 + 8, (y0 + y1) / 2)
    elif down == 0:
        x0, x1, y0 = tail[0] + _BOX // 2, head[0] + _BOX // 2, tail[1] + _HEIGHT
        curve = f"M{x0} {y0} C{x0} {y0 + 30} {x1} {y0 + 30} {x1} {y0}"
        label = ((x0 + x1) / 2 + 6, y0 + 36)
    else:
        aside = 24 if down > 0 else _BOX - 24
        x0, x1 = tail[0] + aside, head[0] + aside
        y0, y1 = (tail[1] + _HEIGHT, head[1]) if down > 0 else (tail[1], head[1] + _HEIGHT)
        curve = f"M{x0} {y0} L{x1} {y1}"
        label = ((x0 + x1) / 2 + 6, (y0 + y1) / 2 + (0 if down > 0 else 16))
    path = f'<path d="{curve}" fill="none" stroke="{_BAD}" stroke-width="2" marker-end="url(#head)"/>'
    return path + _text(
        label[0], label[1], words, _BAD, 11, "start", 'stroke="#fff" stroke-width="4" paint-order="stroke"'
    )


def _text(x: float, y: float, words: str, color: str, size: int, anchor: str = "start", more: str = "") -> str:
    return (
        f'<text x="{x:.0f}" y="{y:.0f}" fill="{color}" font-size="{size}" text-anchor="{anchor}" {more}>'
        f"{markup(words)}</text>"
    )
