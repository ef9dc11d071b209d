"""What is wrong with rules of a tuner table beside one another: some are never reached, some overlap, some leave gaps.

Only rules whose calls may be the same are compared, those of communicators and of sizes that meet: a table costs about
what it has of such pairs, and not the square of its length.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from hocket.base.units import format_limit
from hocket.nccl.names import ALGORITHMS, PROTOCOLS, can_do
from hocket.nccl.tuning.finding import ANY, TableFinding, TableSeverity, choice_name
from hocket.nccl.tuning.table import TunerRule

__all__ = ["compare_rules", "inside"]

_NO_LIMIT = 2**64 - 1
_RING = ALGORITHMS.index("Ring")
_LL, _SIMPLE = PROTOCOLS.index("LL"), PROTOCOLS.index("Simple")
_CONDITIONS = (
    "nodes",
    "ranks",
    "pipe_operations",
    "registered",
    "domains",
    "least_domain_ranks",
    "most_domain_ranks",
)
# From least to most, both included.
_Range = tuple[int, int]
# Places of rules in the table, ascending.
_Places = list[int]


def compare_rules(rules: Sequence[TunerRule]) -> list[TableFinding]:
    """Rules of which earlier ones take all calls, alone or together; sizes that two rules match at their ends; sizes
    between two rules that neither matches."""
    findings: list[TableFinding] = []
    gaps: list[TableFinding] = []
    bytes_of, per_rank_of = [rule.bytes for rule in rules], [rule.bytes_per_rank for rule in rules]
    of_function: dict[int, dict[tuple[_Range, ...], _Places]] = defaultdict(lambda: defaultdict(list))
    for at, rule in enumerate(rules):
        of_function[rule.function][tuple(getattr(rule, name) for name in _CONDITIONS)].append(at)
    for groups in of_function.values():
        conditions, members = _Conditions(np.array(list(groups), np.int64)), list(groups.values())
        for number, group in enumerate(members):
            meeting, covering = conditions.related(number)
            near = sorted(at for other in meeting for at in members[other])
            covers = sorted(at for other in covering for at in members[other])
            is_covering = set(covers)
            for at, earlier in _earlier_of_same_sizes(group, near, bytes_of):
                shadowed = _shadowed(rules[at], [rules[one] for one in earlier if one in is_covering])
                findings += shadowed or _overlaps(rules[at], [rules[one] for one in earlier])
            gaps += _gaps(rules, bytes_of, "", group, covers)
            gaps += _gaps(rules, per_rank_of, " per rank", group, covers)
    return findings + gaps


def inside(one: _Range, other: _Range) -> bool:
    """Whether all of the first range is in the other."""
    return other[0] <= one[0] and one[1] <= other[1]


def _meet(one: _Range, other: _Range) -> bool:
    return one[0] <= other[1] and other[0] <= one[1]


class _Conditions:
    """Conditions, each a row of ranges, that are asked for those they have calls in common with.

    Of the column in which most rows name one number each these rows are found by that number.
    """

    def __init__(self, limits: NDArray[np.int64]) -> None:
        self._limits = limits
        exact = limits[:, :, 0] == limits[:, :, 1]
        numbers = [len(np.unique(limits[exact[:, column], column, 0])) for column in range(limits.shape[1])]
        self._column = int(np.argmax(numbers))
        is_exact = exact[:, self._column]
        self._exact = np.flatnonzero(is_exact)[np.argsort(limits[is_exact, self._column, 0], kind="stable")]
        self._number = limits[self._exact, self._column, 0]
        self._ranges = np.flatnonzero(~is_exact)

    def related(self, row: int) -> tuple[list[int], list[int]]:
        """The rows under which calls may be the same as under this one, and of these the ones that hold wherever it
        does."""
        own = self._limits[row]
        begin = np.searchsorted(self._number, own[self._column, 0], "left")
        end = np.searchsorted(self._number, own[self._column, 1], "right")
        meeting = np.concatenate([self._exact[begin:end], self._ranges])
        for column, (least, most) in enumerate(own.tolist()):
            of_all = self._limits[meeting, column]
            meeting = meeting[(of_all[:, 0] <= most) & (of_all[:, 1] >= least)]
        of_all = self._limits[meeting]
        covers = np.all((of_all[:, :, 0] <= own[:, 0]) & (own[:, 1] <= of_all[:, :, 1]), axis=1)
        return meeting.tolist(), meeting[covers].tolist()


def _earlier_of_same_sizes(group: _Places, near: _Places, bytes_of: Sequence[_Range]) -> Iterator[tuple[int, _Places]]:
    """Each rule of a group with those before it, of the ones near, that take some of its sizes.

    One pass over all by their least size: only rules that have not ended by then are looked at.
    """
    of_group = set(group)
    earlier: dict[int, _Places] = {at: [] for at in group}
    open_own: _Places = []
    open_others: _Places = []
    for at in sorted(near, key=lambda at: bytes_of[at][0]):
        least = bytes_of[at][0]
        open_own = [one for one in open_own if bytes_of[one][1] >= least]
        for one in open_own:
            if at < one:
                earlier[one].append(at)
        if at in of_group:
            open_others = [one for one in open_others if bytes_of[one][1] >= least]
            earlier[at] += [one for one in open_own + open_others if one < at]
            open_own.append(at)
        else:
            open_others.append(at)
    for at, places in earlier.items():
        yield at, sorted(places)


def _takes_all(earlier: TunerRule, later: TunerRule) -> bool:
    """Whether nothing that the later rule could have is left to it once the earlier one matches."""
    always = earlier.algorithm in (ANY, _RING) and earlier.protocol in (ANY, _LL, _SIMPLE)
    wider = earlier.algorithm in (ANY, later.algorithm) and earlier.protocol in (ANY, later.protocol)
    return can_do(earlier.function, earlier.algorithm, earlier.protocol) and (always or wider)


def _shadowed(rule: TunerRule, covering: Sequence[TunerRule]) -> list[TableFinding]:
    """Whether rules before it, under conditions that hold wherever its own do, take every call from a rule, one alone
    or several together."""
    for one in covering:
        if inside(rule.bytes, one.bytes) and inside(rule.bytes_per_rank, one.bytes_per_rank):
            if _takes_all(one, rule):
                return [
                    TableFinding(rule.line, TableSeverity.ERROR, f"never reached: line {one.line} takes all its calls")
                ]
            name = choice_name(one.algorithm, one.protocol)
            text = f"only reached where NCCL does not offer {name}: else line {one.line} takes all its calls"
            return [TableFinding(rule.line, TableSeverity.WARNING, text)]
    whole = (0, _NO_LIMIT)
    taking = sorted(
        (one for one in covering if _takes_all(one, rule) and one.bytes_per_rank == whole), key=lambda one: one.bytes
    )
    reached = rule.bytes[0]
    lines: list[int] = []
    for one in taking:
        if one.bytes[0] <= reached <= one.bytes[1]:
            reached, lines = one.bytes[1] + 1, [*lines, one.line]
    if reached > rule.bytes[1]:
        text = f"never reached: lines {', '.join(map(str, sorted(lines)))} together take all its calls"
        return [TableFinding(rule.line, TableSeverity.ERROR, text)]
    return []


def _overlaps(rule: TunerRule, earlier: Sequence[TunerRule]) -> Iterator[TableFinding]:
    """Sizes at one end of a rule that earlier rules take; a rule within a wider, later one is meant so."""
    for one in earlier:
        for name, unit in (("bytes", "B"), ("bytes_per_rank", "B per rank")):
            first, second = getattr(one, name), getattr(rule, name)
            if not _meet(first, second):
                break
            if inside(first, second) or inside(second, first):
                continue
            least, most = max(first[0], second[0]), min(first[1], second[1])
            text = f"line {one.line} comes first for the sizes {least} to {most} {unit} that both match"
            yield TableFinding(rule.line, TableSeverity.WARNING, text)


def _gaps(
    rules: Sequence[TunerRule], size_of: Sequence[_Range], unit: str, group: _Places, covers: _Places
) -> Iterator[TableFinding]:
    """Sizes between two rules of the same conditions that neither matches, nor any other rule of the collective."""
    if any(size_of[at] == (0, _NO_LIMIT) for at in covers):
        return  # One takes whatever is between, or they do not all speak of the same sizes.
    of_group = set(group)
    by_size = sorted(covers, key=lambda at: size_of[at][0])
    reached = size_of[by_size[0]][1]
    for before, after in pairwise(by_size):
        least, most = size_of[after]
        if least > reached + 1 and (before in of_group or after in of_group):
            span = f"{format_limit(reached + 1)} to {format_limit(least - 1)}{unit}"
            text = f"no rule for {span}: NCCL's own choice; if that is meant, say so by a rule with algorithm -1"
            yield TableFinding(rules[after].line, TableSeverity.WARNING, text)
        reached = max(reached, most)
