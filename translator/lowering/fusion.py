"""Steps that receive and send at once, in place of two."""

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hocket.schedule import StepType
from hocket.translator.lowering.operations import Operations

__all__ = ["Fusion"]

_TYPES = list(StepType)
_RECEIVES = [_TYPES.index(StepType.RECEIVE), _TYPES.index(StepType.RECEIVE_REDUCE_COPY)]
_SEND = _TYPES.index(StepType.SEND)


class Fusion:
    """What of a table becomes one step. `order`: the operations in the engine's global order; `listed`: those of thread
    block after thread block, in that order; `room`: chunks of one message that a connection is relied on to hold.
    Columns per operation (P)."""

    def __init__(self, table: Operations, order: NDArray[np.int64], listed: NDArray[np.int64], room: int) -> None:
        self._table = table
        self._listed = listed
        self._room = room
        self._place = np.empty(len(order), np.int64)
        self._place[order] = np.arange(len(order))
        events = []
        for access, writes in ((table.reads, False), (table.writes, True)):
            operation = np.repeat(np.flatnonzero(access >= 0), table.count[access >= 0])
            inside = np.arange(len(operation)) - np.searchsorted(operation, operation)
            events.append(np.stack([access[operation] + inside, operation, np.full(len(operation), writes)]))
        location, operation, writes = np.concatenate(events, axis=1)
        # accesses to each location in their order; an operation that reads and writes reads first
        sequence = np.lexsort((writes, self._place[operation], location))
        self._location, self._operation = location[sequence], operation[sequence]
        self._writes = writes[sequence].astype(bool)

    @cached_property
    def sends(self) -> NDArray[np.bool_]:
        """A send that becomes one step with the receive before it in its thread block.

        It sends the very chunks that come in, as they come in, and there was room for it before the receive in the
        global order; so it may come right after it: with the two as one the order is still one in which nobody waits.
        Of more chunks than there is room for, the last would come in only when the receiver has begun to take them.
        """
        table, place = self._table, self._place
        before, then = self._listed[:-1], self._listed[1:]
        fits = (
            (table.block[before] == table.block[then])
            & np.isin(table.type[before], _RECEIVES)
            & (table.type[then] == _SEND)
            & (table.writes[before] == table.reads[then])
            & (table.count[before] == table.count[then])
            & (table.count[then] <= self._room)
            & (np.where(table.after[then] < 0, -1, place[table.after[then]]) < place[before])
            & (self._only_source[then] == before)
        )
        fused = np.zeros(len(place), np.bool_)
        fused[then[fits]] = True
        return fused

    @cached_property
    def receives(self) -> NDArray[np.bool_]:
        """A receive with which such a send becomes one step."""
        received = np.zeros(len(self._place), np.bool_)
        received[self._listed[:-1][self.sends[self._listed[1:]]]] = True
        return received

    @cached_property
    def unkept(self) -> NDArray[np.bool_]:
        """Such a receive whose chunks nobody reads but the send: they need no place here."""
        write, read, overwrite = self._writes[:-2], ~self._writes[1:-1], self._writes[2:]
        blind = ~np.isin(self._operation[2:], np.flatnonzero(self._table.reads >= 0))
        same = (self._location[:-2] == self._location[1:-1]) & (self._location[1:-1] == self._location[2:])
        dead = np.append(write & read & overwrite & blind & same, [False, False])[: len(self._writes)]
        kept = np.zeros(len(self._place), np.bool_)
        kept[self._operation[self._writes & ~dead]] = True
        unkept: NDArray[np.bool_] = self.receives & ~kept
        return unkept

    @cached_property
    def _only_source(self) -> NDArray[np.int64]:
        """The operation that last wrote all that an operation reads; -1: none, or several did."""
        at = np.arange(len(self._location))
        written = np.maximum.accumulate(np.where(self._writes, at, -1))
        first = np.searchsorted(self._location, self._location)
        source = np.where(written >= first, self._operation[written], -1)
        reads = ~self._writes
        lowest = np.full(len(self._place), np.iinfo(np.int64).max)
        highest = np.full(len(self._place), -1)
        np.minimum.at(lowest, self._operation[reads], source[reads])
        np.maximum.at(highest, self._operation[reads], source[reads])
        return np.where(lowest == highest, highest, -1)
