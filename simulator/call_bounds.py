"""Lower bounds of the calls of a job, each in the chunks of what it follows."""

from collections.abc import Iterator, Sequence
from functools import lru_cache

import numpy as np

from hocket.schedule import Bound, lower_bound
from hocket.simulator.collective_plan import CollectivePlan
from hocket.simulator.fidelity import Fidelity
from hocket.simulator.spelled_out import CallPlan
from hocket.simulator.workload import CollectiveCall, Replicas
from hocket.topology import FabricRouting, Topology

__all__ = ["call_bounds", "relays"]

_MOST_LINKS_SEARCHED = 10_000_000  # for distances in all calls of a job from a member: a second
_SEARCHED = 4  # members of a call in larger jobs


def call_bounds(
    calls: Sequence[CollectiveCall],
    followed: Sequence[CallPlan] | None,
    topology: Topology,
    routing: FabricRouting,
    fidelity: Fidelity,
    replicas: Replicas | None,
) -> list[Bound]:
    """The lower bound of each call. With replicas, members that do alike are equally far from the others; of large jobs
    the distances of some members count, as those of all would take longer than the simulation."""
    helped_calls, splits = relays(calls, followed), _splits(calls, followed, topology, routing)
    searched: Sequence[tuple[int, ...] | None] = [None] * len(calls)
    if replicas is not None:
        searched = [tuple(np.unique(of, return_index=True)[1].tolist()) for of in replicas.members]
    elif len(calls) * topology.num_links > _MOST_LINKS_SEARCHED:
        searched = [tuple(range(0, len(call.group), -(-len(call.group) // _SEARCHED))) for call in calls]
    shared = fidelity.shares_links(topology)
    return [
        _bound(call, topology, shared, helped, split, members)
        for call, helped, split, members in zip(_bounded(calls, followed), helped_calls, splits, searched, strict=True)
    ]


def _splits(
    calls: Sequence[CollectiveCall],
    followed: Sequence[CallPlan] | None,
    topology: Topology,
    routing: FabricRouting,
) -> list[bool]:
    """Of each call, whether its messages may go in parts."""
    if followed is None:
        return [routing.splits(topology)] * len(calls)
    return [choice.splits if isinstance(choice, CollectivePlan) else routing.splits(topology) for choice in followed]


def relays(calls: Sequence[CollectiveCall], followed: Sequence[CallPlan] | None) -> list[bool]:
    """Of each call, whether ranks outside its group take part."""
    return [choice.relays for choice in followed] if followed else [False] * len(calls)


def _bounded(calls: Sequence[CollectiveCall], followed: Sequence[CallPlan] | None) -> Iterator[CollectiveCall]:
    """What bounds are for: the calls, in chunks of the schedule that each follows, where that has chunks of its own."""
    if followed is None:
        yield from calls
        return
    for call, choice in zip(calls, followed, strict=True):
        is_own = choice.collective is call.collective
        yield call if is_own else CollectiveCall.of(choice.collective, call.group)


@lru_cache(maxsize=128)
def _bound(
    call: CollectiveCall,
    topology: Topology,
    shared: bool,
    relays: bool,
    split: bool,
    searched: tuple[int, ...] | None,
) -> Bound:
    """Kept for the same call by other algorithms, as sweeps ask."""
    return lower_bound(
        call.collective,
        topology,
        group=call.members,
        shared=shared,
        relays=relays,
        split=split,
        searched=searched,
    )
