"""What the ranks of a job have in common: roles, of whose ranks all traces say the same but for who and with whom."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import overload

import numpy as np
from numpy.typing import NDArray

from hocket.chakra.trace import NodeType, Trace, TraceSet

__all__ = [
    "Roles",
    "TracesByRole",
    "ends_in_order",
    "groups_in_order",
    "kinds_of_traces",
    "roles_of",
    "shared_by_rank",
]

_OWN = ("comm_src", "comm_dst", "process_group", "root", "start_us", "rest", "rest_offset")
_NUMBERS = tuple(each.name for each in fields(Trace) if each.name not in {*_OWN, "version", "metadata", "strings"})
_TEXTS = ("name", "in_splits", "dtype")
_UNLIKE = "rank"  # metadata that differ on every rank


@dataclass(frozen=True, eq=False)
class Roles:
    """Rank r has role `of[r]` (int32): the traces of a role's ranks differ in the ends of messages, the names of groups
    and recorded starts alone.

    `peers[r]` (int64, ranks x most, -1: no more) are the other ends of a rank's messages, `groups[r]` (int32, likewise)
    its process groups, numbers of `names`; both in the order in which the role's traces first name them.
    """

    of: NDArray[np.int32]
    peers: NDArray[np.int64]
    groups: NDArray[np.int32]
    names: tuple[str, ...]

    @cached_property
    def first(self) -> NDArray[np.int64]:
        """The first rank of each role (int64)."""
        return np.unique(self.of, return_index=True)[1].astype(np.int64)


class TracesByRole(Sequence[Trace]):
    """The traces of a job of which only those of each role's first rank are held: `programs`, by role. Another rank's
    is made when it is asked for; it shares all columns but the ends of messages."""

    def __init__(self, programs: Sequence[Trace], roles: Roles) -> None:
        self.programs, self.roles = tuple(programs), roles

    def __len__(self) -> int:
        return len(self.roles.of)

    @overload
    def __getitem__(self, at: int) -> Trace: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[Trace]: ...
    def __getitem__(self, at: int | slice) -> Trace | Sequence[Trace]:
        if isinstance(at, slice):
            return [self[rank] for rank in range(*at.indices(len(self)))]
        rank = range(len(self))[at]
        role = int(self.roles.of[rank])
        program, first = self.programs[role], int(self.roles.first[role])
        if rank == first:
            return program
        strings, groups, names = list(program.strings), self.roles.groups, self.roles.names
        for place, number in zip(self._named[role], groups[rank].tolist(), strict=False):
            strings[place] = names[number]
        others = np.append(self.roles.peers[rank], [rank, -1])
        source, destination = self._ends[role]
        return replace(
            program,
            strings=tuple(strings),
            comm_src=others[source],
            comm_dst=others[destination],
            metadata={**program.metadata},
        )

    def saying(self, told: Mapping[str, object]) -> TracesByRole:
        """The same with this in the metadata of all."""
        return TracesByRole([replace(each, metadata={**each.metadata, **told}) for each in self.programs], self.roles)

    @cached_property
    def _named(self) -> list[list[int]]:
        """Of each role: where the names of its groups are among its strings."""
        return [groups_in_order(program) for program in self.programs]

    @cached_property
    def _ends(self) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        """Of each role and node: which of its rank's peers, its rank (the last but one) and nobody (the last) is the
        source, and which is the destination."""
        found = []
        width = self.roles.peers.shape[1]
        for program, first in zip(self.programs, self.roles.first.tolist(), strict=True):
            place = {-1: width + 1, first: width}
            place |= {peer: at for at, peer in enumerate(self.roles.peers[first].tolist()) if peer >= 0}
            columns = []
            for column in (program.comm_src, program.comm_dst):
                values, which = np.unique(column, return_inverse=True)
                columns.append(np.array([place[value] for value in values.tolist()], np.int64)[which.reshape(-1)])
            found.append((columns[0], columns[1]))
        return found


def shared_by_rank(traces: TraceSet) -> Sequence[Trace]:
    """For each rank a trace of its role: its nodes and metadata, but maybe another's peers and names of groups."""
    if not isinstance(traces.traces, TracesByRole):
        return traces.traces
    return [traces.traces.programs[role] for role in traces.traces.roles.of.tolist()]


def kinds_of_traces(traces: TraceSet) -> Iterator[tuple[Trace, int]]:
    """Traces, and how many ranks have such a one: one of each role where these are known, else every rank's."""
    if not isinstance(traces.traces, TracesByRole):
        yield from ((trace, 1) for trace in traces.traces)
        return
    counts = np.bincount(traces.traces.roles.of)
    yield from zip(traces.traces.programs, counts.tolist(), strict=True)


