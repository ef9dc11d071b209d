"""Which connection into a rank and which out of it share a thread block: those along which chunks are forwarded."""

from collections import defaultdict

import numpy as np
from numpy.typing import NDArray

from hocket.translator.lowering.messages import Messages

__all__ = ["pair_connections"]


def pair_connections(
    messages: Messages, connection: NDArray[np.int64], channels: NDArray[np.int64], *, every: bool = False
) -> dict[int, int]:
    """For connections out of a rank the one into it that shares a thread block with it (both numbers as in
    `connection`, of each message; they have one of `channels`).

    A thread block does one thing after the other, so it pays only where what comes in is what goes out next: for at
    least half of the messages out. The pairs that forward most are taken first; it saves thread blocks, dependencies
    and, as a fused step, the way through memory. With `every`, the others share too, as far as they go round: it takes
    the fewest thread blocks.
    """
    size = len(messages.src)
    unit = np.tile(np.arange(size), 2)
    arrives = np.repeat([True, False], size)
    time = np.concatenate([messages.finish, messages.start])
    place = [
        np.concatenate(columns)
        for columns in (
            (messages.dst, messages.src),
            (messages.dst_buffer, messages.src_buffer),
            (messages.dst_offset, messages.src_offset),
            (messages.count, messages.count),
        )
    ]
    # what arrives at an instant is there for what leaves at that instant
    order = np.lexsort((unit, ~arrives, time, *place))
    forwards = arrives[order][:-1] & ~arrives[order][1:]
    for column in place:
        forwards &= np.diff(column[order]) == 0
    into, out_of = connection[unit[order][:-1][forwards]], connection[unit[order][1:][forwards]]
    pairs, counts = np.unique(np.stack([into, out_of], axis=1), axis=0, return_counts=True)
    sent = np.bincount(connection, minlength=len(channels))
    worth = (every | (2 * counts >= sent[pairs[:, 1]])) & (channels[pairs[:, 0]] == channels[pairs[:, 1]])
    pairs, counts = pairs[worth], counts[worth]
    partner: dict[int, int] = {}
    taken: set[int] = set()
    for first, second in pairs[np.argsort(-counts, kind="stable")].tolist():
        if first not in taken and second not in partner:
            partner[second] = first
            taken.add(first)
    if every:
        partner |= _rest(messages, connection, channels, partner)
    return partner


def _rest(
    messages: Messages, connection: NDArray[np.int64], channels: NDArray[np.int64], partner: dict[int, int]
) -> dict[int, int]:
    """Partners for connections that have none, on the same rank and channel."""
    numbers, first = np.unique(connection, return_index=True)
    taken = set(partner.values())
    into: defaultdict[tuple[int, int], list[int]] = defaultdict(list)
    for number, rank in zip(numbers.tolist(), messages.dst[first].tolist(), strict=True):
        if number not in taken:
            into[rank, int(channels[number])].append(number)
    rest = {}
    for number, rank in zip(numbers.tolist(), messages.src[first].tolist(), strict=True):
        free = into[rank, int(channels[number])]
        if number not in partner and free:
            rest[number] = free.pop(0)
    return rest
