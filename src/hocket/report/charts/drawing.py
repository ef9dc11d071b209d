"""What charts are drawn with: elements of SVG whose colours are classes of page.css, and whose words are escaped."""

from collections.abc import Sequence
from dataclasses import dataclass

from hocket.base.text import clipped, markup

__all__ = ["WIDTH", "Chart", "label_width", "number", "rect", "row_label", "svg", "text", "tip"]

WIDTH = 1040
"""Of every chart, in pixels; pages scale it."""
_LETTER = 6.9  # pixels of a letter at the size of labels
_WIDEST_LABEL = 300


@dataclass(frozen=True, slots=True)
class Chart:
    """A picture as SVG; `legend` are pairs of a colour's class (`c0`, `heat`, ...) and what it means; `times` name the
    frames of one that moves."""

    svg: str
    legend: Sequence[tuple[str, str]] = ()
    times: Sequence[str] = ()


def number(value: float) -> str:
    """A coordinate to a tenth of a pixel, as short as it can be written."""
    return f"{value:.1f}".removesuffix(".0")


def tip(words: str) -> str:
    """The attribute whose words show when the element is pointed at, or reached by arrow keys."""
    return f' data-tip="{markup(clipped(words))}"'


def rect(x: float, y: float, wide: float, high: float, color: str, more: str = "") -> str:
    """A filled rectangle; `more` are further attributes."""
    place = f'x="{number(x)}" y="{number(y)}" width="{number(max(wide, 0.4))}" height="{number(high)}"'
    return f'<rect class="{color}" {place}{more}/>'


def text(x: float, y: float, words: str, color: str = "soft", anchor: str = "start", more: str = "") -> str:
    """A line of text; `anchor` is `start`, `middle` or `end`."""
    attribute = "" if anchor == "start" else f' text-anchor="{anchor}"'
    return f'<text class="{color}" x="{number(x)}" y="{number(y)}"{attribute}{more}>{markup(clipped(words))}</text>'


def label_width(names: Sequence[str]) -> float:
    """Pixels that names beside an axis need."""
    longest = max((len(name) for name in names), default=0)
    return min(_WIDEST_LABEL, longest * _LETTER) + 12


def row_label(x: float, y: float, name: str, anchor: str = "end") -> str:
    """The name of a row, as much of it as fits; all of it shows when it is pointed at."""
    most = int(_WIDEST_LABEL / _LETTER)
    more = tip(name) if len(name) > most else ""
    return text(x, y, clipped(name, most), "ink", anchor, more)


def svg(parts: Sequence[str], height: float, label: str, width: float = WIDTH) -> str:
    """The picture of these elements; `label` says what it shows to those who do not see it. Arrow keys lead through
    its tips, so it can be focused where it has some."""
    body = "".join(parts)
    focus = ' tabindex="0"' if "data-tip=" in body else ""
    size = f'viewBox="0 0 {number(width)} {number(height)}"{focus} aria-label="{markup(clipped(label))}"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" class="chart" role="img" {size}>{body}</svg>'
