"""One pass over the steps of a program's thread blocks, as nodes that wait for each other."""

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hocket.base.errors import DeadlockError, SimulationError
from hocket.schedule import Passes, Program, StepType
from hocket.schedule.flatten import FlatProgram
from hocket.schedule.memory import lay_out
from hocket.simulator.workload import NodeKind

__all__ = ["OnePass"]

_TYPES = list(StepType)


class OnePass:
    """A piece is a step, or a part of it. Its nodes, in this order: where it receives, the receive; where it sends, the
    moment at which it may, the message, and with a pace how long the block is busy and what the step's latency adds;
    else one that takes no time.
    """

    def __init__(self, program: Program, passes: Passes, flat: FlatProgram | None = None) -> None:
        """`flat`: the program's columns, where they are known."""
        self.flat = flat or FlatProgram(program, lay_out(program, program.in_place))
        if (self.flat.depends_on < -1).any():
            raise DeadlockError(f"{program.name}: a step waits for one that never publishes; hocket verify says which")
        self._paced = passes.pace is not None
        self._cut(passes)
        self._lay_nodes()

        sending, connection = self._by_connection(self._sends, self.flat.send_connection)
        receiving, heard = self._by_connection(self._receives, self.flat.receive_connection)
        if not np.array_equal(connection, heard) or not np.array_equal(self.chunks[sending], self.chunks[receiving]):
            raise SimulationError(
                f"{program.name}: messages are sent that nobody receives so; hocket verify says which"
            )
        self._sending, self._receiving = sending, receiving
        self.message_connection, self.message_chunks = connection, self.chunks[sending]
        self.message_part = self.part[sending]
        ends = np.array(self.flat.connections, np.int64).reshape(-1, 3)
        self._depth = passes.depth(ends[:, 0], ends[:, 1])[connection]
        self.message = np.full(len(self.kind), -1, np.int64)
        self.message[self.sent[sending]] = self.message[self.first[receiving]] = np.arange(len(sending))
        if self._paced:
            for lag in (1, 2):
                self.message[self.sent[sending] + lag] = np.arange(len(sending))

        block = self.flat.step_block[self.piece_step]
        self._block = block
        self.rank = self.flat.block_rank[block][self.node_piece]
        self.num_nodes = np.bincount(self.rank, minlength=program.num_ranks)
        self.first_node = np.cumsum(self.num_nodes) - self.num_nodes

    def _cut(self, passes: Passes) -> None:
        """Steps into pieces."""
        sends = np.array([kind.sends for kind in _TYPES])[self.flat.type]
        receives = np.array([kind.receives for kind in _TYPES])[self.flat.type]
        most = passes.chunks_per_message
        pieces = np.where(sends | receives, -(-self.flat.count // most) * passes.slices, 1)
        self.piece_step = np.repeat(np.arange(len(pieces)), pieces)
        self._first_piece = np.cumsum(np.append(0, pieces))
        number = np.arange(len(self.piece_step)) - self._first_piece[self.piece_step]
        self.first_chunk, self.part = number // passes.slices * most, number % passes.slices
        self._sends, self._receives = sends[self.piece_step], receives[self.piece_step]
        left = self.flat.count[self.piece_step] - self.first_chunk
        self.chunks = np.where(self._sends | self._receives, np.minimum(most, left), left)

    def _lay_nodes(self) -> None:
        per_send = 4 if self._paced else 2
        per_piece = np.where(self._sends, per_send, 0) + np.where(self._receives | ~self._sends, 1, 0)
        end = np.cumsum(per_piece)
        self.first = end - per_piece
        self.node_piece = np.repeat(np.arange(len(per_piece)), per_piece)
        self._may = self.first + (self._sends & self._receives)  # when it may send
        self.sent = self._may + self._sends  # what it ends with: the message, where there is one
        # where the block goes on: once a message is on its way, or out of its hands, or has been received
        self._passed = self.sent + 1 * self._sends if self._paced else self._may
        self.kind = np.full(len(self.node_piece), NodeKind.NOTHING, np.int64)
        self.kind[self.sent[self._sends]] = NodeKind.SEND
        self.kind[self.first[self._receives]] = NodeKind.RECEIVE
        if self._paced:
            for lag in (1, 2):
                self.kind[self.sent[self._sends] + lag] = NodeKind.DELAY

    @property
    def starts(self) -> NDArray[np.int64]:
        """The first node of each thread block."""
        nodes: NDArray[np.int64] = self.first[self._block_starts]
        return nodes

    @property
    def latency(self) -> NDArray[np.int64]:
        """Where the latency of each message's step has passed; the nodes before are where its bytes have."""
        nodes: NDArray[np.int64] = self.sent[self._sending] + 2
        return nodes

    @cached_property
    def _block_starts(self) -> NDArray[np.int64]:
        return np.flatnonzero(np.append(True, self._block[1:] != self._block[:-1])[: len(self._block)])

    def _by_connection(
        self, ends: NDArray[np.bool_], of_block: NDArray[np.int32]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The pieces at one end of the connections, in the order of their messages, and their connections."""
        pieces = np.flatnonzero(ends)
        connection = of_block[self.flat.step_block[self.piece_step[pieces]]].astype(np.int64)
        order = np.argsort(connection, kind="stable")
        return pieces[order], connection[order]

    @property
    def _waits(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """What thread blocks of a rank wait for in each other, and what waits: steps, or where messages are cut in
        parts and both steps have as many, each part for the same part."""
        waiting = np.flatnonzero(self.flat.depends_on >= 0)
        awaited = self.flat.depends_on[waiting]
        pieces = np.diff(self._first_piece)
        alike = np.where(pieces[waiting] == pieces[awaited], pieces[waiting], 1) if self.part.any() else 1
        repeat = np.broadcast_to(alike, waiting.shape)
        number = np.arange(repeat.sum()) - np.repeat(np.cumsum(repeat) - repeat, repeat)
        last = np.repeat(np.where(repeat > 1, 0, pieces[awaited] - 1), repeat)
        before = self._first_piece[np.repeat(awaited, repeat)] + last + number
        return self.sent[before], self.first[self._first_piece[np.repeat(waiting, repeat)] + number]

    @cached_property
    def edges(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Nodes, nodes that wait for them, and how many passes later."""
        none = np.zeros(0, np.int64)
        same = np.flatnonzero(self._block[1:] == self._block[:-1])
        starts = self._block_starts
        ends = np.append(starts[1:], len(self._block)) - 1 if len(starts) else none
        both = self._sends & self._receives
        number = np.arange(len(self._sending))
        per_connection = np.bincount(self.message_connection)[self.message_connection] if len(number) else none
        in_connection = number - np.searchsorted(self.message_connection, self.message_connection)
        # the message `depth` before on its connection, as many passes ago as it takes
        lag = np.maximum(-((in_connection - self._depth) // np.maximum(per_connection, 1)), 0)
        freeing = number - self._depth + lag * per_connection
        may, sent = self._may[self._sends], self.sent[self._sends]
        edges = [
            (self._passed[same], self.first[same + 1], 0),
            (self._passed[ends], self.first[starts], 1),
            (self.first[both], self._may[both], 0),
            (may, sent, 0),
            (*self._waits, 0),
            (self._passed[self._receiving[freeing]], self._may[self._sending], lag),
        ]
        if self._paced:
            edges += [(may, sent + 1, 0), (sent + 1, sent + 2, 0), (self.latency, self.first[self._receiving], 0)]
        before, after, lags = zip(*((a, b, np.broadcast_to(lag, len(a))) for a, b, lag in edges), strict=True)
        return np.concatenate(before), np.concatenate(after), np.concatenate(lags).astype(np.int64)
