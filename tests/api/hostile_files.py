"""Files whose names, and the names in them, would be obeyed where they are shown; and what was obeyed after all."""

import csv
import io
import json
import re
import shutil
import unicodedata
from collections.abc import Iterator
from dataclasses import replace
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import yaml
from asked import LOG, RING, TABLE, write_files
from streams import END, call, done, group, meta, write

from hocket.chakra import read_traces, write_trace
from hocket.chakra.groups import write_groups
from hocket.translator import read_xml, to_xml

SCRIPT = "obeyed()"
#: A name of anything: begins a formula, breaks a row, ends an attribute, an element, a string and a line, and paints.
NAMES = {
    "formula": f"=cmd()|<script>{SCRIPT}</script>\"&'`\x1b[2J\r\nnext \u202e| c",
    "row": f"| @x\t'>--><img onerror={SCRIPT}>\x9b31m\n= 1 |\n|---|\\",
}


def write_hostile(folder: Path, name: str) -> dict[str, str]:
    """The files of `asked.write_files`, with the name wherever they have one; what each of them is called now."""
    plain = folder / "plain"
    plain.mkdir()
    write_files(plain)
    topology = {"name": name, **yaml.safe_load(_topology())}
    (plain / "ring.yaml").write_text(yaml.safe_dump(topology), encoding="utf-8")
    renamed = read_traces(plain / "traces").traces
    shutil.rmtree(plain / "traces")
    (plain / "traces").mkdir()
    for rank, trace in enumerate(renamed):
        names, groups = {*trace.name.tolist()}, {*trace.process_group.tolist()}
        strings = [
            name if at in groups else f"{name} {one}" if at in names else one for at, one in enumerate(trace.strings)
        ]
        write_trace(plain / "traces" / f"trace.{rank}.et", replace(trace, strings=tuple(strings)))
    write_groups(plain / "traces" / "comm_groups.json", {name: (0, 1, 2, 3)})
    program = replace(read_xml(plain / "ar.xml", profile="executor"), name=re.sub(r"[^ -~]|[\"'<>&]", "", name))
    (plain / "ar.xml").write_text(to_xml(program, "executor"), encoding="utf-8")
    for rank in (0, 1):
        records = meta(rank, script=name), group([0, 1], name=name), call(0, 10, 0), done(0, 20), END
        write(plain / "job", rank, *records)
    (plain / "table.csv").write_text(f"# {name!r}\n{TABLE}")
    shown = name.replace("\n", " ").replace("\r", " ")
    (plain / "rank0.log").write_text((plain / "rank0.log").read_text().replace(LOG[:6], f"{shown}:"))
    called = {}
    for path in plain.iterdir():
        called[path.name] = f"{name.replace('/', '!')}{path.name}"
        path.rename(folder / called[path.name])
    return called | {RING: called["ring.yaml"]}


def _topology() -> str:
    return "dimensions: [{kind: ring, size: 4, latency: 500ns, bandwidth: 50GB/s}]"


def obeyed(path: str, text: str) -> Iterator[str]:
    """What a reader of the file, or of the terminal (`path` is empty), would obey."""
    suffix = Path(path).suffix
    inside = {"\n"}
    if suffix in (".json", ".jsonl"):
        inside |= {char for char in text if ord(char) >= 0x80}  # data of others, as they are; below, JSON has none
    for char in {*text} - inside:
        if unicodedata.category(char) in {"Cc", "Cf", "Cs", "Zl", "Zp"}:
            yield f"{char!r}"
    if suffix == ".csv":
        yield from _formulas(text)
    elif suffix in (".json", ".jsonl"):
        for document in [text] if suffix == ".json" else text.splitlines():
            json.loads(document)
    elif suffix in (".svg", ".xml"):
        yield from _of_elements({element.tag for element in ElementTree.fromstring(text).iter()})
    elif suffix == ".html":
        page = _Page()
        page.feed(text)
        page.close()
        yield from page.found
    elif suffix in (".yaml", ".yml"):
        yaml.safe_load(text)
    elif suffix == ".md":
        yield from _rows(text)


def _formulas(text: str) -> Iterator[str]:
    rows = [row for row in csv.reader(io.StringIO(text)) if not row[0].startswith("#")]
    if len({len(row) for row in rows}) > 1:
        yield "a broken row"
    for cell in (cell for row in rows for cell in row):
        if re.match(r"[=+@]|-(?![\d.])", cell.lstrip()):
            yield f"a formula: {cell!r}"


def _of_elements(tags: set[str]) -> Iterator[str]:
    yield from (f"<{tag}>" for tag in tags if tag.rpartition("}")[2] in ("script", "img"))


def _rows(text: str) -> Iterator[str]:
    lines = text.splitlines()
    for before, line in pairwise(lines):
        if before.startswith("|") and line.startswith("|"):
            counts = [len(re.findall(r"(?<!\\)\|", re.sub(r"`[^`]*`", "", each))) for each in (before, line)]
            if counts[0] != counts[1]:
                yield f"a broken row: {line}"


class _Page(HTMLParser):
    """Elements, attributes and scripts that the names would have made."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found += [f"<{tag} {name}>" for name, _ in attrs if name == "onerror"]
        self.found += [f"<{tag}>"] * (tag == "img")

    def handle_data(self, data: str) -> None:
        # Within a script, data are JSON: a name stands there as text, but must not end it.
        if self.lasttag == "script" and data.strip() == SCRIPT:
            self.found.append(f"<script>{data}")
