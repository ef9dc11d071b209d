"""Tables as text, by hand."""

from hocket.base.text_table import text_table


def test_columns_are_as_wide_as_their_widest_cell() -> None:
    rows = [("all_reduce", "dp", 7), ("send", "pp0", 1048576)]
    assert text_table(("operation", "group", "bytes"), rows, align="<<") == [
        "operation   group    bytes",
        "all_reduce  dp           7",
        "send        pp0    1048576",
    ]


def test_a_ruled_table_has_a_line_below_its_heads_and_room_around_it() -> None:
    assert text_table(("a", "b"), [("x", "long")], align="><", gap=3, ruled=True) == [
        "",
        " a   b",
        " ────────",
        " x   long",
        "",
    ]
