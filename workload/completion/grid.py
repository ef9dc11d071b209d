"""The ranks of a job as a grid: what the strides of its groups, or a parallel plan, say of how they are laid out."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import prod

from hocket.base.errors import RequestError, TraceError

__all__ = ["PIPELINE", "RankGrid", "grid_of_groups", "grid_of_plan"]

PIPELINE = "pp"
_IN_ORDER = ("tp", "cp", "dp", "pp")
_SIZE = re.compile(r"(tp|cp|dp|pp|ep)=([1-9][0-9]{0,6})")
_REMEDY = "say how the ranks are laid out with --parallel, such as tp=8,pp=2,dp=4"


@dataclass(frozen=True)
class RankGrid:
    """Dimensions from the one that varies fastest from rank to rank on, each with its size and its name, "" where
    nothing tells it. Rank r has the coordinate r // stride % size in each."""

    sizes: tuple[int, ...]
    names: tuple[str, ...]

    @property
    def num_ranks(self) -> int:
        return prod(self.sizes)

    def place(self, rank: int) -> tuple[int, ...]:
        """The rank's coordinates."""
        found = []
        for size in self.sizes:
            rank, coordinate = divmod(rank, size)
            found.append(coordinate)
        return tuple(found)

    def rank(self, place: Sequence[int]) -> int:
        """The rank at these coordinates, each taken around the end of its dimension."""
        found = 0
        for size, coordinate in zip(reversed(self.sizes), reversed(place), strict=True):
            found = found * size + coordinate % size
        return found

    def offset(self, first: int, second: int) -> tuple[int, ...]:
        """How far the second rank is from the first in each dimension, around its end."""
        there = zip(self.sizes, self.place(first), self.place(second), strict=True)
        return tuple((theirs - own) % size for size, own, theirs in there)

    def moved(self, rank: int, offset: Sequence[int]) -> int:
        """The rank so far from this one."""
        return self.rank([own + step for own, step in zip(self.place(rank), offset, strict=True)])

    def spanned(self, members: Sequence[int], group: str) -> frozenset[int]:
        """The dimensions in which the members of a group differ. Raises TraceError for a group that is no part of the
        grid in each of them: all coordinates of the one together with all of the other."""
        places = [self.place(rank) for rank in members]
        coordinates = [{place[dimension] for place in places} for dimension in range(len(self.sizes))]
        if len(places) != prod(map(len, coordinates)):
            raise TraceError(
                f"group '{group}' of ranks {_shown(members)} does not fit into a grid of {self}, so nothing tells the "
                f"groups of the ranks that are missing: {_REMEDY}"
            )
        return frozenset(dimension for dimension, found in enumerate(coordinates) if len(found) > 1)

    def counterparts(self, members: Sequence[int], spanned: frozenset[int], rank: int) -> tuple[int, ...]:
        """The ranks that are in a group like this one for `rank`: those at the members' coordinates in the dimensions
        that the group spans, at the rank's own in the others."""
        own = self.place(rank)
        return tuple(
            self.rank(
                [at if dimension in spanned else own[dimension] for dimension, at in enumerate(self.place(other))]
            )
            for other in members
        )

    def __str__(self) -> str:
        strides = [prod(self.sizes[:dimension]) for dimension in range(len(self.sizes))]
        parts = [
            f"{name or 'dimension of'}{'=' if name else ' '}{size} ({stride} apart)"
            for name, size, stride in zip(self.names, self.sizes, strides, strict=True)
            if size > 1
        ]
        return ", ".join(parts) or "1 rank"


def grid_of_plan(text: str, order: str, world: int | None) -> RankGrid:
    """The grid of a parallel plan such as `tp=8,pp=2,dp=4`, in the order that `hocket generate llm` takes; what is not
    named is 1. `ep` is taken out of cp and dp, as consecutive ranks of them.

    Raises RequestError for another form, and for a plan of another number of ranks than the job's.
    """
    found = [_SIZE.fullmatch(part.strip()) for part in text.split(",")]
    sizes = {match[1]: int(match[2]) for match in found if match}
    if len(sizes) != len(found):
        raise RequestError(f"--parallel {text}: expected sizes such as tp=8,pp=2,dp=4, each of tp, cp, dp, pp, ep once")
    names = tuple(order.split(","))
    if sorted(names) != sorted(_IN_ORDER):
        raise RequestError(f"--order {order}: it must name tp, cp, dp and pp once")
    parts = [(name, sizes.get(name, 1)) for name in names if sizes.get(name, 1) > 1]
    grid = RankGrid(*_columns(_with_experts(parts, sizes.get("ep", 1), text)))
    if world is not None and grid.num_ranks != world:
        raise RequestError(f"--parallel {text}: that is {grid.num_ranks} ranks, and the job has {world}")
    return grid


