"""Where the order of a group's collectives departs: the first on which ranks differ, and what each did around it."""

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass

from hocket.base.rank_names import name_ranks
from hocket.base.units import format_bytes
from hocket.recording.agreement import ASPECTS, aspect, differing
from hocket.recording.calls import CallShape
from hocket.recording.matching import ABSENT, Matched

__all__ = ["Divergence", "FirstDivergence", "Variant"]

# So many collectives are shown before and after the point.
_BEFORE, _AFTER = 2, 3
# So many that follow must fit when one seems to be left out.
_FITTING = 8


@dataclass(frozen=True)
class Variant:
    """What some ranks, all alike, issued around the point: `collectives` in order, each with its number."""

    ranks: tuple[int, ...]
    collectives: tuple[str, ...]


@dataclass(frozen=True)
class Divergence:
    """The first collective of a group, number `sequence`, that ranks issued differently. `guess` says what may have
    happened, where what follows shows it."""

    group: int
    title: str
    sequence: int
    variants: tuple[Variant, ...]
    guess: str

    def text(self) -> Iterator[str]:
        """Lines for people."""
        guess = self.guess and f": {self.guess}"
        yield f"divergence: group {self.group} ({self.title}) departs at #{self.sequence}{guess}"
        for variant in self.variants:
            yield f"  {name_ranks(variant.ranks)}: {'; '.join(variant.collectives)}"


class FirstDivergence:
    """Looks for the first collective of a group on which ranks differ, told of its collectives in order."""

    def __init__(self) -> None:
        self._seen: Matched | None = None  # what may be told: from before the point on
        self._column = -1

    def add(self, block: Matched) -> None:
        """Takes in the next collectives."""
        if self._seen is not None and self._column >= 0 and len(self._seen.sequence) - self._column > _FITTING:
            return
        before = 0 if self._seen is None else len(self._seen.sequence)
        if self._column < 0:
            columns = differing(block)
            if len(columns):
                self._column = before + int(columns[0])
        self._seen = block if self._seen is None else self._seen.followed_by(block)
        begin = (len(self._seen.sequence) if self._column < 0 else self._column) - _BEFORE
        if begin > 0:
            end = None if self._column < 0 else self._column + _FITTING + 1
            self._seen = self._seen.part(slice(begin, end))
            self._column = min(self._column, _BEFORE)

    def found(self) -> Divergence | None:
        """What there is."""
        return None if self._seen is None or self._column < 0 else _divergence(self._seen, self._column)


def _divergence(group: Matched, column: int) -> Divergence:
    alike: dict[tuple[Hashable, ...], list[int]] = {}
    for member, number in enumerate(group.shape[:, column].tolist()):
        key = () if number == ABSENT else _identity(group.catalogue.shapes[number])
        alike.setdefault(key, []).append(member)
    around = range(max(0, column - _BEFORE), min(len(group.sequence), column + _AFTER + 1))
    variants = [
        Variant(
            tuple(group.ranks[member] for member in members),
            tuple(_tell(group, members[0], place) for place in around),
        )
        for members in alike.values()
    ]
    guess = _guess(group, column, [members for key, members in alike.items() if key])
    return Divergence(group.number, group.group.title, int(group.sequence[column]), tuple(variants), guess)


def _identity(shape: CallShape) -> tuple[Hashable, ...]:
    return tuple(aspect(shape, name) for name in ASPECTS)


def _tell(group: Matched, member: int, column: int) -> str:
    number = group.shape[member, column]
    if number == ABSENT:
        return f"#{group.sequence[column]} none"
    shape = group.catalogue.shapes[number]
    words = [shape.kind, format_bytes(shape.num_bytes) if shape.num_bytes else "", shape.dtype, shape.reduction or ""]
    words += [] if shape.root is None else [f"root {shape.root}"]
    place = f" ({shape.line})" if shape.line else ""
    return f"#{group.sequence[column]} {' '.join(filter(None, words))}{place}"


def _guess(group: Matched, column: int, variants: Sequence[Sequence[int]]) -> str:
    """Of two variants: whether one continues as the other does one further on."""
    if len(variants) != 2:
        return ""
    few, many = sorted(variants, key=len)
    one, other = (_following(group, members[0], column) for members in (few, many))
    ranks = name_ranks([group.ranks[member] for member in few])
    if _continues(one, other[1:]):
        return f"{ranks} seem to have left out one" if len(few) > 1 else f"{ranks} seems to have left out one"
    if _continues(other, one[1:]):
        return f"{ranks} seem to have issued one more" if len(few) > 1 else f"{ranks} seems to have issued one more"
    return ""


def _following(group: Matched, member: int, column: int) -> list[tuple[Hashable, ...]]:
    numbers = group.shape[member, column : column + _FITTING + 1]
    return [_identity(group.catalogue.shapes[number]) for number in numbers[numbers != ABSENT]]


def _continues(one: Sequence[object], other: Sequence[object]) -> bool:
    """Whether what there is of both is alike, and is something."""
    count = min(len(one), len(other))
    return count > 0 and one[:count] == other[:count]
