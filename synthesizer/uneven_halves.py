"""An all_reduce in two halves where ranks are not equally well connected."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from hocket.schedule import EVERYONE, AnySchedule, Collective, Conditions, Kind, concatenate
from hocket.synthesizer.engine import Engine
from hocket.synthesizer.problem import Problem
from hocket.synthesizer.search import Search
from hocket.synthesizer.time_reversal import best_half

__all__ = ["UnevenHalves", "owners"]


@dataclass(frozen=True)
class UnevenHalves:
    """reduce_scatter, then all_gather, in which ranks with less bandwidth own more chunks.

    A rank that owns a part p of the buffer sends 1 - p of it in the first half and gets as much in the second. With
    p = 1 - B T for ranks of B bytes/s both halves take T everywhere, which is what the traffic of all ranks takes in
    any all_reduce; with equal parts both wait for the slowest rank.
    """

    engine: Engine

    @property
    def name(self) -> str:
        return self.engine.name

    def why_not(self, problem: Problem) -> str | None:
        if problem.collective.kind is not Kind.ALL_REDUCE or problem.group is not None or problem.topology.in_network:
            return "it does all_reduce over all ranks, where no switch computes"
        if len(np.unique(_bandwidths(problem))) == 1:
            return "all ranks have the same bandwidth, so that they own the same"
        return self.engine.why_not(_halves(problem)[1])

    def seconds(self, problem: Problem) -> float:
        return 2 * self.engine.seconds(_halves(problem)[1])

    def solve(self, problem: Problem, search: Search) -> Iterator[AnySchedule]:
        search = replace(search, target_ps=search.target_ps // 2, tireless=False)
        first, second = (best_half(self.engine, half, search) for half in _halves(problem))
        if first is not None and second is not None:
            generator = "+".join(dict.fromkeys([first.generator, second.generator]))
            yield replace(concatenate(first, second, problem.collective), generator=generator)


def owners(bandwidths: list[int], chunks: int) -> NDArray[np.int32]:
    """The owner of each chunk: of ranks with so many bytes/s, those with less own more, in turns."""
    sharing = list(range(len(bandwidths)))
    while True:  # a rank with so much bandwidth that it would own less than nothing owns nothing
        total = sum(bandwidths[rank] for rank in sharing)
        part = {rank: total - (len(sharing) - 1) * bandwidths[rank] for rank in sharing}
        owning = [rank for rank in sharing if part[rank] > 0]
        if len(owning) == len(sharing):
            break
        sharing = owning
    alike: dict[int, list[int]] = {}  # ranks of one part take turns
    for rank in sharing:
        alike.setdefault(part[rank], []).append(rank)
    taken, chosen = dict.fromkeys(alike, 0), []

    def lacks(own: int, number: int) -> tuple[int, int]:
        """Of so many chunks what the next rank of such a part lacks, and that the first of equals is taken."""
        turns, place = divmod(taken[own], len(alike[own]))
        return own * number - turns * total, -alike[own][place]

    for number in range(1, chunks + 1):
        own = max(alike, key=lambda each: lacks(each, number))
        chosen.append(-lacks(own, number)[1])
        taken[own] += 1
    return np.array(chosen, np.int32)


def _bandwidths(problem: Problem) -> NDArray[np.int64]:
    alone = problem.topology.partitions[0]
    least: NDArray[np.int64] = np.minimum(alone.ingress_bandwidth, alone.egress_bandwidth)
    return least


@lru_cache(maxsize=8)
def _halves(problem: Problem) -> tuple[Problem, Problem]:
    collective = problem.collective
    owner = owners(_bandwidths(problem).tolist(), collective.num_chunks)
    everyone = np.full(collective.num_chunks, EVERYONE, np.int32)
    ends = (everyone, owner), (owner, everyone)
    first, second = (
        replace(
            problem,
            collective=Collective.custom(
                collective.num_ranks, Conditions(origin, destination, collective.chunk_bytes, ())
            ),
        )
        for origin, destination in ends
    )
    return first, second
