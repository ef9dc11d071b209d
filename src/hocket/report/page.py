"""A report page: sections rendered to one HTML file that holds all it needs, and asks nothing of a network."""

import base64
import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.resources import files

from hocket.base.version import __version__
from hocket.report.blocks import (
    Advice,
    Block,
    Cards,
    ChoiceForm,
    Code,
    Details,
    Drawing,
    Figure,
    PageLink,
    PageLinks,
    Section,
    Table,
    Text,
    shown,
)

__all__ = [
    "Advice",
    "Block",
    "Cards",
    "ChoiceForm",
    "Code",
    "Details",
    "Drawing",
    "Figure",
    "Page",
    "PageLink",
    "PageLinks",
    "Section",
    "Table",
    "Text",
    "content_policy",
    "render",
    "with_provenance",
]

# Where the section goes that says how the page was made; no text of a page can hold these.
_LINK, _PLACE = "<!--provenance link-->", "<!--provenance-->"


@dataclass(frozen=True, slots=True)
class Page:
    """What is on a page, before it is one."""

    title: str
    subtitle: str
    sections: Sequence[Section]

    def html(self) -> str:
        """The page as `render` makes it."""
        return render(self.title, self.subtitle, self.sections)


def render(title: str, subtitle: str, sections: Iterable[Section]) -> str:
    """The page as HTML text; its script and style are inside it. The browser is told to run that script alone and to
    load nothing: what a name from a trace might smuggle in stays text."""
    sections = list(sections)
    style, script, policy = _part("page.css"), _part("page.js"), content_policy()
    links = "".join(f'<a href="#s{number}">{shown(each.title)}</a>' for number, each in enumerate(sections))
    body = "\n".join(section.html(number) for number, section in enumerate(sections))
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<title>{shown(title)}</title>
<style>{style}</style>
</head><body>
<a class="skip" href="#main">Skip to the results</a>
<header><div class="bar"><h1>{shown(title)}</h1><button id="theme" hidden></button></div><p>{shown(subtitle)}</p>
<nav aria-label="Sections">{links}{_LINK}</nav></header>
<main id="main">{body}{_PLACE}</main>
<footer>Hocket {__version__}</footer>
<div id="tip" role="status" aria-live="polite" hidden></div>
<script>{script}</script>
</body></html>
"""


def content_policy() -> str:
    """What a browser may do with a page (Content-Security-Policy): run the page's own script, and load nothing."""
    digest = base64.b64encode(hashlib.sha256(_part("page.js").encode()).digest()).decode()
    return f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'; base-uri 'none'"


def with_provenance(page: str, section: Section) -> str:
    """The page with that section at its end; a page or picture that `render` has not made stays as it is."""
    link = '<a href="#sprovenance">Provenance</a>'
    return page.replace(_LINK, link, 1).replace(_PLACE, section.html("provenance"), 1)


def _part(name: str) -> str:
    return files("hocket.report").joinpath(name).read_text(encoding="utf-8")
