"""Rules of a tuner table compared each with all others, for the findings of docs/nccl-tuner.md: plain, and slow."""

from collections.abc import Iterator, Sequence

from hocket.base.units import format_limit
from hocket.nccl.names import can_do
from hocket.nccl.tuning.finding import choice_name
from hocket.nccl.tuning.table import TunerRule

_CONDITIONS = (
    "nodes", "ranks", "pipe_operations", "registered", "domains", "least_domain_ranks", "most_domain_ranks",
)  # fmt: skip
_SIZES = (("bytes", "B", ""), ("bytes_per_rank", "B per rank", " per rank"))
_ALL = (0, 2**64 - 1)
Said = tuple[int, str]


def compared(rules: Sequence[TunerRule]) -> list[Said]:
    """Line and text of what is wrong, by line."""
    found: list[Said] = []
    for at, rule in enumerate(rules):
        shadow = _shadow(rule, [one for one in rules[:at] if _covers(one, rule)])
        found += [(rule.line, shadow)] if shadow else _overlaps(rule, rules[:at])
    seen: list[tuple[object, ...]] = []
    for rule in rules:
        key = _key(rule)
        if key not in seen:
            found += _gaps([one for one in rules if _covers(one, rule)], key)
        seen.append(key)
    return sorted(found, key=lambda said: said[0])


def _key(rule: TunerRule) -> tuple[object, ...]:
    return rule.function, *(getattr(rule, name) for name in _CONDITIONS)


def _inside(one: tuple[int, int], other: tuple[int, int]) -> bool:
    return other[0] <= one[0] <= one[1] <= other[1]


def _apart(one: tuple[int, int], other: tuple[int, int]) -> bool:
    return one[1] < other[0] or other[1] < one[0]


def _covers(wide: TunerRule, narrow: TunerRule) -> bool:
    own = [_inside(getattr(narrow, name), getattr(wide, name)) for name in _CONDITIONS]
    return wide.function == narrow.function and all(own)


def _takes_all(one: TunerRule, later: TunerRule) -> bool:
    always = one.algorithm in (-1, 1) and one.protocol in (-1, 0, 2)
    wider = one.algorithm in (-1, later.algorithm) and one.protocol in (-1, later.protocol)
    return can_do(one.function, one.algorithm, one.protocol) and (always or wider)


def _shadow(rule: TunerRule, covering: Sequence[TunerRule]) -> str:
    for one in covering:
        if _inside(rule.bytes, one.bytes) and _inside(rule.bytes_per_rank, one.bytes_per_rank):
            if _takes_all(one, rule):
                return f"never reached: line {one.line} takes all its calls"
            name = choice_name(one.algorithm, one.protocol)
            return f"only reached where NCCL does not offer {name}: else line {one.line} takes all its calls"
    reached, lines = rule.bytes[0], []
    for one in sorted(covering, key=lambda one: one.bytes):
        if _takes_all(one, rule) and one.bytes_per_rank == _ALL and one.bytes[0] <= reached <= one.bytes[1]:
            lines += [one.line] if reached <= rule.bytes[1] else []
            reached = one.bytes[1] + 1
    together = f"never reached: lines {', '.join(map(str, sorted(lines)))} together take all its calls"
    return together if reached > rule.bytes[1] else ""


def _overlaps(rule: TunerRule, earlier: Sequence[TunerRule]) -> Iterator[Said]:
    for one in earlier:
        alike = not any(_apart(getattr(one, name), getattr(rule, name)) for name in _CONDITIONS)
        if one.function != rule.function or not alike:
            continue
        for name, unit, _ in _SIZES:
            first, second = getattr(one, name), getattr(rule, name)
            if _apart(first, second):
                break
            if not _inside(first, second) and not _inside(second, first):
                span = f"{max(first[0], second[0])} to {min(first[1], second[1])} {unit}"
                yield rule.line, f"line {one.line} comes first for the sizes {span} that both match"


def _gaps(others: Sequence[TunerRule], key: tuple[object, ...]) -> Iterator[Said]:
    for name, _, unit in _SIZES:
        by_size = sorted(others, key=lambda one: getattr(one, name)[0])
        sizes = [getattr(one, name) for one in by_size]
        if _ALL in sizes:
            continue
        for at in range(1, len(by_size)):
            reached = max(most for _, most in sizes[:at])
            if sizes[at][0] > reached + 1 and key in (_key(by_size[at - 1]), _key(by_size[at])):
                span = f"{format_limit(reached + 1)} to {format_limit(sizes[at][0] - 1)}{unit}"
                text = f"no rule for {span}: NCCL's own choice; if that is meant, say so by a rule with algorithm -1"
                yield by_size[at].line, text
