"""The order in which all ranks can issue a job's nodes: proof that the replay does not deadlock."""

from heapq import heapify, heappop, heappush

import numpy as np
from numpy.typing import NDArray

from hocket.base.errors import DeadlockError
from hocket.simulator.workload import NodeKind, Workload

__all__ = ["issue_order"]


def issue_order(workload: Workload) -> tuple[list[list[int]], NDArray[np.int64]]:
    """Each rank's rows in the order of issue, and for each row (int64) the one that must be issued before it because
    both are of one group or one channel (-1: none).

    A node is issued when what it depends on is complete; a collective is complete when all members have issued it, a
    message when both ends have; collectives of a group and messages of a channel are issued in the order of ids. A
    linear order of all that exists if and only if the job ends; issuing in it with blocking waits cannot deadlock,
    whatever threads a rank divides its nodes among. Raises DeadlockError, naming nodes, where there is none.
    """
    num_nodes = len(workload.kind)
    completion = _completions(workload)
    previous = _predecessors(workload)
    owner = np.repeat(np.arange(num_nodes), np.diff(workload.dependency_offset))
    communicates = np.flatnonzero(completion >= num_nodes)
    ordered = np.flatnonzero(previous >= 0)
    source = np.concatenate([completion[workload.dependency], communicates, previous[ordered]])
    target = np.concatenate([owner, completion[communicates], ordered])
    done = _topological(workload, source, target, num_nodes + len(workload.call_of) + len(workload.message_src))
    if len(done) < num_nodes:
        raise _deadlock(workload, done)
    rank = workload.rank
    orders: list[list[int]] = [[] for _ in range(workload.num_ranks)]
    for row in done:
        orders[rank[row]].append(row)
    return orders, previous


def _completions(workload: Workload) -> NDArray[np.int64]:
    """The vertex at which each node is complete: of computations itself, else one that the nodes of a collective or a
    message share."""
    vertex = np.arange(len(workload.kind))
    collective = workload.kind == NodeKind.COLLECTIVE
    message = np.isin(workload.kind, (NodeKind.SEND, NodeKind.RECEIVE))
    vertex[collective] = len(vertex) + workload.operand[collective]
    vertex[message] = len(vertex) + len(workload.call_of) + workload.operand[message]
    return vertex


def _predecessors(workload: Workload) -> NDArray[np.int64]:
    previous = np.full(len(workload.kind), -1)
    rank = workload.rank.astype(np.int64)
    collectives = np.flatnonzero(workload.kind == NodeKind.COLLECTIVE)
    groups = workload.group_of[workload.operand[collectives]].astype(np.int64)
    _chain(previous, collectives, [rank[collectives], groups])
    for kind in (NodeKind.SEND, NodeKind.RECEIVE):
        rows = np.flatnonzero(workload.kind == kind)
        number = workload.operand[rows]
        ends = [column[number].astype(np.int64) for column in (workload.message_src, workload.message_dst)]
        _chain(previous, rows, [*ends, workload.message_tag[number]])
    return previous


def _chain(previous: NDArray[np.int64], rows: NDArray[np.int64], keys: list[NDArray[np.int64]]) -> None:
    """Each of ascending `rows` comes after the one before it that has the same keys."""
    order = np.lexsort([rows, *keys])
    same = np.ones(max(len(rows) - 1, 0), np.bool_)
    for key in keys:
        same &= key[order][1:] == key[order][:-1]
    previous[rows[order][1:][same]] = rows[order][:-1][same]


def _topological(
    workload: Workload, source: NDArray[np.int64], target: NDArray[np.int64], num_vertices: int
) -> list[int]:
    """Nodes in a linear order of the graph, those early in their rank first; without those behind a cycle."""
    by_source = np.argsort(source, kind="stable")
    heads = target[by_source].tolist()
    offset = np.concatenate([[0], np.cumsum(np.bincount(source, minlength=num_vertices))]).tolist()
    missing = np.bincount(target, minlength=num_vertices).tolist()
    num_nodes, num_ranks = len(workload.kind), workload.num_ranks
    rank = workload.rank.astype(np.int64)
    key = ((np.arange(num_nodes) - workload.rank_offset[rank]) * num_ranks + rank).tolist()
    begins = workload.rank_offset.tolist()
    ready = [key[vertex] for vertex in range(num_nodes) if not missing[vertex]]
    heapify(ready)
    done: list[int] = []
    while ready:
        place, of_rank = divmod(heappop(ready), num_ranks)
        row = begins[of_rank] + place
        done.append(row)
        reached = [row]
        while reached:
            vertex = reached.pop()
            for head in heads[offset[vertex] : offset[vertex + 1]]:
                missing[head] -= 1
                if missing[head]:
                    continue
                if head < num_nodes:
                    heappush(ready, key[head])
                else:
                    reached.append(head)
    return done


def _deadlock(workload: Workload, done: list[int]) -> DeadlockError:
    left = np.ones(len(workload.kind), np.bool_)
    left[done] = False
    rows = np.flatnonzero(left)
    _, first = np.unique(workload.rank[rows], return_index=True)
    places = "; ".join(workload.describe(int(row)) for row in rows[first][:8])
    return DeadlockError(
        "the ranks would wait for each other: by its dependencies and the order of its groups the job stops at"
        f" {places}"
    )
