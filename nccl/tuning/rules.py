"""Rules of a tuner table: in the columns of NVIDIA's example where these do (docs/nccl-tuner.md has the format)."""

import csv
import io
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import groupby
from math import isqrt
from pathlib import Path

from hocket.base.files import write_file
from hocket.nccl.choice import NcclChoice
from hocket.nccl.names import ALGORITHMS
from hocket.nccl.tuning.measured import Winners

__all__ = ["ALGORITHM_WORDS", "TunerRule", "rules_of", "rules_text", "write_rules", "written_range"]

_BY_BLOCK = ("AllGather", "ReduceScatter")
_SPELLED = {"CollNetDirect": "collnet_direct", "CollNetChain": "collnet_chain", "NVLSTree": "nvls_tree"}
#: The algorithms as tables name them, in NCCL's order.
ALGORITHM_WORDS = tuple(_SPELLED.get(name, name.lower()) for name in ALGORITHMS)
_SIZES = ("min_bytes", "max_bytes")
_SIZES_PER_RANK = ("min_bytes_per_rank", "max_bytes_per_rank")
_REST = ("algorithm", "protocol", "channels", "nNodes", "nRanks")


@dataclass(frozen=True, slots=True)
class TunerRule:
    """For a collective (of COLLECTIVES) of `least` to `most` bytes (None: any more): this choice, or NCCL's own (None).
    All ranges include both ends. Bytes are of all_gather and reduce_scatter the whole buffer, or where `per_rank` one
    rank's block."""

    collective: str
    nodes: tuple[int, int]
    ranks: tuple[int, int]
    least: int
    most: int | None
    choice: NcclChoice | None
    per_rank: bool = False


def rules_of(winners: Iterable[Winners], *, extrapolate: bool = False) -> list[TunerRule]:
    """A rule for each run of sizes with one choice; where NCCL's own is best only between others, to say that it is
    meant.

    Between two measured sizes the choice changes at their geometric mean. The first and the last rule end at the
    smallest and largest measured size; with `extrapolate` they hold beyond. Where all rules of one number of nodes are
    those of the next larger one that was measured, they are one, also for the numbers between; sizes of all_gather and
    reduce_scatter that were measured on several numbers of ranks are per rank, for there they are alike most often.
    """
    rules: list[TunerRule] = []
    for _, of in groupby(sorted(winners, key=lambda each: each.collective), key=lambda each: each.collective):
        curves = sorted(of, key=lambda each: (each.nodes, each.ranks))
        whole = all(size % each.ranks == 0 for each in curves for size in each.sizes)
        per_rank = curves[0].collective in _BY_BLOCK and whole and len({each.ranks for each in curves}) > 1
        rules += _merged([list(_rules(each, extrapolate, per_rank)) for each in curves])
    return rules


def _rules(winners: Winners, extrapolate: bool, per_rank: bool) -> Iterator[TunerRule]:
    sizes = [size // winners.ranks if per_rank else size for size in winners.sizes]
    for choice, grouped in groupby(range(len(sizes)), key=lambda at: winners.chosen[at]):
        run = list(grouped)
        first, after = run[0], run[-1] + 1
        if choice is None and (first == 0 or after == len(sizes)):
            continue
        least = isqrt(sizes[first - 1] * sizes[first]) + 1 if first else 0 if extrapolate else sizes[0]
        most = isqrt(sizes[after - 1] * sizes[after]) if after < len(sizes) else None if extrapolate else sizes[-1]
        nodes, ranks = (winners.nodes, winners.nodes), (winners.ranks, winners.ranks)
        yield TunerRule(winners.collective, nodes, ranks, least, most, choice, per_rank)


def _merged(curves: list[list[TunerRule]]) -> Iterator[TunerRule]:
    """The rules of curves of rising nodes and ranks; where all of one are those of the next, as one."""
    for _, grouped in groupby(curves, key=lambda rules: [replace(rule, nodes=(0, 0), ranks=(0, 0)) for rule in rules]):
        alike = list(grouped)
        for first, last in zip(alike[0], alike[-1], strict=True):
            yield replace(first, nodes=(first.nodes[0], last.nodes[1]), ranks=(first.ranks[0], last.ranks[1]))


def write_rules(rules: Iterable[TunerRule], path: Path | str, notes: Iterable[str]) -> None:
    """The table of `rules_text`, whole or not at all."""
    write_file(path, rules_text(rules, notes))


def rules_text(rules: Iterable[TunerRule], notes: Iterable[str]) -> str:
    """The table; `notes` stand above it as comments. Without ranges of nodes, sizes per rank and exceptions NVIDIA's
    example tuner reads it too."""
    listed = list(rules)
    by_block = any(rule.per_rank for rule in listed)
    one_each = all(low == high for rule in listed for low, high in (rule.nodes, rule.ranks))
    plain = one_each and not by_block and all(rule.choice for rule in listed)
    text = io.StringIO()
    for note in notes:
        text.write(f"# {note}\n")
    columns = ["collective_type", *_SIZES, *(_SIZES_PER_RANK if by_block else ()), *_REST]
    text.write(f"{'# ' if plain else ''}{','.join(columns)}\n")
    writer = csv.writer(text, lineterminator="\n")
    for rule in listed:
        span = (rule.least, -1 if rule.most is None else rule.most)
        sizes = (*(("", "") if rule.per_rank else span), *((span if rule.per_rank else ("", "")) if by_block else ()))
        writer.writerow(
            (
                rule.collective.lower(),
                *sizes,
                *_spelled(rule.choice),
                written_range(rule.nodes),
                written_range(rule.ranks),
            )
        )
    return text.getvalue()


def _spelled(choice: NcclChoice | None) -> tuple[str | int, ...]:
    if choice is None:
        return -1, -1, -1
    return ALGORITHM_WORDS[ALGORITHMS.index(choice.algorithm)], choice.protocol.lower(), choice.channels or -1


def written_range(ends: tuple[int, int]) -> str:
    """`8`, or `2..8`."""
    return str(ends[0]) if ends[0] == ends[1] else f"{ends[0]}..{ends[1]}"
