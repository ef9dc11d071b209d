"""Steps that receive and send at once, in place of two."""

import numpy as np
from numpy.typing import NDArray

from hocket.schedule import StepType
from hocket.translator.operations import Operations

__all__ = ["fused_sends", "not_kept"]

_TYPES = list(StepType)
_RECEIVES = [_TYPES.index(StepType.RECEIVE), _TYPES.index(StepType.RECEIVE_REDUCE_COPY)]
_SEND = _TYPES.index(StepType.SEND)


def fused_sends(table: Operations, order: NDArray[np.int64], listed: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Per operation whether it is a send that becomes one step with the receive before it in its thread block.

    It sends the very chunks that come in, and all it waits for besides came before the receive in the global `order`,
    so it may come right after it: with the two as one the order is still one in which nobody waits. `listed`: the
    operations of block after block, in that order.
    """
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    before, then = listed[:-1], listed[1:]
    fits = (
        (table.block[before] == table.block[then])
        & np.isin(table.type[before], _RECEIVES)
        & (table.type[then] == _SEND)
        & (table.writes[before] == table.reads[then])
        & (table.count[before] == table.count[then])
        & (np.where(table.after[then] < 0, -1, place[table.after[then]]) < place[before])
    )
    fused = np.zeros(len(order), np.bool_)
    fused[then[fits]] = True
    return fused


def not_kept(table: Operations, order: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Per operation that reads and writes the same chunks whether after the next read all that it wrote is overwritten
    unread: a sum that is passed on and needs no place."""
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    events = []
    for access, writes in ((table.reads, False), (table.writes, True)):
        operation = np.repeat(np.flatnonzero(access >= 0), table.count[access >= 0])
        first = np.repeat(access[access >= 0], table.count[access >= 0])
        inside = np.arange(len(operation)) - np.searchsorted(operation, operation)
        events.append(np.stack([first + inside, place[operation], np.full(len(operation), writes), operation]))
    location, when, writes, operation = np.concatenate(events, axis=1)
    sequence = np.lexsort((writes, when, location))
    location, writes, operation = location[sequence], writes[sequence].astype(bool), operation[sequence]
    dead = np.zeros(len(location), np.bool_)
    # a write, one read, and a write that does not read
    pure = writes & ~np.isin(operation, np.flatnonzero(table.reads >= 0))
    dead[:-2] = writes[:-2] & ~writes[1:-1] & pure[2:]
    dead[:-2] &= (location[:-2] == location[1:-1]) & (location[1:-1] == location[2:])
    left = np.zeros(len(order), np.int64)
    np.add.at(left, operation[writes & ~dead], 1)
    unread: NDArray[np.bool_] = (left == 0) & (table.writes >= 0)
    return unread
