"""What the collectives of a job are of which one rank of each kind is left."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from hocket.chakra.trace import members_of
from hocket.simulator.fold import Fold
from hocket.simulator.traces.collectives import CollectiveNodes
from hocket.simulator.traces.nodes import Nodes
from hocket.simulator.workload import CannotFold, Replicas

__all__ = ["folded_members", "replicas_of"]


def folded_members(nodes: Nodes, collectives: CollectiveNodes) -> NDArray[np.int64]:
    """Which of the members that are left each node of a collective is (int64)."""
    if nodes.fold is None:
        return collectives.member
    fold, row = nodes.fold, nodes.fold.row_of[nodes.rank[collectives.rows]]
    group = collectives.group_of[collectives.instance]
    member = np.empty(len(row), np.int64)
    for number, name in enumerate(collectives.groups):
        here = group == number
        member[here] = np.searchsorted(_rows(nodes, fold, name)[0], row[here])
    return member


def replicas_of(nodes: Nodes, collectives: CollectiveNodes) -> Replicas | None:
    """Raises CannotFold where a collective's ranks have parts of unlike sizes."""
    fold = nodes.fold
    if fold is None:
        return None
    if any(call.block_bytes is not None for call in collectives.calls):
        raise CannotFold("blocks of several sizes")
    of_calls: dict[int, dict[str, None]] = {call: {} for call in range(len(collectives.calls))}
    for call, at in dict.fromkeys(zip(collectives.call_of.tolist(), collectives.group_of.tolist(), strict=True)):
        of_calls[call][collectives.groups[at]] = None
    names = [next(iter(each)) for each in of_calls.values()]
    groups = [fold.group_of.get(name, name) for name in names]
    for alike in of_calls.values():
        if len({frozenset(_members(nodes, fold.groups, fold.group_of.get(name, name))) for name in alike}) > 1:
            raise CannotFold("groups of the same ranks that stand for others")
    return Replicas(
        rank=fold.rank,
        counts=fold.counts,
        row_of=fold.row_of,
        links=fold.links,
        peers=fold.peers,
        members=tuple(_rows(nodes, fold, name)[1] for name in names),
        groups=tuple(_members(nodes, fold.groups, group) for group in groups),
        shapes=tuple(_members(nodes, fold.shapes, group) for group in groups),
    )


def _members(nodes: Nodes, alike: Mapping[str, tuple[str, ...]], group: str) -> tuple[tuple[int, ...], ...]:
    """Those of the groups for which a group stands; it is alone where it has no name: it is of all ranks."""
    return tuple(nodes.members(name) for name in alike.get(group, (group,)))


def _rows(nodes: Nodes, fold: Fold, group: str) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The rows that take part in a group's collectives, and which of them each of its members is."""
    ranks = np.array(members_of(group, nodes.traces.groups, nodes.num_ranks), np.int64)
    rows, member = np.unique(fold.row_of[ranks], return_inverse=True)
    return rows, member.reshape(-1)