def _with_experts(parts: list[tuple[str, int]], ep: int, text: str) -> list[tuple[str, int]]:
    """The dimensions with that of expert groups, which are consecutive ranks of cp and dp, cut out of them."""
    if ep == 1:
        return parts
    cut: list[tuple[str, int]] = []
    left = ep
    replicas = [at for at, (name, _) in enumerate(parts) if name in ("cp", "dp")]
    if len(replicas) == 2 and replicas[1] != replicas[0] + 1:
        raise RequestError(
            f"--parallel {text}: expert groups are of ranks in sequence: cp and dp must be beside in --order"
        )
    for name, size in parts:
        inside = name in ("cp", "dp") and left > 1
        if inside and left % size and size % left:
            raise RequestError(f"--parallel {text}: ep {ep} must divide dp * cp, or the first of them divide it")
        taken = min(left, size) if inside else 1
        left //= taken
        cut += [(f"{name} within ep", taken), (name, size // taken)] if inside else [(name, size)]
    if left > 1:
        raise RequestError(f"--parallel {text}: ep {ep} must divide dp * cp")
    return [(name, size) for name, size in cut if size > 1]


def grid_of_groups(world: int, groups: Mapping[str, Sequence[int]], descriptions: Mapping[str, str]) -> RankGrid:
    """The grid that the strides of the groups make up; `descriptions` are what the groups are for.

    Of a group whose ranks are evenly apart, the stride, and the stride times the number of ranks, are where dimensions
    end, if such groups make up the world. Raises TraceError, naming the groups, where two contradict each other.
    """
    ends = {1: "", world: ""}
    for name, members in groups.items():
        for end in _ends(sorted(members), world):
            ends.setdefault(end, name)
    ordered = sorted(ends)
    for low, high in pairwise(ordered):
        if high % low:
            first, second = (f"group '{ends[end]}' of ranks {_shown(groups[ends[end]])}" for end in (low, high))
            raise TraceError(f"{first} and {second} are no groups of one grid of ranks: {_REMEDY}")
    sizes = tuple(high // low for low, high in pairwise(ordered))
    unnamed = RankGrid(sizes, ("",) * len(sizes))
    names = [""] * len(sizes)
    for name, members in groups.items():
        spanned = unnamed.spanned(members, name)
        if len(spanned) == 1 and name in descriptions and len(members) == sizes[min(spanned)]:
            names[min(spanned)] = names[min(spanned)] or _role(descriptions[name])
    return RankGrid(sizes, tuple(names))


def _role(description: str) -> str:
    """What a dimension is called whose groups are described so: `pp` where that says a pipeline."""
    words = re.split(r"[^a-z0-9]+", description.lower())
    if PIPELINE in words or any(word.startswith("pipe") for word in words):
        return PIPELINE
    return "" if description in ("undefined", "default_pg") else description


def _ends(members: Sequence[int], world: int) -> Iterable[int]:
    """Where the dimensions of a group end, by the strides of its ascending ranks; none of a group that is a part of a
    dimension only."""
    ends: list[int] = []
    rest = list(members)
    while len(rest) > 1:
        stride = rest[1] - rest[0]
        run = next((at for at in range(1, len(rest)) if rest[at] != rest[0] + at * stride), len(rest))
        whole = stride * run
        blocks = [rest[at : at + run] for at in range(0, len(rest), run)]
        alike = all([rank - block[0] for rank in block] == list(range(0, whole, stride)) for block in blocks)
        if world % whole or rest[0] % whole >= stride or not alike:
            return []
        ends += [stride, whole]
        rest = [block[0] for block in blocks]
    return ends


def _columns(parts: Sequence[tuple[str, int]]) -> tuple[tuple[int, ...], tuple[str, ...]]:
    return tuple(size for _, size in parts), tuple(name for name, _ in parts)


def _shown(members: Sequence[int]) -> str:
    return str(list(members)) if len(members) <= 8 else f"[{', '.join(map(str, members[:8]))}, ...]"
