"""The plans that a sweep asks for: every combination of what it says, and all that fill a topology."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod

import numpy as np

from hocket.topology import Topology

__all__ = ["ALL", "DIVIDED", "RankCounts", "expand"]

ALL = "all"
DIVIDED = ("tp", "pp", "cp", "ep")
"""What may be `all`; data parallelism fills the rest."""
_PRODUCT = ("tp", "pp", "cp", "dp")

Plan = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class RankCounts:
    """What plans must know of a topology: its ranks, and how many of them a node has; all where there are no nodes."""

    ranks: int
    node_ranks: int

    @classmethod
    def of(cls, topology: Topology) -> RankCounts:
        largest = int(np.bincount(topology.machine).max())
        return cls(topology.num_ranks, largest if largest > 1 else topology.num_ranks)


def expand(values: Mapping[str, Sequence[object]], there: RankCounts, experts: int) -> Iterator[Plan]:
    """Every combination of the values; where one of `DIVIDED` is `ALL`, every one with which the plan takes exactly the
    topology's ranks: tensor parallel ones of a node at most, expert parallel ones that share out so many `experts`.
    `dp` is what is left, unless given or nothing divides."""
    for chosen in product(*values.values()):
        yield from _with_all(dict(zip(values, chosen, strict=True)), there, experts)


def _with_all(plan: Plan, there: RankCounts, experts: int) -> Iterator[Plan]:
    free = [name for name in DIVIDED if plan.get(name) == ALL]
    taken = prod(_size(plan, name) for name in _PRODUCT if name not in free)
    divides = there.ranks % taken == 0
    left = there.ranks // taken if divides else 1
    for found in _divided([name for name in free if name != "ep"], left, there):
        filled, rest = {**plan, **found}, left // prod(found.values())
        if plan.get("dp") is None:
            filled |= {"dp": rest} if divides else {}
        elif found and rest > 1:
            continue  # ranks would be left idle
        if "ep" not in free:
            yield filled
            continue
        replicas = _size(filled, "dp") * _size(filled, "cp")
        yield from ({**filled, "ep": size} for size in _divisors(replicas) if (experts or 1) % size == 0)


def _divided(free: Sequence[str], left: int, there: RankCounts) -> Iterator[dict[str, int]]:
    """Sizes of the free dimensions whose product divides what is left."""
    if not free:
        yield {}
        return
    name, *others = free
    for size in _divisors(left):
        if name == "tp" and size > there.node_ranks:
            continue
        for rest in _divided(others, left // size, there):
            yield {name: size, **rest}


def _size(plan: Plan, name: str) -> int:
    value = plan.get(name)
    return value if isinstance(value, int) else 1


def _divisors(number: int) -> list[int]:
    return [size for size in range(1, number + 1) if number % size == 0]
