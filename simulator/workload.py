"""What the simulator runs, before any algorithm or network: a program per rank, joined by collectives and messages."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import IntEnum
from fractions import Fraction
from functools import cached_property
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from hocket.base.collectives import BARRIER
from hocket.base.errors import SimulationError
from hocket.base.text import clipped
from hocket.chakra.profiled import HOST
from hocket.chakra.steps import NO_STEP
from hocket.schedule import Collective, Conditions, Kind
from hocket.simulator.link_classes import LinkClasses
from hocket.topology import Crossing

__all__ = ["LAUNCH", "CannotFold", "CollectiveCall", "NodeKind", "Replicas", "Workload", "single_call"]

_Value = TypeVar("_Value", bound=np.generic)
_LONGEST_PS = 2**61  # as the engine has it


LAUNCH = "launch"
"""The name of a node in which a rank launches a kernel; other delays are the latencies of a kernel's steps."""


class NodeKind(IntEnum):
    """What a node does, and what its `operand` is (up to DELAY the engine's NodeKind)."""

    NOTHING = 0
    COMPUTE = 1  # picoseconds
    COLLECTIVE = 2  # instance: index into `call_of`
    SEND = 3  # index into the messages
    RECEIVE = 4  # index into the messages
    MEMORY = 5  # index into the memory accesses
    DELAY = 6  # picoseconds, in which its rank and links do what they like
    COMMUNICATION = 7  # picoseconds of communication of which nothing else is known; the engine's DELAY


@dataclass(frozen=True)
class CollectiveCall:
    """A collective as its group calls it; equal calls follow the same plan.

    `kind` is a Kind or `barrier`; `group` the ranks in group order; the rest, with `root` as a position in the
    group, is that of `Collective`.
    """

    kind: str
    group: tuple[int, ...]
    size_bytes: int
    root: int = 0
    chunks_per_rank: int = 1
    block_bytes: tuple[int, ...] | None = None
    conditions: Conditions | None = None
    cut_whole: bool = False

    @classmethod
    def of(cls, collective: Collective, group: Iterable[int]) -> "CollectiveCall":
        """The call of a collective by these ranks."""
        return cls(
            kind=collective.kind,
            group=tuple(group),
            size_bytes=collective.size_bytes,
            root=collective.root,
            chunks_per_rank=collective.chunks_per_rank,
            block_bytes=collective.block_bytes,
            conditions=collective.conditions,
            cut_whole=collective.cut_whole,
        )

    @cached_property
    def collective(self) -> Collective:
        """What must be achieved; a barrier is an all_reduce of nothing: everybody hears from everybody."""
        if self.kind == BARRIER:
            return Collective(Kind.ALL_REDUCE, len(self.group), 0)
        return Collective(
            Kind(self.kind),
            len(self.group),
            self.size_bytes,
            self.chunks_per_rank,
            self.root,
            self.block_bytes,
            self.conditions,
            self.cut_whole,
        )

    @property
    def members(self) -> NDArray[np.int32]:
        """The group as an array (int32)."""
        return np.array(self.group, np.int32)


class CannotFold(Exception):
    """No rank can stand for others in what is simulated: the whole job must be."""


@dataclass(frozen=True, eq=False)
class Replicas:
    """The ranks of a job in whose workload row k is rank `rank[k]` (int64) for the `counts[k]` (int64) ranks that do
    alike: all r with `row_of[r]` (int64) = k. `links` holds which links the job's messages take; link l does what
    `link[l]` (int32) does, once it is known what collectives take (None: not yet).

    `peers[r]` (int64, ranks of the job x most, -1: no more) are the other ends of the messages of rank r, alike ones of
    ranks alike in one place. Of call i: `members[i]` (int64, a place in its group each) is which of the workload's
    members stands for who has that place, `groups[i]` are the groups for which it stands, and `shapes[i]` one of each
    way in which these lie on machines.
    """

    rank: NDArray[np.int64]
    counts: NDArray[np.int64]
    row_of: NDArray[np.int64]
    links: LinkClasses
    members: tuple[NDArray[np.int64], ...]
    groups: tuple[tuple[tuple[int, ...], ...], ...]
    shapes: tuple[tuple[tuple[int, ...], ...], ...]
    peers: NDArray[np.int64]
    link: NDArray[np.int32] | None = None

    def pairs_like(
        self, src: NDArray[np.integer], dst: NDArray[np.integer]
    ) -> tuple[NDArray[np.integer], NDArray[np.integer]]:
        """All pairs of ranks that speak to each other as these do."""
        found: list[NDArray[np.int64]] = []
        for first, second in np.unique(np.stack([src, dst]), axis=1).T.tolist():
            sends = self.rank[self.row_of[first]] == first
            own, other = (first, second) if sends else (second, first)
            ranks = np.flatnonzero(self.row_of == self.row_of[own])
            others = self.peers[ranks, int(np.flatnonzero(self.peers[own] == other)[0])]
            found.append(np.stack([ranks, others] if sends else [others, ranks]))
        pairs = np.concatenate([np.zeros((2, 0), np.int64), *found], axis=1)
        return pairs[0], pairs[1]

    @property
    def copies(self) -> NDArray[np.int64]:
        """For how many groups each call stands (int64)."""
        return np.array([len(groups) for groups in self.groups], np.int64)

    def of_calls(self, numbers: list[int]) -> "Replicas":
        """With these calls alone."""
        return replace(
            self,
            members=tuple(self.members[number] for number in numbers),
            groups=tuple(self.groups[number] for number in numbers),
            shapes=tuple(self.shapes[number] for number in numbers),
        )


