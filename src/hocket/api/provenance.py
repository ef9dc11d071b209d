"""The request that a result answers: kept in the pages and pictures that are written of it, and read back from them."""

import json
import re
from html import escape
from pathlib import Path

from hocket.api.command_line import command_line
from hocket.api.request import Request
from hocket.api.verbs import VERBS
from hocket.base.errors import FormatError
from hocket.base.files import write_file
from hocket.base.reading import read_text
from hocket.base.strict_yaml import nearest

__all__ = ["comment", "request_in", "write_page"]

_IN_MARKUP = re.compile(r'class="request"[^>]*>([^<]*)</')
_IN_COMMENT = re.compile(r"^# request: (\{.*\})$", re.MULTILINE)


def write_page(path: Path | str, page: str, request: Request) -> None:
    """Writes an HTML page or an SVG picture that carries its request: as JSON, in a page as a command line, too.

    Raises HocketError where it cannot be written.
    """
    kept = json.dumps(request.to_plain()).replace("&", "\\u0026").replace("<", "\\u003c")
    before, tag, rest = page.rpartition("</body>")
    if tag:
        added = f'<footer><pre>{escape(command_line(request))}</pre></footer><script type="application/json"'
        added += f' class="request">{kept}</script>\n'
    else:
        before, tag, rest = page.rpartition("</svg>")
        added = f'<metadata class="request">{kept}</metadata>'
    write_file(path, before + added + tag + rest)


def comment(request: Request) -> str:
    """A line that tables and YAML begin with."""
    return f"# request: {request.to_json()}\n"


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
        content = content.get("request") or content.get("otherData", {}).get("request")
    if not isinstance(content, dict) or not isinstance(content.get("verb"), str):
        raise FormatError(f"{path}: holds no request; results of Hocket do: JSON (--json), pages (--report), pictures")
    if (verb := VERBS.get(content["verb"])) is None:
        raise FormatError(f"{path}: a request of no known verb '{content['verb']}'; {nearest(content['verb'], VERBS)}")
    return verb.request().from_plain(content, str(path))
