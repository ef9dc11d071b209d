"""The tables of the documentation are those of the registries."""

from pathlib import Path

import pytest

from hocket.base.errors import FormatError
from hocket.docs.tables import PAGES, TABLES, with_tables


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_tables_are_what_the_registries_say(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert with_tables(text, page.name) == text, "run `make docs`"


def test_every_table_stands_in_a_page() -> None:
    pages = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    for name in TABLES:
        assert pages.count(f"<!-- table: {name} -->") == 1, name
    assert pages.count("<!-- table: ") == pages.count("<!-- end of table -->") == len(TABLES)


def test_a_changed_table_is_written_again_and_an_unknown_one_named() -> None:
    page = "before\n<!-- table: engines -->\n| stale |\n<!-- end of table -->\nafter\n"
    written = with_tables(page, "page.md")
    assert written.startswith("before\n<!-- table: engines -->\n| engine | ") and written.endswith("\nafter\n")
    assert "stale" not in written and "| [symmetry](#symmetry) | " in written
    with pytest.raises(FormatError, match=r"page.md: no table 'engine'; did you mean 'engines'"):
        with_tables(page.replace("engines", "engine"), "page.md")