@dataclass(frozen=True, eq=False, repr=False)
class Workload:
    """Columns over all nodes, rank after rank: those of rank r are `rank_offset[r]:rank_offset[r+1]`.

    `kind` uint8 (NodeKind), `operand` int64, `member` int32 (position in the collective's group, else 0), `node_id`
    uint64 and `name` int32 (into `strings`) as in the trace, `step` int64 (number of the job's step, or NO_STEP).
    Dependencies are CSR over these rows.
    Collective instance i is `calls[call_of[i]]` (int32) of the process group named `groups[group_of[i]]` (int32); calls
    are distinct. Message m goes from rank `message_src[m]` to `message_dst[m]` (int32), and between machines as
    `crossings[message_crossing[m]]` says (int32; -1: the shortest way). Messages of one source, destination and
    `message_channel` (int64, any numbers) follow one another where others share links. `call_priority` (of instances)
    and `message_priority` (int32): the higher, the sooner served. Access a waits its turn at memory `access_memory[a]`
    (int32; those of ranks come first), has it for `access_service_ps[a]`, and is done `access_latency_ps[a]` later
    (int64). The computations of `side_by_side` ranks wait for their dependencies alone, those of others for each other.
    Rank r sits on rank `placement[r]` of the topology (None: r); calls and messages name the workload's ranks.
    `lost` says in sentences what the recordings had that is in no trace; `lost_all`: of their communication nothing is.
    With `replicas` it is one rank of each kind of a job, whose calls and messages name ranks of the whole job.
    """

    rank_offset: NDArray[np.int64]
    kind: NDArray[np.uint8]
    operand: NDArray[np.int64]
    member: NDArray[np.int32]
    node_id: NDArray[np.uint64]
    name: NDArray[np.int32]
    step: NDArray[np.int64]
    strings: tuple[str, ...]
    dependency_offset: NDArray[np.int64]
    dependency: NDArray[np.int64]
    calls: tuple[CollectiveCall, ...]
    call_of: NDArray[np.int32]
    groups: tuple[str, ...]
    group_of: NDArray[np.int32]
    message_src: NDArray[np.int32]
    message_dst: NDArray[np.int32]
    message_tag: NDArray[np.int64]
    message_bytes: NDArray[np.int64]
    call_priority: NDArray[np.int32]
    message_priority: NDArray[np.int32]
    message_crossing: NDArray[np.int32]
    message_channel: NDArray[np.int64]
    access_memory: NDArray[np.int32]
    access_service_ps: NDArray[np.int64]
    access_latency_ps: NDArray[np.int64]
    crossings: tuple[Crossing, ...] = ()
    notes: tuple[str, ...] = ()
    placement: tuple[int, ...] | None = None
    replicas: Replicas | None = None
    side_by_side: frozenset[int] = frozenset()
    lost: tuple[str, ...] = ()
    lost_all: bool = False

    def __repr__(self) -> str:
        return f"<Workload of {self.num_ranks} ranks: {len(self.kind)} nodes, {len(self.call_of)} collectives>"

    @property
    def num_ranks(self) -> int:
        """Those whose nodes it has."""
        return len(self.rank_offset) - 1

    @property
    def job_ranks(self) -> int:
        """Those of the whole job."""
        return self.num_ranks if self.replicas is None else int(self.replicas.counts.sum())

    @property
    def rank_counts(self) -> NDArray[np.int64]:
        """For how many ranks of the job each of them stands (int64)."""
        return np.ones(self.num_ranks, np.int64) if self.replicas is None else self.replicas.counts

    @property
    def calls_alike(self) -> NDArray[np.int64]:
        """For how many collectives of the job each of its own stands (int64)."""
        if self.replicas is None:
            return np.ones(len(self.call_of), np.int64)
        return self.replicas.copies[self.call_of]

    def rows_of(self, ranks: NDArray[np.integer]) -> NDArray[np.integer]:
        """Which of its ranks stand for these of the job."""
        return ranks if self.replicas is None else self.replicas.row_of[ranks]

    def by_rank(self, values: NDArray[_Value]) -> NDArray[_Value]:
        """Values of its ranks (last axis) for all ranks of the job."""
        return values if self.replicas is None else values[..., self.replicas.row_of]

    @property
    def rank_numbers(self) -> NDArray[np.int64]:
        """The job's number of each of its ranks (int64)."""
        return np.arange(self.num_ranks) if self.replicas is None else self.replicas.rank

    def pairs_of(self, messages: NDArray[np.integer]) -> tuple[NDArray[np.integer], NDArray[np.integer]]:
        """Sources and destinations in the job of these of its messages, and of those for which they stand."""
        src, dst = self.message_src[messages], self.message_dst[messages]
        return (src, dst) if self.replicas is None else self.replicas.pairs_like(src, dst)

    @property
    def plan_members(self) -> NDArray[np.int32]:
        """How many of its ranks take part in each call (int32)."""
        if self.replicas is None:
            return np.array([len(call.group) for call in self.calls], np.int32)
        return np.array([int(members.max()) + 1 for members in self.replicas.members], np.int32)

    def is_one_call_of(self, ranks: int) -> bool:
        """Whether it is nothing but one collective of ranks 0..ranks-1, in order, starting together."""
        return (
            len(self.call_of) == 1
            and self.calls[0].group == tuple(range(ranks))
            and np.array_equal(self.rank_offset, np.arange(ranks + 1))
            and bool((self.kind == NodeKind.COLLECTIVE).all())
            and not len(self.dependency)
        )

    def with_compute_scaled(self, scale: Fraction, host_scale: Fraction | None = None) -> "Workload":
        """The same workload on processors that take `scale` times as long, hosts `host_scale` times (None: likewise);
        rounded down to whole picoseconds."""
        operand, of_host = self.operand.copy(), scale if host_scale is None else host_scale
        for factor, rows in ((scale, (self.kind == NodeKind.COMPUTE) & ~self.on_host), (of_host, self.on_host)):
            scaled = [duration * factor.numerator // factor.denominator for duration in operand[rows].tolist()]
            if max(scaled, default=0) >= _LONGEST_PS:
                raise SimulationError(
                    "a computation takes more than 26 days (2^61 ps) so: give a smaller --compute-scale"
                )
            operand[rows] = scaled
        return replace(self, operand=operand)

    @property
    def on_host(self) -> NDArray[np.bool_]:
        """Of each node (bool), whether only the host works: computation called so, as importers of profiles do."""
        named = np.array([name == HOST for name in self.strings] or [False])[self.name]
        return np.asarray((self.kind == NodeKind.COMPUTE) & named)

    def placed(self) -> "Workload":
        """The same workload with calls and messages that name ranks of the topology."""
        if self.placement is None:
            return self
        place = np.array(self.placement, np.int32)
        return replace(
            self,
            calls=tuple(replace(call, group=tuple(place[call.members].tolist())) for call in self.calls),
            message_src=place[self.message_src],
            message_dst=place[self.message_dst],
            crossings=tuple(replace(each, through=int(place[each.through])) for each in self.crossings),
            placement=None,
        )

    @property
    def engine_kind(self) -> NDArray[np.uint8]:
        """What each node is to the engine (uint8): what keeps nobody from computing is a delay."""
        delays = self.kind == NodeKind.COMMUNICATION
        for rank in self.side_by_side:
            here = slice(self.rank_offset[rank], self.rank_offset[rank + 1])
            delays[here] |= self.kind[here] == NodeKind.COMPUTE
        if not delays.any():
            return self.kind
        return np.where(delays, np.uint8(NodeKind.DELAY), self.kind)

    @property
    def rank(self) -> NDArray[np.int32]:
        """Rank of each node (int32)."""
        return np.repeat(np.arange(self.num_ranks, dtype=np.int32), np.diff(self.rank_offset))

    def describe(self, node: int) -> str:
        """`rank 2, node 17 (all_reduce)`, for messages."""
        rank = int(np.searchsorted(self.rank_offset, node, side="right")) - 1
        return f"rank {rank}, node {self.node_id[node]} ({clipped(self.strings[self.name[node]])})"


def single_call(call: CollectiveCall, num_ranks: int) -> Workload:
    """The workload in which the group does one collective, starting together; other ranks do nothing."""
    n = len(call.group)
    order = np.argsort(np.array(call.group))
    has_node = np.zeros(num_ranks + 1, np.int64)
    has_node[np.array(call.group) + 1] = 1
    return Workload(
        rank_offset=np.cumsum(has_node),
        kind=np.full(n, NodeKind.COLLECTIVE, np.uint8),
        operand=np.zeros(n, np.int64),
        member=order.astype(np.int32),
        node_id=np.zeros(n, np.uint64),
        name=np.zeros(n, np.int32),
        step=np.full(n, NO_STEP, np.int64),
        strings=(call.kind,),
        dependency_offset=np.zeros(n + 1, np.int64),
        dependency=np.zeros(0, np.int64),
        calls=(call,),
        call_of=np.zeros(1, np.int32),
        groups=("",),
        group_of=np.zeros(1, np.int32),
        message_src=np.zeros(0, np.int32),
        message_dst=np.zeros(0, np.int32),
        message_tag=np.zeros(0, np.int64),
        message_bytes=np.zeros(0, np.int64),
        call_priority=np.zeros(1, np.int32),
        message_priority=np.zeros(0, np.int32),
        message_crossing=np.zeros(0, np.int32),
        message_channel=np.zeros(0, np.int64),
        access_memory=np.zeros(0, np.int32),
        access_service_ps=np.zeros(0, np.int64),
        access_latency_ps=np.zeros(0, np.int64),
    )