def roles_of(traces: TraceSet) -> Roles:
    """The roles of a job, by comparing all traces where they are not known."""
    if isinstance(traces.traces, TracesByRole):
        return traces.traces.roles
    digests = _Digests()
    roles: dict[tuple[object, ...], int] = {}
    names: dict[str, int] = {}
    of, peers, groups = [], [], []
    for rank, trace in enumerate(traces.traces):
        ends, end = _in_order(_peers_of(trace))
        used, place = _in_order(trace.process_group)
        places = (end.tobytes(), place.tobytes(), _own_ends(trace, rank))
        key = (*digests.of(trace), *places, _texts(trace, used), _root_places(trace, traces))
        of.append(roles.setdefault(key, len(roles)))
        peers.append(ends)
        groups.append([names.setdefault(trace.strings[at], len(names)) for at in used])
    return Roles(np.array(of, np.int32), _table(peers), _table(groups).astype(np.int32), tuple(names))


def _peers_of(trace: Trace) -> NDArray[np.int64]:
    """The other end of each node's message (int64), -1 where it is none."""
    other = np.where(trace.type == NodeType.COMM_SEND, trace.comm_dst, np.int64(-1))
    return np.where(trace.type == NodeType.COMM_RECV, trace.comm_src, other)


def _own_ends(trace: Trace, rank: int) -> bytes:
    """Of each node the end of its message that should be its rank: 0 where it is, -1 where there is none."""
    own = np.where(trace.type == NodeType.COMM_SEND, trace.comm_src, np.int64(-1))
    own = np.where(trace.type == NodeType.COMM_RECV, trace.comm_dst, own)
    return np.where(own < 0, -1, np.where(own == rank, 0, 1 + own)).tobytes()


def ends_in_order(trace: Trace) -> list[int]:
    """The other ends of a rank's messages in the order in which its trace first names them."""
    return _in_order(_peers_of(trace))[0]


def groups_in_order(trace: Trace) -> list[int]:
    """Its process groups likewise, as indices of its strings."""
    return _in_order(trace.process_group)[0]


class _Digests:
    """Of columns; one that several traces share is read once."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[NDArray[np.generic], bytes]] = {}

    def of(self, trace: Trace) -> tuple[bytes, ...]:
        return tuple(self._digest(getattr(trace, name)) for name in _NUMBERS)

    def _digest(self, column: NDArray[np.generic]) -> bytes:
        known = self._known.get(id(column))
        if known is None or known[0] is not column:
            found = hashlib.blake2b(np.ascontiguousarray(column).tobytes(), digest_size=32).digest()
            known = self._known[id(column)] = column, found
        return known[1]


def _in_order(values: NDArray[np.integer]) -> tuple[list[int], NDArray[np.int32]]:
    """The distinct values of at least 0 in the order in which they come, and of each place which it is (-1: none)."""
    there = np.flatnonzero(values >= 0)
    distinct, first, which = np.unique(values[there], return_index=True, return_inverse=True)
    order = np.argsort(first)
    number = np.empty(len(order), np.int32)
    number[order] = np.arange(len(order))
    place = np.full(len(values), -1, np.int32)
    place[there] = number[which.reshape(-1)]
    return distinct[order].tolist(), place


def _texts(trace: Trace, groups: list[int]) -> tuple[object, ...]:
    """Strings and metadata, without the names of groups where these name nothing else."""
    strings: list[str | None] = list(trace.strings)
    elsewhere = {at for name in _TEXTS for at in np.unique(getattr(trace, name)).tolist()}
    for at in set(groups) - elsewhere:
        strings[at] = None
    metadata = {key: value for key, value in trace.metadata.items() if key != _UNLIKE}
    return (tuple(strings), repr(metadata))


def _root_places(trace: Trace, traces: TraceSet) -> bytes:
    """Roots as places in their groups: ranks of the job are no part of a role."""
    places = []
    for at in np.flatnonzero(trace.root >= 0).tolist():
        try:
            members = traces.members(trace.text(trace.process_group, at))
            places.append(members.index(int(trace.root[at])))
        except (KeyError, ValueError):  # which the simulator says
            places.append(-2 - int(trace.root[at]))
    return np.array(places, np.int64).tobytes()


def _table(rows: list[list[int]]) -> NDArray[np.int64]:
    """Rows of unlike lengths, filled up with -1."""
    table = np.full((len(rows), max(map(len, rows), default=0)), -1, np.int64)
    for at, row in enumerate(rows):
        table[at, : len(row)] = row
    return table
