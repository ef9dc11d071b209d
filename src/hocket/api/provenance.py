"""The request that a result answers: kept in the pages and pictures that are written of it, and read back from them."""

import html
import json
import platform
import re
from importlib.metadata import version
from pathlib import Path

from hocket.api.command_line import command_line
from hocket.api.inputs import input_rows
from hocket.api.request import Request
from hocket.api.result import Result
from hocket.api.verbs import VERBS
from hocket.base.errors import FormatError
from hocket.base.files import write_file
from hocket.base.reading import read_text
from hocket.base.strict_yaml import nearest
from hocket.base.text import printable
from hocket.base.version import __version__
from hocket.report.page import Block, Code, Section, Table, Text, with_provenance

__all__ = ["comment", "headline_in", "request_in", "times_in", "write_page"]

_AGAIN = "The same command, version and inputs predict the same numbers; what is measured differs from run to run."
_HEADLINE = re.compile(r'class="request" data-headline="([^"]*)"')
_TIMES = re.compile(r'class="request"[^>]* data-times-ps="(\d{1,18}) (\d{1,18})"')
_IN_MARKUP = re.compile(r'class="request"[^>]*>([^<]*)</')
_IN_COMMENT = re.compile(r"^# request: (\{.*\})$", re.MULTILINE)


def write_page(path: Path | str, page: str, result: Result) -> None:
    """Writes the HTML page or SVG picture of a result, which carries its request as JSON; a page also carries the
    result in a line and its times, for lists of results, and says how to make it again: the command line, versions,
    seed, and what the inputs were.

    Raises HocketError where it cannot be written.
    """
    request = result.request
    kept = json.dumps(request.to_plain()).replace("&", "\\u0026").replace("<", "\\u003c")
    before, tag, rest = with_provenance(page, Section("Provenance", _provenance(request))).rpartition("</body>")
    if tag:
        said = f' data-headline="{html.escape(printable(result.headline()))}"'
        if (times := result.whole_times_ps) is not None:
            said += f' data-times-ps="{times[0]} {times[1]}"'
        added = f'<script type="application/json" class="request"{said}>{kept}</script>\n'
    else:
        before, tag, rest = page.rpartition("</svg>")
        added = f'<metadata class="request">{kept}</metadata>'
    write_file(path, before + added + tag + rest)


def _provenance(request: Request) -> list[Block]:
    """How to make the result again, and what it was made of."""
    seeds = [field for field in request.fields() if field.name == "seed"]
    rows = [["Hocket", __version__], ["Python", platform.python_version()], ["numpy", version("numpy")]]
    rows += [["seed", str(request.value_of(field))] for field in seeds]
    blocks: list[Block] = [Code(command_line(request)), Table(["what", "version or value"], rows, about="versions")]
    if inputs := input_rows(request):
        blocks.append(Table(["input", "path", "size", "SHA-256"], inputs, about="inputs"))
    return [*blocks, Text(_AGAIN)]


def comment(request: Request) -> str:
    """A line that tables and YAML begin with."""
    return f"# request: {request.to_json()}\n"


def headline_in(page: str) -> str:
    """The result in a line that a page of `write_page` carries; an empty text where it has none."""
    found = _HEADLINE.search(page)
    return html.unescape(found[1]) if found else ""


def times_in(page: str) -> tuple[int | None, int | None]:
    """`Result.whole_times_ps` that a page of `write_page` carries; None twice where it has none."""
    found = _TIMES.search(page)
    return (int(found[1]), int(found[2])) if found else (None, None)


def request_in(path: Path | str) -> Request:
    """The request that the result in a file answers, to be performed again: of JSON, YAML, a page or a picture that
    Hocket wrote, or of a request's own JSON.

    Raises FormatError, naming the file, where there is none, and RequestError for fields that this version does not
    know.
    """
    text = read_text(path)
    found = _IN_MARKUP.search(text) or _IN_COMMENT.search(text)
    try:
        content = json.loads(found[1] if found else text)
    except (ValueError, RecursionError):
        content = None
    if isinstance(content, dict) and "verb" not in content:
        other = content.get("otherData")
        content = content.get("request") or (other.get("request") if isinstance(other, dict) else None)
    if not isinstance(content, dict) or not isinstance(content.get("verb"), str):
        raise FormatError(f"{path}: holds no request; results of Hocket do: JSON (--json), pages (--report), pictures")
    if (verb := VERBS.get(content["verb"])) is None:
        raise FormatError(f"{path}: a request of no known verb '{content['verb']}'; {nearest(content['verb'], VERBS)}")
    return verb.request().from_plain(content, str(path))
