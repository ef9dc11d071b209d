"""What is wrong with a tuner table that can be read: rules that never take effect, that overlap, that leave gaps."""

from collections import defaultdict
from collections.abc import Iterator, Sequence

from hocket.nccl.names import ALGORITHMS, COLLECTIVES, can_do
from hocket.nccl.tuning.finding import ANY, TableFinding, TableSeverity, choice_name
from hocket.nccl.tuning.rule_pairs import compare_rules, inside
from hocket.nccl.tuning.table import TunerConstant, TunerRule, TunerTable, limits_channels

__all__ = ["check_table"]

_COLLNET_DIRECT, _COLLNET_CHAIN, _NVLS, _NVLS_TREE, _PAT = range(2, len(ALGORITHMS))
# From here on a table is warned about.
_MANY_RULES = 100_000


def check_table(table: TunerTable) -> list[TableFinding]:
    """By line: errors for what never takes effect, warnings for what may not be meant. The lines that cannot be read
    are errors too."""
    rules = table.rules  # a list made for each that asks
    findings = [TableFinding(line, TableSeverity.ERROR, text) for line, text in table.problems]
    findings += _many(rules)
    for rule in rules:
        findings += [TableFinding(rule.line, TableSeverity.ERROR, text) for text in _never(rule)]
        findings += [TableFinding(rule.line, TableSeverity.WARNING, text) for text in _ignored(rule)]
    findings += compare_rules(rules)
    findings += _useless(table.constants)
    return sorted(findings, key=lambda finding: finding.line)


def _many(rules: Sequence[TunerRule]) -> Iterator[TableFinding]:
    if len(rules) >= _MANY_RULES:
        text = (
            f"{len(rules)} rules: every rank reads them before its first communicator, and a call tries those of its"
            " communicator one by one; rules of ranges of sizes, nodes and ranks say the same in fewer"
        )
        yield TableFinding(rules[0].line, TableSeverity.WARNING, text)


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
        yield f"{name} needs several GPUs per node: with one the rule never takes effect"


def _ignored(rule: TunerRule) -> Iterator[str]:
    """What of a rule NCCL may not do."""
    if rule.algorithm == _PAT and rule.nodes[1] < rule.ranks[0]:
        yield "PAT needs one GPU per node, or NCCL_PAT_ENABLE=1"
    nodes = 1 if rule.nodes[1] == 1 else 2
    if rule.channels and rule.algorithm != ANY and not limits_channels(rule.algorithm, nodes):
        yield (
            f"channels of {ALGORITHMS[rule.algorithm]} are left to NCCL"
            + " where there are several nodes" * (rule.algorithm == _NVLS)
            + ": it would start as many as it is told, even where there are fewer"
        )


def _useless(constants: Sequence[TunerConstant]) -> Iterator[TableFinding]:
    """Constants that an earlier row has for all their communicators."""
    earlier: dict[int, list[TunerConstant]] = defaultdict(list)
    for constant in constants:
        for one in earlier[constant.index]:
            if inside(constant.nodes, one.nodes) and inside(constant.ranks, one.ranks):
                text = f"never used: line {one.line} has the same constant for all its communicators"
                yield TableFinding(constant.line, TableSeverity.ERROR, text)
                break
        earlier[constant.index].append(constant)
