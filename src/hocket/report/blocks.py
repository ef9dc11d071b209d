"""What the sections of a page are made of: text, tables, numbers to see first, advice, pictures."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import repeat

from hocket.base.enums import assert_never
from hocket.base.text import clipped, markup
from hocket.report.charts.drawing import Chart
from hocket.report.sort_keys import is_number, sort_key

__all__ = [
    "Advice",
    "Block",
    "Cards",
    "ChoiceForm",
    "Code",
    "Details",
    "Drawing",
    "Figure",
    "PageLink",
    "PageLinks",
    "Section",
    "Table",
    "Text",
    "shown",
]

_NONE = "-"  # what a cell says that has no number
_LONG = 40  # letters of a cell beyond which it is text of several lines
_MOST_LETTERS = 400  # of a cell or a heading
_MOST_TEXT = 50_000  # of a paragraph or a program's output
_OPEN_ROWS = 25  # of a table that are shown before one asks for all
_OPTION = re.compile(r"(?<![\w-])--?[A-Za-z][\w-]{0,40}(?![\w-])")


def shown(text: str, most: int = _MOST_LETTERS) -> str:
    """The text for a page: escaped, and clipped where it is longer than anybody reads."""
    return markup(clipped(text, most))


def _with_options(text: str, most: int = _MOST_TEXT) -> str:
    """As `shown`, with options of commands on one line each: browsers break lines at their hyphens."""
    return _OPTION.sub(r'<span class="option">\g<0></span>', shown(text, most))


@dataclass(frozen=True, slots=True)
class Text:
    """A paragraph."""

    text: str

    def html(self) -> str:
        return f"<p>{_with_options(self.text)}</p>"


@dataclass(frozen=True, slots=True)
class Code:
    """Preformatted text: a command or a program's output."""

    text: str

    def __str__(self) -> str:
        return self.text

    def html(self) -> str:
        return f'<pre tabindex="0">{_with_options(self.text)}</pre>'

    def cell(self) -> str:
        """What it is in a table: whole, to be copied."""
        return f"<code>{_with_options(self.text)}</code>"


@dataclass(frozen=True, slots=True)
class Cards:
    """The numbers to see first: (label, value, what it is measured against)."""

    cards: Sequence[tuple[str, str, str]]

    def html(self) -> str:
        body = "".join(
            f'<div class="card"><div class="label">{shown(label)}</div><div class="value">{shown(value)}</div>'
            f'<div class="hint">{shown(hint)}</div></div>'
            for label, value, hint in self.cards
        )
        return f'<div class="cards">{body}</div>'


@dataclass(frozen=True, slots=True)
class Advice:
    """What is slow, why, what to do about it, and a command that does it or shows more."""

    what: str
    why: str
    remedy: str
    command: str = ""

    def html(self) -> str:
        command = Code(self.command).html() if self.command else ""
        return (
            f'<div class="advice"><h3>{shown(self.what)}</h3><p>{_with_options(self.why)}</p>'
            f"<p><strong>What to do:</strong> {_with_options(self.remedy)}</p>{command}</div>"
        )


@dataclass(frozen=True, slots=True)
class PageLink:
    """Words that lead to another page of the same server; `address` is quoted already."""

    words: str
    address: str

    def __str__(self) -> str:
        return self.words

    def html(self) -> str:
        return f'<a href="{markup(self.address)}">{shown(self.words)}</a>'


@dataclass(frozen=True, slots=True)
class PageLinks:
    """PageLinks beside each other."""

    links: Sequence[PageLink]

    def html(self) -> str:
        return f'<p class="links">{" ".join(link.html() for link in self.links)}</p>'


