"""A report page: sections of text, tables, cards and plotly figures, rendered to one HTML file."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.resources import files
from itertools import repeat
from typing import Any

from hocket.base.text import markup, printable
from hocket.base.version import __version__

__all__ = ["Block", "Cards", "Code", "Details", "Figure", "Section", "Table", "Text", "render"]


@dataclass(frozen=True, slots=True)
class Text:
    """A paragraph."""

    text: str

    def html(self) -> str:
        return f"<p>{markup(self.text)}</p>"


@dataclass(frozen=True, slots=True)
class Code:
    """Preformatted text: a command or a program's output."""

    text: str

    def html(self) -> str:
        return f"<pre>{markup(self.text)}</pre>"


@dataclass(frozen=True, slots=True)
class Cards:
    """The numbers to see first: (label, value, what it is measured against)."""

    cards: Sequence[tuple[str, str, str]]

    def html(self) -> str:
        body = "".join(
            f'<div class="card"><div class="label">{markup(label)}</div><div class="value">{markup(value)}</div>'
            f'<div class="hint">{markup(hint)}</div></div>'
            for label, value, hint in self.cards
        )
        return f'<div class="cards">{body}</div>'


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of cells; numbers and the headings of columns of numbers align to the right. `keys` of one that can be
    sorted: for each row, what each of its cells is ordered by; a click on a heading then does so."""

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    keys: Sequence[Sequence[float | str]] = ()

    def html(self) -> str:
        numeric = [all(_is_number(row[at]) for row in self.rows) for at in range(len(self.columns))]
        head = "".join(map(_cell, self.columns, numeric, repeat("th")))
        keys = self.keys or repeat(repeat(None))
        body = "".join(f"<tr>{''.join(map(_entry, row, key))}</tr>" for row, key in zip(self.rows, keys, strict=False))
        kind = ' class="sorted"' if self.keys else ""
        return f'<div class="scroll"><table{kind}><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


@dataclass(frozen=True, slots=True)
class Details:
    """Blocks behind a line that opens them; `anchor` is where links on the page find it (`#anchor`)."""

    line: str
    blocks: Sequence["Block"]
    anchor: str = ""

    def html(self) -> str:
        blocks = "\n".join(block.html() for block in self.blocks)
        return f'<details id="{markup(self.anchor)}"><summary>{markup(self.line)}</summary>{blocks}</details>'


@dataclass(frozen=True, slots=True)
class Figure:
    """A plotly figure (`plotly.graph_objects.Figure`) with a caption that says how to read it."""

    figure: Any
    caption: str

    def html(self) -> str:
        from plotly.io import to_html

        drawing = to_html(
            _shown(self.figure.to_dict()),
            config={"displaylogo": False, "responsive": True},
            auto_play=False,
            full_html=False,
            include_plotlyjs=False,
            validate=False,
        )
        return f"<figure>{drawing}<figcaption>{markup(self.caption)}</figcaption></figure>"


@dataclass(frozen=True, slots=True)
class Drawing:
    """An SVG picture, its text escaped already, with a caption that says how to read it."""

    svg: str
    caption: str

    def html(self) -> str:
        return f'<figure><div class="scroll">{self.svg}</div><figcaption>{markup(self.caption)}</figcaption></figure>'


Block = Text | Code | Cards | Table | Details | Figure | Drawing


@dataclass(frozen=True, slots=True)
class Section:
    """A part of the page with a heading of its own."""

    title: str
    blocks: Sequence[Block]

    def html(self, number: int) -> str:
        blocks = "\n".join(block.html() for block in self.blocks)
        return f'<section id="s{number}"><h2>{markup(self.title)}</h2>\n{blocks}\n</section>'


def _shown(part: Any) -> Any:
    """A part of a figure with its texts printable."""
    if isinstance(part, str):
        return printable(part)
    if isinstance(part, dict):
        return {key: _shown(value) for key, value in part.items()}
    return [_shown(each) for each in part] if isinstance(part, list | tuple) else part


def _is_number(text: str) -> bool:
    return text[:1].isdigit() or (text[:1] in ("-", "+", ".") and text[1:2].isdigit())


def _entry(text: str, key: float | str | None) -> str:
    return _cell(text, _is_number(text), "td", key)


def _cell(text: str, numeric: bool, tag: str, key: float | str | None = None) -> str:
    attribute = ' class="number"' if numeric else ""
    attribute += "" if key is None else f' data-key="{markup(str(key))}"'
    return f"<{tag}{attribute}>{markup(text)}</{tag}>"


def render(title: str, subtitle: str, sections: Iterable[Section]) -> str:
    """The page as HTML text; scripts and styles are inside it (plotly.js makes it about 5 MB)."""
    from plotly.offline import get_plotlyjs

    sections = list(sections)
    style = files("hocket.report").joinpath("page.css").read_text(encoding="utf-8")
    script = files("hocket.report").joinpath("page.js").read_text(encoding="utf-8")
    links = "".join(f'<a href="#s{number}">{markup(s.title)}</a>' for number, s in enumerate(sections))
    body = "\n".join(section.html(number) for number, section in enumerate(sections))
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>{markup(title)}</title>
<style>{style}</style>
<script>{get_plotlyjs()}</script>
</head><body>
<header><h1>{markup(title)}</h1><p>{markup(subtitle)}</p><nav>{links}</nav></header>
<main>{body}</main>
<footer>Hocket {__version__}</footer>
<script>{script}</script>
</body></html>
"""
