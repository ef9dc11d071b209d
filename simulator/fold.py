"""Which ranks of a job do alike on links that are alike, so that one stands for all of them, exactly.

Ranks of a role (`hocket.chakra.roles`) run the same program. They stay together as long as what they meet is together
as well: colour refinement, as for isomorphism of graphs. A rank's colour is its role, its ports and the colours of its
peers and groups; a group's is how many of its members have which colour; it is refined until nothing splits. Ranks of a
colour then do the same at the same times, by induction over time, if the links do: every link that messages of some
kind take must see the kinds that every other such link sees, each once and in the same order. The whole job then covers
that of one rank of each colour: what is simulated of this one holds for all.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from hocket.chakra.roles import Roles, roles_of
from hocket.chakra.trace import TraceSet, members_of
from hocket.simulator.link_classes import LinkClasses
from hocket.simulator.member_bounds import ports
from hocket.topology import FabricRouting, Topology

__all__ = ["Fold", "folds_of"]

_Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Fold:
    """Row k of the folded job is rank `rank[k]` (int64), for `counts[k]` (int64) ranks: all r with `row_of[r]` (int64)
    = k. `group_of` maps each group's name to that of the one that stands for it, `groups` has all for which
    that stands, `shapes` one of each way in which these lie on machines. `links` holds which links the job's messages
    take. The messages of row k with its peer p are between `ends[k, p]` = (own kind of end, the other's).
    `peers` as in Roles.
    """

    rank: _Ints
    counts: _Ints
    row_of: _Ints
    group_of: dict[str, str]
    groups: dict[str, tuple[str, ...]]
    shapes: dict[str, tuple[str, ...]]
    links: LinkClasses
    ends: dict[tuple[int, int], tuple[int, int]]
    peers: _Ints

    @property
    def num_ranks(self) -> int:
        """Of the whole job."""
        return len(self.row_of)


def folds_of(
    traces: TraceSet, topology: Topology, routing: FabricRouting, settings: tuple[NDArray[np.uint8], ...]
) -> Iterator[Fold]:
    """Folds of a job whose rank r is on the topology's rank r, the smallest first: ranks of a role together, then only
    those with the same place in their machines. None where no rank can stand for another.

    `settings` are columns over the links that must be alike, too.
    """
    if routing.policy.chooses or routing.policy.seeded:
        return  # such paths depend on more than who speaks to whom
    roles = roles_of(traces)
    if len(roles.first) == len(roles.of) or not _all_known(traces, roles):
        return
    job = _Job(traces, roles, topology)
    for colours in (job.roles, job.roles_by_place):
        found = job.refined(colours)
        if found.max() + 1 < len(found) and (fold := job.fold(found, routing, settings)) is not None:
            yield fold


def _all_known(traces: TraceSet, roles: Roles) -> bool:
    """Whether all groups and peers are of the job: what is not, the whole job tells."""
    used = [roles.names[at] for at in np.unique(roles.groups[roles.groups >= 0]).tolist()]
    try:
        members = [members_of(name, traces.groups, traces.num_ranks) for name in used]
    except KeyError:
        return False
    beyond = traces.num_ranks
    return roles.peers.max(initial=-1) < beyond and all(max(each, default=-1) < beyond for each in members)


class _Job:
    """What colours are refined by."""

    def __init__(self, traces: TraceSet, roles: Roles, topology: Topology) -> None:
        self._traces, self._roles, self._topology = traces, roles, topology
        self._num_ranks = len(roles.of)
        peers = roles.peers
        self._has_peer = peers >= 0
        self._peer = np.where(self._has_peer, peers, 0)
        # the peer of the peer that is this rank: -1 where the peer never speaks of it
        mutual = self._peer_of_peer == np.arange(self._num_ranks)[:, None, None]
        self._back = np.where(self._has_peer & mutual.any(axis=2), mutual.argmax(axis=2) if peers.size else 0, -1)
        used = np.unique(roles.groups[roles.groups >= 0])
        self._members = {
            int(group): np.array(members_of(roles.names[group], traces.groups, self._num_ranks), np.int64)
            for group in used.tolist()
        }
        self._group_rank = np.concatenate([np.zeros(0, np.int64), *self._members.values()])
        sizes = [len(members) for members in self._members.values()]
        self._group_offset = np.append(0, np.cumsum(sizes)).astype(np.int64)
        number = np.repeat(np.fromiter(self._members, np.int64), sizes)
        named = roles.groups[self._group_rank] == number[:, None]
        self._group_slot = np.where(named.any(axis=1), named.argmax(axis=1) if named.size else 0, -1)

    @property
    def _peer_of_peer(self) -> _Ints:
        return np.where(self._has_peer[:, :, None], self._roles.peers[self._peer], -1)

    @cached_property
    def _machine(self) -> NDArray[np.int32]:
        """Of each rank."""
        return np.asarray(self._topology.machine)[: self._num_ranks]

    @cached_property
    def _place_in_machine(self) -> _Ints:
        """How many of the topology's ranks of its machine come before each rank's place."""
        machine = np.asarray(self._topology.machine)
        order = np.argsort(machine, kind="stable")
        place = np.empty(len(machine), np.int64)
        place[order] = np.arange(len(machine)) - np.searchsorted(machine[order], machine[order])
        return place[: self._num_ranks]

    @cached_property
    def roles(self) -> _Ints:
        """Colours to begin with: roles, and the ports of the ranks."""
        (latency_in, into), (latency_out, out) = ports(self._topology)
        columns = [each[: self._num_ranks] for each in (latency_in, into, latency_out, out)]
        return _numbered(np.stack([self._roles.of.astype(np.int64), *columns], axis=1))

    @cached_property
    def roles_by_place(self) -> _Ints:
        """Those of one place in their machines alone."""
        return _numbered(np.stack([self.roles, self._place_in_machine], axis=1))

    def refined(self, colours: _Ints) -> _Ints:
        """The coarsest colours below these that tell ranks apart which meet unlike ones."""
        near = np.where(self._has_peer, self._machine[self._peer] == self._machine[:, None], -1)
        while True:
            peers = np.where(self._has_peer, colours[self._peer], -1)
            groups = np.append(self.group_colours(colours), -1)[self._group_rows]
            found = _numbered(np.concatenate([colours[:, None], peers, self._back, near, groups], axis=1))
            if found.max(initial=0) == colours.max(initial=0):
                return found
            colours = found

    @cached_property
    def _group_rows(self) -> _Ints:
        """Groups of each rank, by their place among those that are used; -1: none."""
        row = np.full(len(self._roles.names) + 1, -1, np.int64)
        row[np.fromiter(self._members, np.int64)] = np.arange(len(self._members))
        return row[self._roles.groups]

    def group_colours(self, colours: _Ints) -> _Ints:
        """A number for each group: alike where as many members of each colour are in it."""
        known: dict[bytes, int] = {}
        key = colours[self._group_rank] * (self._roles.groups.shape[1] + 1) + self._group_slot + 1
        offset = self._group_offset.tolist()
        of = [known.setdefault(np.sort(key[first:end]).tobytes(), len(known)) for first, end in pairwise(offset)]
        return np.array(of, np.int64)

    def fold(self, colours: _Ints, routing: FabricRouting, settings: tuple[NDArray[np.uint8], ...]) -> Fold | None:
        """By these colours; None where links or groups do not allow it."""
        rank = np.unique(colours, return_index=True)[1].astype(np.int64)
        if not self._in_their_groups or not self._once_in_groups(colours) or (self._has_peer & (self._back < 0)).any():
            return None
        links = LinkClasses(self._topology, settings)
        ends = self._ends(colours, rank)
        if not self._add_messages(links, colours, routing):
            return None
        if links.standing_for_all() is None:
            return None
        group_of, groups, shapes = self._groups(self.group_colours(colours))
        return Fold(rank, np.bincount(colours), colours, group_of, groups, shapes, links, ends, self._roles.peers)

    @property
    def _in_their_groups(self) -> bool:
        """Whether all ranks are members of the groups that they name."""
        return int((self._roles.groups >= 0).sum()) == int((self._group_slot >= 0).sum())

    def _once_in_groups(self, colours: _Ints) -> bool:
        """Whether ranks of a colour have a group in the same place among theirs: so a row is in a group once."""
        group = np.repeat(np.arange(len(self._members)), np.diff(self._group_offset))
        colour = colours[self._group_rank]
        pairs = np.unique(np.stack([group, colour, self._group_slot]), axis=1)
        return len(np.unique(pairs[:2], axis=1).T) == len(pairs.T)

    def _groups(self, of: _Ints) -> tuple[dict[str, str], dict[str, tuple[str, ...]], dict[str, tuple[str, ...]]]:
        """The group that stands for each, for which each stands, and of these one of each way to lie on machines."""
        names = [self._roles.names[group] for group in self._members]
        first: dict[int, str] = {}
        for name, colour in zip(names, of.tolist(), strict=True):
            first.setdefault(colour, name)
        shapes: dict[str, dict[bytes, str]] = {}
        groups: dict[str, list[str]] = {}
        group_of: dict[str, str] = {}
        for name, colour, members in zip(names, of.tolist(), self._members.values(), strict=True):
            leader = group_of[name] = first[colour]
            groups.setdefault(leader, []).append(name)
            shapes.setdefault(leader, {}).setdefault(self._shape(members), name)
        alike = {leader: tuple(each) for leader, each in groups.items()}
        return group_of, alike, {leader: tuple(each.values()) for leader, each in shapes.items()}

    def _shape(self, members: _Ints) -> bytes:
        """How a group lies on machines: which members share one, and which of its places they have."""
        machine = self._machine[members]
        _, first, which = np.unique(machine, return_index=True, return_inverse=True)
        order = np.argsort(np.argsort(first))
        return np.stack([order[which.reshape(-1)], self._place_in_machine[members]]).tobytes()

    def _ends(self, colours: _Ints, rank: _Ints) -> dict[tuple[int, int], tuple[int, int]]:
        """What the messages of each row with each of its peers are: its own kind of end, and the other's."""
        width = self._roles.peers.shape[1] + 1
        found = {}
        for row, first in enumerate(rank.tolist()):
            for slot, peer in enumerate(self._roles.peers[first].tolist()):
                if peer >= 0:
                    other = int(colours[peer]) * width + int(self._back[first, slot]) + 1
                    found[row, peer] = row * width + slot + 1, other
        return found

    def _add_messages(self, links: LinkClasses, colours: _Ints, routing: FabricRouting) -> bool:
        """What each pair of ranks that may speak takes; False where those of one kind do not go alike."""
        rank, slot = np.nonzero(self._has_peer)
        peer = self._roles.peers[rank, slot]
        kind = _numbered(np.stack([colours[rank], slot], axis=1))
        paths = routing.paths(self._topology, np.stack([rank, peer], axis=1), np.zeros(len(rank), np.int64))
        return links.add(kind, colours[rank], rank, [paths])


def _numbered(rows: NDArray[np.int64]) -> _Ints:
    """Numbers of equal rows, 0, 1, ... in the order in which they first come."""
    _, first, which = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    order = np.empty(len(first), np.int64)
    order[np.argsort(first)] = np.arange(len(first))
    return order[which.reshape(-1)]
