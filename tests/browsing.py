"""A page opened in the browser, with all that the browser complains about; and what it says, without a browser."""

import html
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


@contextmanager
def opened(browser: Any, path: Path, fragment: str = "", **options: Any) -> Iterator[Any]:
    """The page in the browser; fails in the end if it has an error, or asks for anything but itself."""
    context = browser.new_context(**options)
    page = context.new_page()
    problems: list[str] = []
    asked: set[str] = set()
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("console", lambda message: problems.append(message.text) if message.type == "error" else None)
    page.on("request", lambda request: asked.add(request.url.partition("#")[0]))
    page.on("dialog", lambda dialog: problems.append(f"dialog: {dialog.message}"))
    page.goto(path.as_uri() + fragment)
    yield page
    assert problems == []
    assert asked == {path.as_uri()}
    context.close()


def column(table: Any, heading: str) -> list[str]:
    """The cells below a heading of a table, in the order on the page."""
    at = table.locator("th").all_inner_texts().index(heading)
    cells: list[str] = table.locator(f"tbody td:nth-child({at + 1})").all_inner_texts()
    return cells


def text_of(page: str) -> str:
    """What a page says, without its markup."""
    return html.unescape(re.sub(r"<[^>]*>", "", page))
