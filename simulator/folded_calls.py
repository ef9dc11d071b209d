"""What collectives follow in a job of which one rank of each kind is left."""

from collections.abc import Callable, Iterable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from hocket.base.errors import ScheduleError
from hocket.simulator.collective_plan import CollectivePlan
from hocket.simulator.fixed_time import FixedTime
from hocket.simulator.link_classes import LinkClasses
from hocket.simulator.spelled_out import CallPlan
from hocket.simulator.workload import CannotFold, CollectiveCall, Replicas

__all__ = ["FoldedCalls"]

_Candidates = Callable[[CollectiveCall], Iterable[CallPlan]]


class FoldedCalls:
    """`followed` is what each call of the workload follows whose ranks stand for others as `replicas` say.

    A collective that takes a time of its own takes it from when the last of the ranks that are left comes. One over
    links is that of a single rank where one stands for all its members, which all do alike; or that of all its members
    where none stands for another. Raises CannotFold where it is neither, or groups that stand for each other are not
    served alike: `candidates` are what a call may follow, `chosen` which of these it does.
    """

    def __init__(
        self,
        followed: list[CallPlan],
        calls: tuple[CollectiveCall, ...],
        replicas: Replicas,
        candidates: _Candidates,
        chosen: Callable[[CollectiveCall], CallPlan],
    ) -> None:
        self._candidates = candidates
        links = replicas.links.copy()
        self._seen: set[tuple[object, ...]] = set()
        for at, (call, choice) in enumerate(zip(calls, followed, strict=True)):
            for group in replicas.shapes[at]:
                if group != call.group and not _alike(choice, chosen(replace(call, group=group))):
                    raise CannotFold(f"{call.kind} is served otherwise elsewhere")
            if isinstance(choice, CollectivePlan) and len(call.group) > 1:
                _require_one_order(call, replicas.groups[at], replicas.row_of)
                self._add(links, call, choice, at, replicas)
        link = links.standing_for_all()
        if link is None:
            raise CannotFold("links that collectives share with others")
        #: The link that stands for each link (int32).
        self.link: NDArray[np.int32] = link
        #: What is run, by call.
        self.plans = [
            self._folded(choice, len(call.group), members)
            for call, choice, members in zip(calls, followed, replicas.members, strict=True)
        ]

    def _folded(self, choice: CallPlan, size: int, members: NDArray[np.int64]) -> CallPlan:
        left = int(members.max()) + 1
        if isinstance(choice, FixedTime):
            return replace(choice, members=left)
        if not isinstance(choice, CollectivePlan):
            raise CannotFold(f"{choice.algorithm} is simulated step by step")
        if left == size:
            if not np.array_equal(members, np.arange(size)):
                raise CannotFold("members of another order")
            return _checked(replace(choice, link=self.link))
        if left > 1 or not choice.one_for_all:
            raise CannotFold(f"{choice.algorithm} has members that do unlike things")
        return replace(choice, link=self.link, alone=True)

    def _add(
        self, links: LinkClasses, call: CollectiveCall, choice: CollectivePlan, number: int, replicas: Replicas
    ) -> None:
        """The links that the call's messages take, in all groups for which it stands."""
        key = (call.group, choice.algorithm, call.kind, call.root, choice.collective.num_chunks)
        if key in self._seen:
            return
        self._seen.add(key)
        groups = replicas.groups[number]
        plans = [choice if group == call.group else self._like(choice, replace(call, group=group)) for group in groups]
        # All copies of a connection are of one kind, unless the members that they are between are not.
        copies = len(call.group) if choice.one_for_all and not replicas.members[number].any() else 1
        kind = np.arange(choice.num_routes) // copies
        leader = np.repeat([group[0] for group in groups], len(kind))
        ranks = len(replicas.row_of)  # whatever the programs, messages of their own go before those of collectives
        program = len(replicas.rank) + replicas.row_of[leader]
        if not links.add(np.tile(kind, len(groups)), program, ranks + leader, [plan.paths for plan in plans]):
            raise CannotFold(f"{call.kind} takes unlike paths")

    def _like(self, choice: CollectivePlan, call: CollectiveCall) -> CollectivePlan:
        """The same of another group."""
        for other in self._candidates(call):
            if isinstance(other, CollectivePlan) and _alike(choice, other) and other.num_routes == choice.num_routes:
                return other
        raise CannotFold(f"{call.kind} has another {choice.algorithm} elsewhere")


def _checked(choice: CollectivePlan) -> CollectivePlan:
    """Raises CannotFold where links that stand for a group's are those of ranks outside it, which no schedule has."""
    try:
        choice.plan  # noqa: B018  # kept for the run
    except ScheduleError as error:
        raise CannotFold(str(error)) from None
    return choice


def _require_one_order(call: CollectiveCall, groups: tuple[tuple[int, ...], ...], row_of: NDArray[np.int64]) -> None:
    """A place in a group has messages of its own: who does alike must have the same one in all of them."""
    rows = row_of[np.array(groups)]
    if (rows != row_of[np.array(call.group)]).any():
        raise CannotFold(f"{call.kind} of groups in another order of members")


def _alike(one: CallPlan, other: CallPlan) -> bool:
    return type(one) is type(other) and _signs(one) == _signs(other)


def _signs(choice: CallPlan) -> tuple[object, ...]:
    """What must be the same of what groups follow that stand for each other."""
    if isinstance(choice, FixedTime):
        return choice.algorithm, choice.time_ps
    if isinstance(choice, CollectivePlan):
        return choice.algorithm, choice.launch_ps, choice.fingerprint
    return (choice.algorithm,)
