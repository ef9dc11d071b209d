"""The tables of `hocket bench peers` in a page of the documentation, between two markers."""

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from hocket.base.errors import FormatError
from hocket.base.files import write_file
from hocket.base.reading import read_text
from hocket.base.units import format_time
from hocket.bench.peers.features import feature_rows, tool_rows
from hocket.bench.peers.figures import PeerFigure

__all__ = ["FIGURE_HEADS", "figure_row", "page_lines", "with_tables_of_peers", "write_page"]

_BEGIN, _END = "<!-- hocket bench peers -->\n", "<!-- end of hocket bench peers -->\n"
FIGURE_HEADS = ("peer", "problem", "quantity", "peer's", "ours", "peer's / ours", "the peer's figure")


def figure_row(figure: PeerFigure) -> tuple[str, ...]:
    """A figure as people read it."""
    values = (_value(figure, figure.theirs), _value(figure, figure.ours), _ratio(figure))
    told = {
        "measured": f"measured in this run: {figure.source}",
        "recorded": f"recorded {figure.date} ({figure.machine}): {figure.source}",
        "none": f"none: {figure.source}",
    }
    return figure.peer, figure.what, figure.quantity.removesuffix(", s"), *values, told[figure.state]


def _value(figure: PeerFigure, value: float | None) -> str:
    if value is None:
        return ""
    if figure.quantity.endswith(", s"):
        return format_time(round(value * 10**12))
    return f"{value:.0%}" if figure.quantity.startswith("part") else f"{value:.8f}".rstrip("0").rstrip(".")


def _ratio(figure: PeerFigure) -> str:
    if figure.ratio is None:
        return ""
    return f"{figure.ratio:.4f}" if figure.kind == "quality" else f"{float(f'{figure.ratio:.2g}'):,g}"


def page_lines(figures: Sequence[PeerFigure], cpu: str, day: str) -> Iterator[str]:
    """The part between the markers: tools, what they can do, figures."""
    yield from _table(tool_rows())
    yield from ("", *_table(feature_rows()), "")
    yield f"*Ours* was measured on {day} on one core of {cpu}, in the run that wrote this table."
    yield from ("", *_table((FIGURE_HEADS, *map(figure_row, figures))))


def _table(rows: Iterable[Sequence[str]]) -> Iterator[str]:
    for number, row in enumerate(rows):
        yield "| " + " | ".join(row) + " |"
        if number == 0:
            yield "|" + "---|" * len(row)


def with_tables_of_peers(page: Path, lines: Iterable[str]) -> str:
    """The page's text with these lines between its markers. Raises FormatError where it lacks them, and what
    `read_text` does."""
    part = re.compile(f"({re.escape(_BEGIN)}).*?({re.escape(_END)})", re.DOTALL)
    text = read_text(page)
    if len(part.findall(text)) != 1:
        raise FormatError(
            f"{page}: expected the lines `{_BEGIN.strip()}` and `{_END.strip()}` once, with what is written between"
            " them; add both where the tables belong"
        )
    written = "".join(f"{line}\n" for line in lines)
    return part.sub(lambda found: found[1] + written + found[2], text)


def write_page(page: Path, figures: Sequence[PeerFigure], cpu: str, day: str) -> None:
    """Writes the tables between the page's markers."""
    write_file(page, with_tables_of_peers(page, page_lines(figures, cpu, day)).encode())
