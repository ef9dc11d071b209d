"""The messages of a program, and where in the receiver's memory each is put."""

from dataclasses import dataclass
from itertools import accumulate, pairwise

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from hocket.base.errors import ScheduleError
from hocket.schedule import BUFFERS, Kind, Program, StepType
from hocket.translator.mscclpp.node import RankNodes

__all__ = ["Delivery", "PlanMessage", "deliver"]

_RECEIVE = list(StepType).index(StepType.RECEIVE)
_SENDS = np.array([kind.sends for kind in StepType])
_RECEIVES = np.array([kind.receives for kind in StepType])
_SCRATCH = BUFFERS.index("s")


class PlanMessage(Struct, frozen=True, gc=False):
    """A send and its receive: `buffer` and `offset` at `dst` are where it is put, `slot` if that is a place of its own
    in scratch from which the receiver takes it. `staged`: the sender's chunk of scratch for packets that a port sends.
    """

    dst: int
    count: int
    buffer: str
    offset: int
    slot: bool
    staged: int = -1


@dataclass(frozen=True, slots=True)
class Delivery:
    """All `messages`; which of them each step of each rank's thread blocks sends or receives (`message`; -1: none); and
    the chunks of scratch that each rank needs for them and for what the program keeps there."""

    messages: list[PlanMessage]
    message: list[list[list[int]]]
    scratch_chunks: list[int]


def deliver(program: Program, nodes: RankNodes, *, packets: bool) -> Delivery:
    """Where each message goes: what is to be added, and all packets, into a chunk of scratch that no other message of a
    call uses; a copy straight into its place.

    A copy overwrites what its receiver has there only when that has no part in the result, or has left for it, which
    was before the copy came: so nobody reads or writes that place any more, and no word from the receiver is needed.
    In an in-place all_to_all the receiver still has to copy what is there, so that all goes into scratch.
    """
    rows, blocks = program.rows, [(rank, block) for rank, gpu in enumerate(program.gpus) for block in gpu.thread_blocks]
    block = np.repeat(np.arange(len(blocks)), [len(one.steps) for _, one in blocks])
    ends = np.array([(rank, one.send, one.receive, one.channel) for rank, one in blocks], np.int64).reshape(-1, 4)
    rank, sends_to, receives_from, channel = ends[block].T
    sent, received = _SENDS[rows["type"]], _RECEIVES[rows["type"]]
    if (sent & received).any():
        raise ScheduleError(f"{program.name} has fused steps, which are no messages of their own")
    # both ends of a connection list its messages in one order
    send = _by_connection(np.flatnonzero(sent), rank, sends_to, channel)
    receive = _by_connection(np.flatnonzero(received), receives_from, rank, channel)

    src, dst, count = rank[send], rank[receive], rows["count"][send].astype(np.int64)
    to_be_read = program.kind is Kind.ALL_TO_ALL and program.in_place
    slot = (rows["type"][receive] != _RECEIVE) | packets | to_be_read
    node = np.array(nodes.node)
    staged = packets & (node[src] != node[dst])
    # what each message takes of its receiver's scratch, then of its sender's
    owner = np.stack([dst, src], axis=1).reshape(-1)
    taken = np.stack([count * slot, count * staged], axis=1).reshape(-1)
    kept = np.array([gpu.scratch_chunks for gpu in program.gpus], np.int64)
    place = (kept[owner] + _before(owner, taken)).reshape(-1, 2)
    held = kept + np.bincount(owner, taken, len(kept)).astype(np.int64)
    columns = (
        dst,
        count,
        np.where(slot, _SCRATCH, rows["dst_buffer"][receive]),
        np.where(slot, place[:, 0], rows["dst_offset"][receive]),
        slot,
        np.where(staged, place[:, 1], -1),
    )
    messages = [
        PlanMessage(to, chunks, BUFFERS[buffer], offset, own, stage)
        for to, chunks, buffer, offset, own, stage in zip(*(column.tolist() for column in columns), strict=True)
    ]
    message = np.full(len(rows), -1)
    message[send] = message[receive] = np.arange(len(send))
    first = np.searchsorted(block, np.arange(len(blocks) + 1))
    of_block = [message[start:end].tolist() for start, end in pairwise(first)]
    of_rank = accumulate((len(gpu.thread_blocks) for gpu in program.gpus), initial=0)
    return Delivery(messages, [of_block[start:end] for start, end in pairwise(of_rank)], held.tolist())


def _by_connection(
    row: NDArray[np.int64], src: NDArray[np.int64], dst: NDArray[np.int64], channel: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Rows, in order within each connection (columns of all rows)."""
    ordered: NDArray[np.int64] = row[np.lexsort((row, channel[row], dst[row], src[row]))]
    return ordered


def _before(owner: NDArray[np.int64], taken: NDArray[np.int64]) -> NDArray[np.int64]:
    """What the rows of the same owner before each row have taken."""
    order = np.argsort(owner, kind="stable")
    total = np.cumsum(taken[order]) - taken[order]
    before = np.empty(len(order), np.int64)
    before[order] = total - total[np.searchsorted(owner[order], owner[order])]
    return before
