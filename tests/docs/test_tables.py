"""The tables of the documentation are those of the registries, the reference and the stub those of the requests."""

import pytest

from hocket.base.errors import FormatError
from hocket.docs.tables import PAGES, TABLES, generated, with_tables


def test_what_is_generated_is_that_of_today() -> None:
    stale = [page.name for page, text in generated() if page.read_text(encoding="utf-8") != text]
    assert not stale, f"{stale}: run `make docs`"


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
