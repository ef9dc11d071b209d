"""Finds the sends and receives that are one message."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hocket.chakra import NodeType
from hocket.simulator.traces.nodes import Nodes
from hocket.simulator.traces.numbering import number_equal, occurrence
from hocket.simulator.traces.priority import highest_priority

__all__ = ["MessageNodes", "match_messages"]


@dataclass(frozen=True, eq=False)
class MessageNodes:
    """Nodes `rows` send (`sends`) or receive message `number` (int64); the other columns are those of messages."""

    rows: NDArray[np.int64]
    sends: NDArray[np.bool_]
    number: NDArray[np.int64]
    src: NDArray[np.int32]
    dst: NDArray[np.int32]
    tag: NDArray[np.int64]
    size: NDArray[np.int64]
    priority: NDArray[np.int32]
    notes: tuple[str, ...]


def match_messages(nodes: Nodes) -> MessageNodes:
    """The k-th message with a source, destination and tag is the k-th receive of these.

    Raises TraceError, naming file and node, for missing attributes, ranks that do not exist, and ends that disagree.
    """
    rows = np.flatnonzero((nodes.type == NodeType.COMM_SEND) | (nodes.type == NodeType.COMM_RECV))
    sends = nodes.type[rows] == NodeType.COMM_SEND
    rank, num_ranks = nodes.rank[rows], nodes.num_ranks
    src, dst, tag = (nodes.column(name)[rows] for name in ("comm_src", "comm_dst", "comm_tag"))
    own, other = np.where(sends, src, dst), np.where(sends, dst, src)
    own_end, other_end = ("comm_dst", "comm_src"), ("comm_src", "comm_dst")  # of receives, of sends
    nodes.require(other >= 0, rows, lambda at: f"attribute {other_end[int(sends[at])]} is missing")
    nodes.require(
        (own == -1) | (own == rank),
        rows,
        lambda at: f"{own_end[int(sends[at])]} is {own[at]}, expected this rank, {rank[at]}",
    )
    nodes.require(
        (other != rank) & (other < num_ranks),
        rows,
        lambda at: f"{other_end[int(sends[at])]} is {other[at]}, expected another of the {num_ranks} ranks",
    )
    src, dst = np.where(sends, rank, other), np.where(sends, other, rank)
    size = nodes.required(rows, "comm_bytes", "comm_size")

    channel, _ = number_equal(*_ends(nodes, rows, sends, src, dst), tag)
    place = occurrence(2 * channel + sends)
    number, first = _by_sender(*number_equal(channel, place), sends, nodes.row_in_trace[rows], rank)
    leader = first[number]
    nodes.require(
        size == size[leader],
        rows,
        lambda at: (
            f"message {place[at]} from rank {src[at]} to rank {dst[at]} with tag {tag[at]} has {size[at]} bytes here,"
            f" but {size[leader[at]]} bytes in {nodes.describe(int(rows[leader[at]]))}"
        ),
    )
    received = np.zeros(len(first), np.bool_)
    received[number[~sends]] = True
    unreceived = nodes.count(rows[first[~received]])
    return MessageNodes(
        rows=rows,
        sends=sends,
        number=number,
        src=src[first].astype(np.int32),
        dst=dst[first].astype(np.int32),
        tag=tag[first],
        size=size[first],
        priority=highest_priority(nodes, rows[sends], number[sends], len(first)),
        notes=(f"{unreceived} messages are sent but never received",) if unreceived else (),
    )


def _by_sender(
    number: NDArray[np.int64],
    first: NDArray[np.int64],
    sends: NDArray[np.bool_],
    row: NDArray[np.int64],
    rank: NDArray[np.int64],
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Messages numbered in the order in which senders come to them, of ranks alike the lowest first: what goes first
    where several are sent at one instant. All ranks that do alike have it so."""
    key = np.full((2, len(first)), np.iinfo(np.int64).max)
    key[:, number[sends]] = row[sends], rank[sends]
    order = np.lexsort(key[::-1])
    renumbered = np.empty_like(order)
    renumbered[order] = np.arange(len(order))
    return renumbered[number], first[order]


def _ends(
    nodes: Nodes, rows: NDArray[np.int64], sends: NDArray[np.bool_], src: NDArray[np.int64], dst: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """What tells the two ends of messages: ranks; where they stand for others, what kinds of ends they are."""
    if nodes.fold is None or not len(rows):
        return src, dst
    row = nodes.fold.row_of[nodes.rank[rows]]
    pairs, which = np.unique(np.stack([row, np.where(sends, dst, src)]), axis=1, return_inverse=True)
    ends = np.array([nodes.fold.ends[own, peer] for own, peer in pairs.T.tolist()], np.int64)[which.reshape(-1)]
    return np.where(sends, ends[:, 0], ends[:, 1]), np.where(sends, ends[:, 1], ends[:, 0])
