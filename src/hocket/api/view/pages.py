"""The pages that the server makes: all runs, one of them, and two compared."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

from hocket.api import exported
from hocket.api.view.reports import REPORTS
from hocket.api.view.runs import LeftOut, StoredRun, json_in
from hocket.base.errors import FormatError
from hocket.base.units import format_bandwidth, format_bytes, format_time
from hocket.report.page import Block, Cards, ChoiceForm, Code, PageLink, PageLinks, Section, Table, Text, render
from hocket.simulator.analysis import Change

__all__ = ["comparison_page", "list_page", "run_page", "when"]

_MOST_ROWS = 500
_MOST_COLUMNS = 40
_MOST_TABLES = 40
#: How numbers are written, by the ends of their names.
_UNITS: Mapping[str, Callable[[Any], str]] = {
    "_ps": format_time,
    "_bytes": lambda size: format_bytes(round(size)),
    "_ns": lambda time_ns: format_time(1000 * time_ns),
    "_us": lambda time_us: format_time(1e6 * time_us),
    **dict.fromkeys(("algbw", "busbw", "bandwidth", "_bytes_per_s"), format_bandwidth),
}
_MADE_BY = Text("The page of a run has the command that made it, and its files.")
_HOME = PageLinks([PageLink("All runs", "/")])


def when(changed_s: float) -> str:
    """`2026-11-28 06:12:09`, of this machine's clock."""
    return datetime.fromtimestamp(changed_s).strftime("%Y-%m-%d %H:%M:%S")


def list_page(folder: Path, runs: Sequence[StoredRun], left_out: Sequence[LeftOut]) -> str:
    """The runs, the newest first, the choice of two predictions to compare, and the files that are of no run."""
    others = [Section("Left out", [Text(str(each)) for each in left_out])] if left_out else []
    if not runs:
        none = Text("No results yet: commands write them with --json FILE and --report FILE.")
        return render("Results", str(folder), [Section("Runs", [none]), *others])
    rows: list[list[str | PageLink | Code]] = [
        [
            PageLink(run.path, _address("run", run.path)),
            run.words,
            run.headline or "-",
            "-" if run.time_ps is None else format_time(run.time_ps),
            "-" if run.bound_ps is None else format_time(run.bound_ps),
            when(run.changed_s),
            Code(run.command),
        ]
        for run in runs
    ]
    heads = ["run", "command", "what it came to", "time", "lower bound", "when", "made by"]
    sections = [Section("Runs", [Table(heads, rows, about="runs", asides=["lower bound", "made by"]), _MADE_BY])]
    predictions = [(run.path, f"{run.path}: {run.headline}") for run in runs if run.is_prediction]
    if len(predictions) > 1:
        fields = [("first", "First", predictions), ("second", "Second", [*predictions[1:], predictions[0]])]
        about = Text("What changed from the first prediction to the second: time, collectives, ranks and links.")
        sections.append(Section("Compare", [about, ChoiceForm("/compare", fields, "Compare")]))
    return render("Results", f"{folder}: {len(runs)} runs", [*sections, *others])


def run_page(folder: Path, run: StoredRun) -> str:
    """What is known of a run: the command, its files, and the report of its JSON; the numbers of that where it cannot
    be a report."""
    reports = [PageLink("Report", _address("file", path)) for path in run.files if path.endswith(".html")]
    files = [PageLink(path, _address("file", path)) for path in run.files]
    links = PageLinks([*_HOME.links, *reports])
    about: list[Block] = [Text(f"{when(run.changed_s)}, by"), Code(run.command), Text("Files:"), PageLinks(files)]
    if not run.path.endswith(".json"):
        return render(run.path, run.headline, [Section("Summary", [links, *_cards(run), *about])])
    content = json_in(folder / run.path)
    try:
        if (report := REPORTS.get(str(content.get("format")))) is not None:
            page = report(folder / run.path)
            return render(page.title, page.subtitle, [Section("Run", [links, *about]), *page.sections])
    except FormatError as error:
        about.append(Text(str(error)))
    return render(run.path, run.headline, [Section("Summary", [links, *_cards(run), *about]), *_sections(content)])


def _cards(run: StoredRun) -> list[Block]:
    cards = [("Command", f"hocket {run.words}", when(run.changed_s))]
    if run.time_ps is not None:
        bound = "" if run.bound_ps is None else f"lower bound {format_time(run.bound_ps)}"
        cards.append(("Time", format_time(run.time_ps), bound))
    return [Cards(cards), Text(run.headline)]


