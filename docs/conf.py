"""The site: `make docs` builds it from the pages beside this file, without network; index.md is its contents."""

import re

project = "Hocket"
extensions = ["myst_parser"]
root_doc = "index"
html_theme = "furo"
html_title = "Hocket"
html_show_sphinx = False
html_copy_source = False
# Anchors as GitHub makes them, so that a link works in the repository and on the site.
myst_heading_anchors = 5
# An unknown language of a code block is no fault of a page.
suppress_warnings = ["misc.highlighting_failure"]
exclude_patterns = ["images"]


def _contents(page: str) -> str:
    """A hidden toctree for each `## ` section of the index: its caption the heading, its pages those that it links."""
    trees = []
    for section in re.split(r"^## ", page, flags=re.MULTILINE)[1:]:
        caption, _, body = section.partition("\n")
        pages = dict.fromkeys(re.findall(r"\]\(([a-z-]+)\.md\)", body))
        if pages:
            trees += ["", "```{toctree}", ":hidden:", f":caption: {caption}", "", *pages, "```"]
    return "\n".join(trees)


def _add_contents(app: object, name: str, source: list[str]) -> None:
    if name == root_doc:
        source[0] += _contents(source[0])


def setup(app) -> None:  # type: ignore[no-untyped-def]
    app.connect("source-read", _add_contents)
