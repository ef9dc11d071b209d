"""What an interpreter does with a program, as a workload: every message of every pass over the steps.

A pass moves the first slice of every chunk, the next pass the next (docs/translator.md#msccl-xml). A step of several
chunks sends them in messages of as many as fit a slice. The model:

- a thread block does its steps one after the other; a send is done with when its message is on its way, and what it
  says to blocks that wait for it (`hasdep`) is said when the message is there: the threads that copy go on while one
  waits for their stores to be seen;
- a connection holds `fifo_depth` messages: the one after waits until the receiver is done with the first;
- local copies and sums take no time: they run at the memory's speed, which no topology states.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hocket.chakra.steps import NO_STEP
from hocket.core.errors import DeadlockError, SimulationError
from hocket.schedule import NVIDIA, Collective, Kind, Program, Protocol, StepType
from hocket.schedule.flatten import FlatProgram
from hocket.schedule.memory import lay_out
from hocket.simulator.prediction import Prediction
from hocket.simulator.workload import NodeKind, Workload

__all__ = ["Passes", "Pieces", "first_pass", "program_workload"]

_TYPES = list(StepType)
_MAX_NODES = 1 << 26  # a few GB
_MAX_PIECES = 4096
_MAX_COUNT = 71  # chunks of a message, in every runtime


@dataclass(frozen=True)
class Passes:
    """How an interpreter cuts a call of `size_bytes` (as nccl-tests counts it): chunks of `chunk_bytes`, slice after
    slice, `chunks_per_message` at a time."""

    protocol: Protocol
    chunk_bytes: int
    size_bytes: int

    @classmethod
    def of(cls, program: Program, size_bytes: int, protocols: Mapping[str, Protocol] = NVIDIA) -> "Passes":
        """Raises SimulationError for a size that the program's chunks do not divide: no runtime takes it for that."""
        chunk, rest = divmod(size_bytes, program.chunks_per_loop)
        if rest or not chunk:
            more = max(1, round(size_bytes / program.chunks_per_loop)) * program.chunks_per_loop
            raise SimulationError(
                f"{program.name} cuts the buffer into {program.chunks_per_loop} chunks, which do not divide"
                f" {size_bytes} bytes: runtimes would take another algorithm; the nearest size it serves is {more} B"
            )
        return cls(protocols[program.protocol], chunk, size_bytes)

    @property
    def chunks_per_message(self) -> int:
        return min(max(self.protocol.slice_bytes // self.chunk_bytes, 1), _MAX_COUNT)

    def collective(self, program: Program) -> Collective:
        """What a call achieves, in chunks no larger than the smallest message (and at most 4096 of the program's)."""
        pieces = program.chunks_per_loop * min(-(-self.chunk_bytes // self.slices[-1]), _MAX_PIECES)
        parts = 1 if program.kind in (Kind.BROADCAST, Kind.REDUCE) else program.num_ranks
        return Collective(program.kind, program.num_ranks, self.size_bytes, -(-pieces // parts), program.root)

    @property
    def slices(self) -> list[int]:
        """Bytes of each chunk that each pass moves."""
        whole, rest = divmod(self.chunk_bytes, self.protocol.slice_bytes)
        return [self.protocol.slice_bytes] * whole + [rest] * (rest > 0)


def program_workload(program: Program, passes: Passes) -> Workload:
    """The workload of one call.

    Raises ScheduleError for a program that breaks a rule of structure, DeadlockError for one that waits for what never
    happens, and SimulationError where messages have no receiver or there would be too many.
    """
    one = _Pass(program, passes)
    slices = passes.slices
    if len(one.kind) * len(slices) > _MAX_NODES:
        raise SimulationError(
            f"{program.name}: {len(slices)} passes over {len(one.piece_step)} messages and steps are more than the"
            f" {_MAX_NODES} that fit; take a smaller size"
        )
    times = np.arange(len(slices))

    def spread(node: NDArray[np.int64], lag: NDArray[np.int64]) -> NDArray[np.int64]:
        """The nodes' rows in each pass (passes x nodes), `lag` passes before it; negative before the first."""
        when = times[:, None] - lag[None, :]
        rank = one.rank[node]
        row = one.first_node[rank] * len(slices) + when * one.num_nodes[rank] + (node - one.first_node[rank])
        return np.where(when >= 0, row, -1)

    nodes = np.arange(len(one.kind))
    row = spread(nodes, np.zeros_like(nodes))
    before, after, lag = one.edges
    first, then = spread(before, lag).ravel(), spread(after, np.zeros_like(lag)).ravel()
    first, then = first[first >= 0], then[first >= 0]
    order = np.argsort(then, kind="stable")
    total = row.size

    def column(values: NDArray[np.int64]) -> NDArray[np.int64]:
        """A value of each node of a pass (or of each pass and node), in the order of the rows."""
        result = np.empty(total, np.int64)
        result[row.ravel()] = np.broadcast_to(values, row.shape).ravel()
        return result

    messages = len(one.message_connection)
    step = one.piece_step[one.node_piece]
    moved = np.array(slices, np.int64)[:, None] * one.message_chunks[None, :] * passes.protocol.wire.numerator
    source, destination, channel = np.array(one.flat.connections, np.int64).reshape(-1, 3)[one.message_connection].T
    return Workload(
        rank_offset=np.append(one.first_node, len(one.kind)) * len(slices),
        kind=column(one.kind).astype(np.uint8),
        operand=column(np.where(one.message >= 0, times[:, None] * messages + one.message[None, :], 0)),
        member=np.zeros(total, np.int32),
        node_id=column(times[:, None] * len(one.kind) + nodes[None, :]).astype(np.uint64),
        name=column(one.flat.type[step].astype(np.int64)).astype(np.int32),
        step=np.full(total, NO_STEP, np.int64),
        strings=tuple(_TYPES),
        dependency_offset=np.searchsorted(then[order], np.arange(total + 1)),
        dependency=first[order],
        calls=(),
        call_of=np.zeros(0, np.int32),
        groups=(),
        group_of=np.zeros(0, np.int32),
        message_src=np.tile(source, len(slices)).astype(np.int32),
        message_dst=np.tile(destination, len(slices)).astype(np.int32),
        message_tag=np.tile(channel, len(slices)),
        message_bytes=-(-moved.ravel() // passes.protocol.wire.denominator),
        call_priority=np.zeros(0, np.int32),
        message_priority=np.zeros(messages * len(slices), np.int32),
        access_memory=np.zeros(0, np.int32),
        access_service_ps=np.zeros(0, np.int64),
        access_latency_ps=np.zeros(0, np.int64),
    )


@dataclass(frozen=True, eq=False)
class Pieces:
    """What the first pass does, thread block after thread block (int64 columns): the `step` that each piece is one
    message of, or all of; its first chunk, counted from the step's; its chunks; when it has received and when it begins
    to send (the same moment, where it does neither)."""

    step: NDArray[np.int64]
    first_chunk: NDArray[np.int64]
    count: NDArray[np.int64]
    received_ps: NDArray[np.int64]
    sent_ps: NDArray[np.int64]


def first_pass(program: Program, passes: Passes, prediction: Prediction) -> Pieces:
    """When a prediction of `program_workload(program, passes)` does what."""
    one = _Pass(program, passes)
    row = one.first_node[one.rank] * (len(passes.slices) - 1) + np.arange(len(one.kind))
    return Pieces(
        step=one.piece_step,
        first_chunk=one.first_chunk,
        count=one.chunks,
        received_ps=prediction.node_finish_ps[row[one.first]],
        sent_ps=prediction.node_start_ps[row[one.last]],
    )


class _Pass:
    """One pass over the steps of all thread blocks.

    A piece is a step, or one message of it. Its nodes, in this order: where it receives, the receive; where it sends,
    the moment at which it may, and the message; else one that takes no time.
    """

    def __init__(self, program: Program, passes: Passes) -> None:
        self.flat = FlatProgram(program, lay_out(program, program.in_place))
        if (self.flat.depends_on < -1).any():
            raise DeadlockError(f"{program.name}: a step waits for one that never publishes; hocket verify says which")
        self._depth = passes.protocol.fifo_depth
        sends = np.array([kind.sends for kind in _TYPES])[self.flat.type]
        receives = np.array([kind.receives for kind in _TYPES])[self.flat.type]
        most = passes.chunks_per_message
        pieces = np.where(sends | receives, -(-self.flat.count // most), 1)
        self.piece_step = np.repeat(np.arange(len(pieces)), pieces)
        self._first_piece = np.cumsum(np.append(0, pieces))
        self.first_chunk = (np.arange(len(self.piece_step)) - self._first_piece[self.piece_step]) * most
        self._sends, self._receives = sends[self.piece_step], receives[self.piece_step]
        left = self.flat.count[self.piece_step] - self.first_chunk
        self.chunks = chunks = np.where(self._sends | self._receives, np.minimum(most, left), left)

        per_piece = np.where(self._sends, 2, 0) + np.where(self._receives | ~self._sends, 1, 0)
        end = np.cumsum(per_piece)
        self.first, self.last = end - per_piece, end - 1
        self.node_piece = np.repeat(np.arange(len(per_piece)), per_piece)
        # where the block goes on: once a message is on its way, or has been received
        self._passed = self.first + (self._sends & self._receives)
        self.kind = np.full(len(self.node_piece), NodeKind.NOTHING, np.int64)
        self.kind[self.last[self._sends]] = NodeKind.SEND
        self.kind[self.first[self._receives]] = NodeKind.RECEIVE

        sending, connection = self._by_connection(self._sends, self.flat.send_connection)
        receiving, heard = self._by_connection(self._receives, self.flat.receive_connection)
        if not np.array_equal(connection, heard) or not np.array_equal(chunks[sending], chunks[receiving]):
            raise SimulationError(
                f"{program.name}: messages are sent that nobody receives so; hocket verify says which"
            )
        self._sending, self._receiving = sending, receiving
        self.message_connection, self.message_chunks = connection, chunks[sending]
        self.message = np.full(len(self.kind), -1, np.int64)
        self.message[self.last[sending]] = self.message[self.first[receiving]] = np.arange(len(sending))

        block = self.flat.step_block[self.piece_step]
        self._block = block
        self.rank = self.flat.block_rank[block][self.node_piece]
        self.num_nodes = np.bincount(self.rank, minlength=program.num_ranks)
        self.first_node = np.cumsum(self.num_nodes) - self.num_nodes

    def _by_connection(
        self, ends: NDArray[np.bool_], of_block: NDArray[np.int32]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The pieces at one end of the connections, in the order of their messages, and their connections."""
        pieces = np.flatnonzero(ends)
        connection = of_block[self.flat.step_block[self.piece_step[pieces]]].astype(np.int64)
        order = np.argsort(connection, kind="stable")
        return pieces[order], connection[order]

    @cached_property
    def edges(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Nodes, nodes that wait for them, and how many passes later."""
        none = np.zeros(0, np.int64)
        same = np.flatnonzero(self._block[1:] == self._block[:-1])
        starts = np.flatnonzero(np.append(True, self._block[1:] != self._block[:-1])[: len(self._block)])
        ends = np.append(starts[1:], len(self._block)) - 1 if len(starts) else none
        waiting = np.flatnonzero(self.flat.depends_on >= 0)
        awaited = self.flat.depends_on[waiting]
        both = self._sends & self._receives
        number = np.arange(len(self._sending))
        per_connection = np.bincount(self.message_connection)[self.message_connection] if len(number) else none
        in_connection = number - np.searchsorted(self.message_connection, self.message_connection)
        # the message `depth` before on its connection, as many passes ago as it takes
        lag = np.maximum(-((in_connection - self._depth) // np.maximum(per_connection, 1)), 0)
        freeing = number - self._depth + lag * per_connection
        edges = [
            (self._passed[same], self.first[same + 1], 0),
            (self._passed[ends], self.first[starts], 1),
            (self.first[both], self._passed[both], 0),
            (self._passed[self._sends], self.last[self._sends], 0),
            (self.last[self._first_piece[awaited + 1] - 1], self.first[self._first_piece[waiting]], 0),
            (self._passed[self._receiving[freeing]], self._passed[self._sending], lag),
        ]
        before, after, lags = zip(*((a, b, np.broadcast_to(lag, len(a))) for a, b, lag in edges), strict=True)
        return np.concatenate(before), np.concatenate(after), np.concatenate(lags).astype(np.int64)