def comparison_page(folder: Path, first: StoredRun, second: StoredRun) -> str:
    """What `hocket compare` says of two predictions. Raises FormatError where one is none."""
    result = exported("compare")(folder / first.path, folder / second.path)
    found = result.comparison
    times = [format_time(each.time_ps or 0) for each in (first, second)]
    said = "slower" if result.slower_by > 0 else "faster"
    cards = [("First", times[0], first.path), ("Second", times[1], second.path)]
    cards.append(("Difference", f"{result.slower_by:+.2%}", f"the second is {said}" if result.slower_by else "none"))
    sections = [Section("Summary", [_HOME, Cards(cards), *_changes(found.whole)])]
    parts = {
        "Collectives by kind": found.kinds,
        "Collectives by process group": found.groups,
        "Ends of ranks": found.ranks,
        "Work of links": found.links,
    }
    sections += [Section(title, blocks) for title, changes in parts.items() if (blocks := [*_changes(changes)])]
    return render("Comparison", f"{first.path} and {second.path}", sections)


def _address(sort: str, path: str) -> str:
    """Of a page or file; names may have bytes that are no UTF-8."""
    return f"/{sort}/{quote(os.fsencode(path))}"


def _changes(changes: Sequence[Change]) -> Iterator[Block]:
    if not changes:
        return
    rows = [
        [
            change.name,
            format_time(change.first_ps),
            format_time(change.second_ps),
            f"{change.delta_ps / change.first_ps:+.1%}" if change.first_ps else "new" if change.second_ps else "-",
        ]
        for change in changes[:_MOST_ROWS]
    ]
    yield Table(["what", "first", "second", "difference"], rows, about="differences")


def _sections(content: dict[str, Any]) -> Iterator[Section]:
    """Numbers and tables of any JSON: a section for each list of objects and each object of lists."""
    single = [[name, _cell(name, value)] for name, value in content.items() if not isinstance(value, dict | list)]
    if single:
        yield Section("Numbers", [Table(["name", "value"], single, about="numbers")])
    named = [(name, table) for name, value in content.items() for name, table in _tables(name, value)]
    yield from (Section(name, [table]) for name, table in named[:_MOST_TABLES])


def _tables(name: str, value: Any) -> Iterator[tuple[str, Table]]:
    if isinstance(value, list) and value and all(isinstance(row, dict) for row in value):
        shown = [dict(_flat(row)) for row in value[:_MOST_ROWS]]
        heads = list(dict.fromkeys(head for row in shown for head in row))[:_MOST_COLUMNS]
        rows = [[_cell(head, row.get(head)) for head in heads] for row in shown]
        if heads:
            yield name, Table(heads, rows, about=name)
    elif isinstance(value, list) and value:
        yield name, Table([name], [[_cell(name, each)] for each in value[:_MOST_ROWS]], about=name)
    elif isinstance(value, dict) and value:
        columns = {head: column for head, column in value.items() if isinstance(column, list)}
        if columns and len({len(column) for column in columns.values()}) == 1 and len(columns) == len(value):
            rows = [
                [_cell(head, each) for head, each in zip(columns, row, strict=True)]
                for row in zip(*(column[:_MOST_ROWS] for column in columns.values()), strict=True)
            ]
            if rows:
                yield name, Table(list(columns), rows, about=name)
            return
        single = [[key, _cell(key, each)] for key, each in value.items() if not isinstance(each, dict | list)]
        if single:
            yield name, Table(["name", "value"], single[:_MOST_ROWS], about=name)
        for key, each in value.items():
            if isinstance(each, dict | list):
                yield from _tables(f"{name}: {key}", each)


def _flat(row: dict[str, Any], depth: int = 3) -> Iterator[tuple[str, Any]]:
    """What an object holds, and what the objects in it do: `latency: p50_ps`."""
    for name, value in row.items():
        if isinstance(value, dict) and depth:
            yield from ((f"{name}: {inner}", each) for inner, each in _flat(value, depth - 1))
        else:
            yield name, value


def _cell(name: str, value: Any) -> str:
    """The value in units that people read, by the end of its name."""
    if isinstance(value, bool) or value is None:
        return "-" if value is None else str(value).lower()
    if isinstance(value, int | float) and 0 <= value < 2**62:
        form = next((form for ending, form in _UNITS.items() if name.endswith(ending)), None)
        if form is not None:
            return form(value)
    if isinstance(value, float):
        return f"{value:.6g}"
    return value if isinstance(value, str) else str(value)
