"""How ranks are written in messages."""

from collections.abc import Collection

__all__ = ["format_ranks", "name_ranks"]


def format_ranks(ranks: Collection[int]) -> str:
    """Ranks in ascending order, three or more in a row as a span: [0-3, 5]."""
    parts: list[str] = []
    ordered = sorted(ranks)
    begin = 0
    for index, rank in enumerate(ordered):
        if index + 1 < len(ordered) and ordered[index + 1] == rank + 1:
            continue
        run = ordered[begin : index + 1]
        parts += [f"{run[0]}-{run[-1]}"] if len(run) > 2 else map(str, run)
        begin = index + 1
    return f"[{', '.join(parts)}]"


def name_ranks(ranks: Collection[int]) -> str:
    """The same for a sentence: rank 3, ranks [0-3, 5]."""
    return f"rank {next(iter(ranks))}" if len(ranks) == 1 else f"ranks {format_ranks(ranks)}"
