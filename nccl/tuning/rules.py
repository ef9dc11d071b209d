"""Rules of a tuner table, in the columns of NVIDIA's example where these suffice (docs/nccl.md has the format)."""

import csv
import io
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby
from math import isqrt
from pathlib import Path

from hocket.core.files import atomic_write
from hocket.nccl.choice import NcclChoice
from hocket.nccl.tuning.measured import Winners

__all__ = ["Rule", "rules_of", "write_rules"]

_COLUMNS = ("collective_type", "min_bytes", "max_bytes", "algorithm", "protocol", "channels", "nNodes", "nRanks")
_SPELLED = {"CollNetDirect": "collnet_direct", "CollNetChain": "collnet_chain", "NVLSTree": "nvls_tree"}


@dataclass(frozen=True, slots=True)
class Rule:
    """For a collective (of COLLECTIVES) on `ranks` ranks of `nodes` nodes, of `least` to `most` bytes (None: any more),
    both included and of all_gather and reduce_scatter the whole buffer: this choice."""

    collective: str
    nodes: int
    ranks: int
    least: int
    most: int | None
    choice: NcclChoice


def rules_of(winners: Winners, *, extrapolate: bool = False) -> list[Rule]:
    """A rule for each run of sizes with one choice; none where NCCL's own is best.

    Between two measured sizes the choice changes at their geometric mean. The first and the last rule end at the
    smallest and largest measured size; with `extrapolate` they hold beyond.
    """
    runs = [list(run) for _, run in groupby(range(len(winners.sizes)), key=lambda at: winners.chosen[at])]
    rules = []
    for run in runs:
        choice, first, last = winners.chosen[run[0]], run[0], run[-1]
        if choice is None:
            continue
        least = _between(winners.sizes, first) + 1 if first else 0 if extrapolate else winners.sizes[0]
        is_last = last + 1 == len(winners.sizes)
        most = (None if extrapolate else winners.sizes[-1]) if is_last else _between(winners.sizes, last + 1)
        rules.append(Rule(winners.collective, winners.nodes, winners.ranks, least, most, choice))
    return rules


def _between(sizes: tuple[int, ...], at: int) -> int:
    """The last size that goes with sizes[at - 1] rather than sizes[at]."""
    return isqrt(sizes[at - 1] * sizes[at])


def write_rules(rules: Iterable[Rule], path: Path | str, notes: Iterable[str]) -> None:
    """The table, whole or not at all; `notes` stand above it as comments. NVIDIA's example tuner reads it too."""
    text = io.StringIO()
    for note in notes:
        text.write(f"# {note}\n")
    text.write(f"# {','.join(_COLUMNS)}\n")
    writer = csv.writer(text, lineterminator="\n")
    for rule in rules:
        most = -1 if rule.most is None else rule.most
        algorithm = _SPELLED.get(rule.choice.algorithm, rule.choice.algorithm.lower())
        where = rule.choice.channels or -1, rule.nodes, rule.ranks
        writer.writerow((rule.collective.lower(), rule.least, most, algorithm, rule.choice.protocol.lower(), *where))
    with atomic_write(path) as file:
        file.write(text.getvalue())
