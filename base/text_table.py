"""Tables as text: every table that a command prints or a summary holds."""

from collections.abc import Iterable, Sequence

from hocket.base.text import printable

__all__ = ["text_table"]


def text_table(
    heads: Sequence[str], rows: Iterable[Sequence[object]], *, align: str = "<", gap: int = 2, ruled: bool = False
) -> list[str]:
    """The lines of a table whose columns are as wide as their widest cell, `gap` blanks apart.

    `align` says of each column, from the first on, whether it is flush left (`<`) or right (`>`, and all that it does
    not name). What a terminal would obey is escaped. `ruled`: a line below the heads, and an empty one before and
    behind the table.
    """
    cells = [heads, *([printable(str(cell)) for cell in row] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    columns = list(zip(align.ljust(len(widths), ">"), widths, strict=False))
    lines = [
        (" " * gap).join(f"{cell:{side}{width}}" for cell, (side, width) in zip(row, columns, strict=True)).rstrip()
        for row in cells
    ]
    if not ruled:
        return lines
    lines.insert(1, "─" * (sum(widths) + gap * (len(widths) - 1)))
    return ["", *(f" {line}" for line in lines), ""]
