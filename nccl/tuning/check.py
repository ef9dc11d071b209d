"""What is wrong with a tuner table that can be read: rules that never take effect, that overlap, that leave gaps."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from itertools import pairwise

from hocket.base.units import format_limit
from hocket.nccl.names import ALGORITHMS, COLLECTIVES, PROTOCOLS, can_do
from hocket.nccl.tuning.table import TunerConstant, TunerRule, TunerTable, limits_channels

__all__ = ["TableFinding", "TableSeverity", "check_table", "choice_name"]

_ANY = -1
_NO_LIMIT = 2**64 - 1
_TREE, _RING, _COLLNET_DIRECT, _COLLNET_CHAIN, _NVLS, _NVLS_TREE, _PAT = range(len(ALGORITHMS))
_LL, _LL128, _SIMPLE = range(len(PROTOCOLS))
_CONDITIONS = (
    "nodes",
    "ranks",
    "pipe_operations",
    "registered",
    "domains",
    "least_domain_ranks",
    "most_domain_ranks",
)


class TableSeverity(Enum):
    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True, order=True)
class TableFinding:
    """`line` of the table, and what to do about it."""

    line: int
    severity: TableSeverity
    text: str


def choice_name(algorithm: int, protocol: int) -> str:
    """`Ring/LL128`; `any` where NCCL chooses."""
    algorithm_name = "any" if algorithm == _ANY else ALGORITHMS[algorithm]
    return f"{algorithm_name}/{'any' if protocol == _ANY else PROTOCOLS[protocol]}"


def check_table(table: TunerTable) -> list[TableFinding]:
    """By line: errors for what never takes effect, warnings for what may not be meant. The lines that cannot be read
    are errors too."""
    findings = [TableFinding(line, TableSeverity.ERROR, text) for line, text in table.problems]
    for at, rule in enumerate(table.rules):
        findings += [TableFinding(rule.line, TableSeverity.ERROR, text) for text in _never(rule)]
        findings += [TableFinding(rule.line, TableSeverity.WARNING, text) for text in _ignored(rule)]
        earlier = table.rules[:at]
        findings += _shadowed(rule, earlier) or _overlaps(rule, earlier)
    findings += _gaps(table.rules)
    for at, constant in enumerate(table.constants):
        findings += _useless(constant, table.constants[:at])
    return sorted(findings, key=lambda finding: finding.line)


def _never(rule: TunerRule) -> Iterator[str]:
    """Why a rule has no call that it matches, or no kernel for those."""
    name, collective = choice_name(rule.algorithm, rule.protocol), COLLECTIVES[rule.function]
    if not can_do(rule.function, rule.algorithm, rule.protocol):
        yield f"NCCL has no {name} for {collective}: the rule never takes effect"
    if rule.ranks[1] < 2:
        yield "never matches: NCCL asks for no choice where there is only one rank"
    if rule.nodes[1] < 1 or rule.pipe_operations[1] < 1:
        yield "never matches: nNodes and numPipeOps are 1 or more"
    if rule.ranks[1] < rule.nodes[0]:
        yield f"never matches: nRanks is less than nNodes ({rule.ranks[1]} < {rule.nodes[0]})"
    if rule.least_domain_ranks[0] > rule.most_domain_ranks[1]:
        yield "never matches: minRanksPerNvlDomain is more than maxRanksPerNvlDomain"
    per_rank = rule.bytes_per_rank
    if rule.bytes[1] < per_rank[0] * max(rule.ranks[0], 1) or rule.bytes[0] > (per_rank[1] + 1) * rule.ranks[1] - 1:
        yield "never matches: the bytes and the bytes per rank exclude each other"
    if rule.algorithm in (_NVLS_TREE, _COLLNET_DIRECT, _COLLNET_CHAIN) and rule.nodes[1] == 1:
        yield f"{name} is for several nodes: on one the rule never takes effect"
    if rule.algorithm in (_NVLS, _NVLS_TREE) and 2 <= rule.ranks[1] <= rule.nodes[0]:
        yield f"{name} needs several GPUs a node: with one the rule never takes effect"


def _ignored(rule: TunerRule) -> Iterator[str]:
    """What of a rule NCCL may not do."""
    if rule.algorithm == _PAT and rule.nodes[1] < rule.ranks[0]:
        yield "PAT needs one GPU a node, or NCCL_PAT_ENABLE=1"
    nodes = 1 if rule.nodes[1] == 1 else 2
    if rule.channels and rule.algorithm != _ANY and not limits_channels(rule.algorithm, nodes):
        yield (
            f"channels of {ALGORITHMS[rule.algorithm]} are left to NCCL"
            + " where there are several nodes" * (rule.algorithm == _NVLS)
            + ": it would start as many as it is told, even where there are fewer"
        )


def _inside(one: tuple[int, int], other: tuple[int, int]) -> bool:
    return other[0] <= one[0] and one[1] <= other[1]


def _meet(one: tuple[int, int], other: tuple[int, int]) -> bool:
    return one[0] <= other[1] and other[0] <= one[1]


def _covers(wide: TunerRule, narrow: TunerRule) -> bool:
    """Whether all the conditions but sizes of the one hold where the other's do."""
    return wide.function == narrow.function and all(
        _inside(getattr(narrow, name), getattr(wide, name)) for name in _CONDITIONS
    )


