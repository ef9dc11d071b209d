"""Synthetic traffic: who sends to whom, by chance. A new pattern is one function and one line in PATTERNS."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from hocket.base.errors import SimulationError
from hocket.base.registry import Entry, Registry
from hocket.simulator.traffic_nodes import node_of_ranks
from hocket.topology import Topology

__all__ = ["PATTERNS", "TrafficPairs", "traffic_pairs"]

_MILLION = 10**6
_MOST_PAIRS = 1 << 22  # whose paths are held: 100 MB to 1 GB


@dataclass(frozen=True, eq=False)
class TrafficPairs:
    """The pairs of ranks of a pattern: near ones (in a node) of rank r are `near[r]..near[r + 1]`, far ones `far[r]..`,
    both numbers into `src` and `dst` (int32); a message goes to a near or, `far_ppm` of a million, to a far one of its
    rank's, all alike. `share` (float64) of the load is what each rank sends; `into`: the rank whose links the load is
    of, where it is not that of each sender."""

    near: NDArray[np.int64]
    far: NDArray[np.int64]
    src: NDArray[np.int32]
    dst: NDArray[np.int32]
    far_ppm: int
    share: NDArray[np.float64]
    into: int | None = None

    @classmethod
    def of(
        cls, choices: list[NDArray[np.int64]], node: NDArray[np.int64], far_ppm: int, into: int | None = None
    ) -> "TrafficPairs":
        """From what each rank may choose, and the node of each."""
        ranks = len(choices)
        src = np.repeat(np.arange(ranks), [len(chosen) for chosen in choices])
        dst = np.concatenate([np.zeros(0, np.int64), *choices])
        far = node[src] != node[dst]
        order = np.argsort(far, kind="stable")
        counts = [np.bincount(src[far == which], minlength=ranks) for which in (False, True)]
        near_offset = np.append(0, np.cumsum(counts[0]))
        far_offset = near_offset[-1] + np.append(0, np.cumsum(counts[1]))
        senders = np.bincount(src, minlength=ranks) > 0
        share = senders / senders.sum() if into is not None else senders.astype(np.float64)
        ends = (src[order].astype(np.int32), dst[order].astype(np.int32))
        return cls(near_offset, far_offset, *ends, far_ppm, share, into)


_Pairs = Callable[[Topology, str, int], TrafficPairs]


@dataclass(frozen=True, kw_only=True)
class TrafficPattern(Entry):
    """`pairs(topology, value, seed)`; `value` is what follows `NAME:`."""

    pairs: _Pairs
    takes: str = ""


def _leaving(share: str, topology: Topology, value: str, seed: int) -> TrafficPairs:
    """To a rank of another node with a probability, else to another of the own."""
    if value and share:
        raise SimulationError(f"traffic: {value}: this pattern takes no value")
    try:
        part = float(value.removesuffix("%")) / 100 if value else float(share)
    except ValueError:
        part = -1.0
    if not 0 <= part <= 1:
        raise SimulationError(f"traffic: inter:{value}: expected which share leaves its node, such as inter:20%")
    node = node_of_ranks(topology)
    if part > 0 and len(np.unique(node)) < 2:
        raise SimulationError(f"traffic: {topology.name} is one node, which nothing can leave: give nodes=2 or more")
    alone = np.flatnonzero(np.bincount(node)[node] == 1)
    if part < 1 and len(alone):
        raise SimulationError(
            f"traffic: rank {alone[0]} of {topology.name} has its node for itself, and {1 - part:.0%} of the messages"
            " stay in their node: give nodes of several ranks, or inter:100%"
        )
    return TrafficPairs.of(_others(topology, seed, near=part < 1, far=part > 0), node, round(part * _MILLION))


def _others(topology: Topology, seed: int, *, near: bool = True, far: bool = True) -> list[NDArray[np.int64]]:
    """The other ranks that each one may choose; of very many some, another choice a rank."""
    ranks = topology.num_ranks
    node, everybody = node_of_ranks(topology), np.arange(ranks)
    most = max(1, _MOST_PAIRS // ranks)
    chance = np.random.default_rng(seed)
    found = []
    for rank in range(ranks):
        inside = everybody[(node == node[rank]) & (everybody != rank)] if near else everybody[:0]
        outside = everybody[node != node[rank]] if far else everybody[:0]
        if len(outside) > most:
            outside = np.sort(chance.choice(outside, most, replace=False))
        found.append(np.concatenate([inside, outside]))
    return found


def _uniform(topology: Topology, value: str, seed: int) -> TrafficPairs:
    """To another rank: nodes may have any sizes, so that no share of messages leaves each of them."""
    _take_none("uniform", value)
    ranks = topology.num_ranks
    chance, most = np.random.default_rng(seed), max(1, _MOST_PAIRS // ranks)
    others = [np.delete(np.arange(ranks), rank) for rank in range(ranks)]
    if ranks - 1 > most:
        others = [np.sort(chance.choice(those, most, replace=False)) for those in others]
    return _all_alike(topology, others)


def _permutation(topology: Topology, value: str, seed: int) -> TrafficPairs:
    """One circle through all ranks in a random order: nobody sends to itself."""
    _take_none("permutation", value)
    order = np.random.default_rng(seed).permutation(topology.num_ranks)
    to = np.empty(topology.num_ranks, np.int64)
    to[order] = np.roll(order, -1)
    return _all_alike(topology, [to[rank : rank + 1] for rank in range(topology.num_ranks)])


def _incast(topology: Topology, value: str, seed: int) -> TrafficPairs:
    """To rank 0 from ranks that a seed chooses, of other nodes where there are as many."""
    node = node_of_ranks(topology)
    able = np.flatnonzero(node != node[0])
    able = able if len(able) else np.arange(1, topology.num_ranks)
    if value and (not value.isdecimal() or not 1 <= int(value) <= len(able)):
        raise SimulationError(f"traffic: incast:{value}: expected how many send to rank 0, from 1 to {len(able)}")
    sends = np.zeros(topology.num_ranks, np.int64)
    sends[np.random.default_rng(seed).permutation(able)[: int(value or len(able))]] = 1
    choices = [np.zeros(count, np.int64) for count in sends]
    return _all_alike(topology, choices, into=0)


def _all_alike(topology: Topology, choices: list[NDArray[np.int64]], into: int | None = None) -> TrafficPairs:
    """Each rank to those that it may choose, be they near or far."""
    return TrafficPairs.of(choices, np.zeros(topology.num_ranks, np.int64), 0, into)


def _take_none(name: str, value: str) -> None:
    if value:
        raise SimulationError(f"traffic: {name}:{value}: it takes no value")


_CLASSES = {"C1": "0.20", "C2": "0.15", "C3": "0.10", "C4": "0.05", "C5": "0.0"}

PATTERNS = Registry(
    "pattern of traffic",
    (
        *(
            TrafficPattern(
                name=name,
                summary=f"{float(share):.0%} of the messages go to another node, the others stay in the sender's",
                pairs=partial(_leaving, share),
            )
            for name, share in _CLASSES.items()
        ),
        TrafficPattern(
            name="inter",
            summary="the same with any share, as in inter:30%",
            pairs=partial(_leaving, ""),
            takes="SHARE",
        ),
        TrafficPattern(name="uniform", summary="each message to any other rank", pairs=_uniform),
        TrafficPattern(
            name="permutation", summary="each rank to one other, no two to the same, by the seed", pairs=_permutation
        ),
        TrafficPattern(
            name="incast",
            summary="all ranks of other nodes, or incast:8 of them, to rank 0; the load is that of its links",
            pairs=_incast,
            takes="COUNT",
        ),
    ),
    SimulationError,
)


def traffic_pairs(text: str, topology: Topology, seed: int) -> TrafficPairs:
    """The pairs of a pattern, `NAME` or `NAME:VALUE`.

    Raises SimulationError for a pattern that there is not, or that the topology cannot have.
    """
    name, _, value = text.partition(":")
    pattern = PATTERNS.named(name)
    if pattern.takes == "SHARE" and not value:
        raise SimulationError("traffic: inter: expected which share leaves its node, such as inter:20%")
    if topology.num_ranks < 2:
        raise SimulationError(f"traffic: {topology.name} has one rank, which has nobody to send to")
    return pattern.pairs(topology, value, seed)