@dataclass(frozen=True, slots=True)
class ChoiceForm:
    """A form that asks the same server for a page: of each field its name, its label and what can be chosen, as pairs
    of value and words."""

    address: str
    fields: Sequence[tuple[str, str, Sequence[tuple[str, str]]]]
    button: str

    def html(self) -> str:
        fields = "".join(
            f'<label>{shown(label)} <select name="{shown(name)}">'
            + "".join(f'<option value="{markup(value)}">{shown(words)}</option>' for value, words in choices)
            + "</select></label>"
            for name, label, choices in self.fields
        )
        button = f"<button>{shown(self.button)}</button>"
        return f'<form class="choices" action="{markup(self.address)}">{fields}{button}</form>'


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of cells; columns of numbers align to the right. A click on a heading sorts by
    what the column's cells say, or by `keys`: for each row, what each of its cells is ordered by. `about` is what the
    table is of, for those who do not see what is around it. Narrow windows leave out the columns with the headings
    `asides`."""

    columns: Sequence[str]
    rows: Sequence[Sequence[str | PageLink | Code]]
    keys: Sequence[Sequence[float | str]] = ()
    about: str = ""
    asides: Sequence[str] = ()

    def html(self) -> str:
        columns = ({str(row[at]) for row in self.rows} - {_NONE} for at in range(len(self.columns)))
        numeric = [bool(cells) and all(map(is_number, cells)) for cells in columns]
        sorts = len(self.rows) > 1
        kinds = [
            ["number"] * is_of_numbers + ["aside"] * (name in self.asides)
            for name, is_of_numbers in zip(self.columns, numeric, strict=True)
        ]
        head = "".join(_heading(*each, sorts) for each in zip(self.columns, kinds, strict=True))
        said = ([sort_key(str(cell)) for cell in row] for row in self.rows)
        keys = self.keys or (said if sorts else repeat(repeat(None)))
        pairs = zip(self.rows, keys, strict=False)
        body = "".join(f"<tr>{''.join(map(_cell, row, key, kinds))}</tr>" for row, key in pairs)
        label = f' aria-label="{shown(self.about or f"table of {self.columns[0]}")}"'
        kind = ' class="sorted"' * sorts
        table = f"<table{kind}{label}><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        more = f' data-open-rows="{_OPEN_ROWS}"' if len(self.rows) > _OPEN_ROWS else ""
        return f'<div class="scroll rows" tabindex="0"{more}>{table}</div>'


@dataclass(frozen=True, slots=True)
class Details:
    """Blocks behind a line that opens them; `anchor` is where links on the page find it (`#anchor`)."""

    line: str
    blocks: Sequence["Block"]
    anchor: str = ""

    def html(self) -> str:
        blocks = "\n".join(block.html() for block in self.blocks)
        place = f' id="{shown(self.anchor)}"' if self.anchor else ""
        return f"<details{place}><summary>{shown(self.line)}</summary>{blocks}</details>"


@dataclass(frozen=True, slots=True)
class Figure:
    """A chart with a caption that says how to read it."""

    chart: Chart
    caption: str

    def html(self) -> str:
        entries = "".join(
            f'<li><span class="swatch {color}"></span>{shown(words)}</li>' for color, words in self.chart.legend
        )
        legend = f'<ul class="legend">{entries}</ul>' if entries else ""
        return (
            f'<figure>{legend}{_player(self.chart.times)}<div class="scroll wide">{self.chart.svg}</div>'
            f"<figcaption>{_with_options(self.caption)}</figcaption></figure>"
        )


@dataclass(frozen=True, slots=True)
class Drawing:
    """An SVG picture on paper of its own, its text escaped already, with a caption that says how to read it."""

    svg: str
    caption: str

    def html(self) -> str:
        return (
            f'<figure><div class="scroll paper" tabindex="0">{self.svg}</div>'
            f"<figcaption>{_with_options(self.caption)}</figcaption></figure>"
        )


Block = Text | Code | Cards | Advice | Table | Details | Figure | Drawing | PageLinks | ChoiceForm


@dataclass(frozen=True, slots=True)
class Section:
    """A part of the page with a heading of its own."""

    title: str
    blocks: Sequence[Block]

    def html(self, number: int | str) -> str:
        blocks = "\n".join(block.html() for block in self.blocks)
        heading = f'<h2 id="h{number}">{shown(self.title)}</h2>'
        return f'<section id="s{number}" aria-labelledby="h{number}">{heading}\n{blocks}\n</section>'


def _player(times: Sequence[str]) -> str:
    """A button that plays the frames of these times, and a slider over them."""
    if not times:
        return ""
    return (
        f'<div class="player" data-player="{shown("|".join(times), _MOST_TEXT)}"><button>Play</button>'
        f'<input type="range" min="0" max="{len(times) - 1}" value="0" aria-label="time"><output></output></div>'
    )


def _heading(words: str, kinds: Sequence[str], sorts: bool) -> str:
    inside = f"<button>{shown(words)}</button>" if sorts else shown(words)
    return f'<th scope="col"{_classes(kinds)}>{inside}</th>'


def _cell(cell: str | PageLink | Code, key: float | str | None, kinds: Sequence[str]) -> str:
    is_long = len(str(cell)) > _LONG
    attribute = _classes(["long", *(kind for kind in kinds if kind != "number")] if is_long else kinds)
    attribute += "" if key is None else f' data-key="{shown(str(key))}"'
    return f"<td{attribute}>{_inside(cell)}</td>"


def _classes(names: Sequence[str]) -> str:
    return f' class="{" ".join(names)}"' if names else ""


def _inside(cell: str | PageLink | Code) -> str:
    match cell:
        case PageLink():
            return cell.html()
        case Code():
            return cell.cell()
        case str():
            return _with_options(cell, _MOST_LETTERS)
        case _:
            assert_never(cell)
