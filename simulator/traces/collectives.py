"""The collectives of a job, from the nodes by which ranks join them."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hocket.schedule import NAMED_KINDS, Collective, Kind
from hocket.simulator.traces.blocks import Blocks
from hocket.simulator.traces.joins import Joins
from hocket.simulator.traces.nodes import Nodes
from hocket.simulator.traces.numbering import number_equal
from hocket.simulator.traces.priority import highest_priority
from hocket.simulator.workload import CollectiveCall

__all__ = ["CollectiveNodes", "match_collectives"]

_SIZE_IS_SHARD = [kind for kind in NAMED_KINDS if kind.input_is_block]


@dataclass(frozen=True, eq=False)
class CollectiveNodes:
    """Nodes `rows` take part in collective `instance` as member `member` of its group (int64); instance i is
    `calls[call_of[i]]` and that of process group `groups[group_of[i]]`, with the highest `priority` of its nodes."""

    rows: NDArray[np.int64]
    instance: NDArray[np.int64]
    member: NDArray[np.int64]
    calls: tuple[CollectiveCall, ...]
    call_of: NDArray[np.int32]
    groups: tuple[str, ...]
    group_of: NDArray[np.int32]
    priority: NDArray[np.int32]
    notes: tuple[str, ...]


def match_collectives(nodes: Nodes, chunks_per_rank: int) -> CollectiveNodes:
    """The collectives (see `Joins`), at their exact sizes (see `Blocks`). Raises TraceError as these do."""
    joins = Joins(nodes)
    blocks = Blocks(nodes, joins)
    calls, call_of = _calls(joins, blocks, chunks_per_rank)
    return CollectiveNodes(
        rows=joins.rows,
        instance=joins.instance,
        member=joins.position,
        calls=calls,
        call_of=call_of,
        groups=tuple(joins.groups.names),
        group_of=joins.groups.of[joins.first].astype(np.int32),
        priority=highest_priority(nodes, joins.rows, joins.instance, len(joins.first)),
        notes=tuple(_notes(joins, blocks)),
    )


def _calls(joins: Joins, blocks: Blocks, chunks_per_rank: int) -> tuple[tuple[CollectiveCall, ...], NDArray[np.int32]]:
    """The distinct calls, and which of them each collective is.

    A trace counts the input of a rank; a collective's size is its larger buffer (Collective)."""
    groups, first = joins.groups, joins.first
    size = np.zeros(len(first), np.int64)
    np.maximum.at(size, joins.instance, joins.size)  # of a scatter, only its root may know
    group_size = np.array([len(ranks) for ranks in groups.members], np.int64)[groups.of[first]]
    size *= np.where(joins.is_one_of(*_SIZE_IS_SHARD)[first], group_size, 1)
    uneven = np.zeros(len(first), np.int64)
    known: dict[tuple[int, ...], int] = {}
    for instance, sizes in blocks.of_instance.items():
        uneven[instance] = known.setdefault(sizes, 1 + len(known))
    size[uneven > 0] = 0  # the blocks say it
    distinct_group = {ranks: number for number, ranks in enumerate(dict.fromkeys(groups.members))}
    same_ranks = np.array([distinct_group[ranks] for ranks in groups.members], np.int64)[groups.of[first]]
    call_of, example = number_equal(joins.kind[first], same_ranks, size, joins.root[first], uneven)

    def call(instance: int) -> CollectiveCall:
        at = int(first[instance])
        kind, ranks, root = joins.kind_of(at), joins.ranks_of(at), int(joins.root[at])
        if uneven[instance]:
            sizes = blocks.of_instance[instance]
            return CollectiveCall.of(Collective.uneven(Kind(kind), len(ranks), sizes, chunks_per_rank, root), ranks)
        return CollectiveCall(kind, ranks, int(size[instance]), root, chunks_per_rank)

    return tuple(map(call, example.tolist())), call_of.astype(np.int32)


def _notes(joins: Joins, blocks: Blocks) -> Iterator[str]:
    yield from blocks.notes()
    if joins.rootless:
        yield f"{', '.join(joins.rootless)} without a root in the trace: the group's first rank is the root"