def _takes_all(earlier: TunerRule, later: TunerRule) -> bool:
    """Whether nothing that the later rule could have is left to it once the earlier one matches."""
    always = earlier.algorithm in (_ANY, _RING) and earlier.protocol in (_ANY, _LL, _SIMPLE)
    wider = earlier.algorithm in (_ANY, later.algorithm) and earlier.protocol in (_ANY, later.protocol)
    return can_do(earlier.function, earlier.algorithm, earlier.protocol) and (always or wider)


def _shadowed(rule: TunerRule, earlier: list[TunerRule]) -> list[TableFinding]:
    """Whether earlier rules take every call from a rule, one alone or several together."""
    covering = [one for one in earlier if _covers(one, rule)]
    for one in covering:
        if _inside(rule.bytes, one.bytes) and _inside(rule.bytes_per_rank, one.bytes_per_rank):
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


def _overlaps(rule: TunerRule, earlier: list[TunerRule]) -> list[TableFinding]:
    """Sizes at one end of a rule that earlier rules take; a rule within a wider, later one is meant so."""
    findings = []
    for one in earlier:
        if one.function != rule.function or not all(
            _meet(getattr(one, name), getattr(rule, name)) for name in _CONDITIONS
        ):
            continue
        for name, unit in (("bytes", "B"), ("bytes_per_rank", "B per rank")):
            first, second = getattr(one, name), getattr(rule, name)
            apart = not _meet(first, second)
            if apart or _inside(first, second) or _inside(second, first):
                if apart:
                    break
                continue
            least, most = max(first[0], second[0]), min(first[1], second[1])
            text = f"line {one.line} comes first for the sizes {least} to {most} {unit} that both match"
            findings.append(TableFinding(rule.line, TableSeverity.WARNING, text))
    return findings


def _gaps(rules: list[TunerRule]) -> list[TableFinding]:
    """Sizes between two rules of the same conditions that neither matches, nor any other rule of the collective."""
    findings = []
    groups: dict[tuple[object, ...], list[TunerRule]] = {}
    for rule in rules:
        key = rule.function, *(getattr(rule, name) for name in _CONDITIONS)
        groups.setdefault(key, []).append(rule)
    for group in groups.values():
        others = [one for one in rules if _covers(one, group[0])]
        for name, unit in (("bytes", ""), ("bytes_per_rank", " per rank")):
            limited = [one for one in others if getattr(one, name) != (0, _NO_LIMIT)]
            if len(limited) < len(others):
                continue  # One takes whatever is between, or they do not all speak of the same sizes.
            by_size = sorted(limited, key=lambda one: getattr(one, name)[0])
            reached = getattr(by_size[0], name)[1]
            for before, after in pairwise(by_size):
                least, most = getattr(after, name)
                if least > reached + 1 and (before in group or after in group):
                    span = f"{format_limit(reached + 1)} to {format_limit(least - 1)}{unit}"
                    text = (
                        f"no rule for {span}: NCCL's own choice; if that is meant, say so by a rule with algorithm -1"
                    )
                    findings.append(TableFinding(after.line, TableSeverity.WARNING, text))
                reached = max(reached, most)
    return findings


def _useless(constant: TunerConstant, earlier: list[TunerConstant]) -> list[TableFinding]:
    for one in earlier:
        if one.index == constant.index and _inside(constant.nodes, one.nodes) and _inside(constant.ranks, one.ranks):
            text = f"never used: line {one.line} has the same constant for all its communicators"
            return [TableFinding(constant.line, TableSeverity.ERROR, text)]
    return []
