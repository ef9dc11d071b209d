"""What an interpreter does with a program, as a workload: every message of every pass over the steps.

A pass moves the first slice of every chunk, the next pass the next (docs/translator.md#msccl-xml). A step of several
chunks sends them in messages of as many as fit a slice. The model:

- a thread block does its steps one after the other; a send is done with when its message is on its way, and what it
  says to blocks that wait for it (`hasdep`) is said when the message is there: the threads that copy go on while one
  waits for their stores to be seen;
- a connection holds `fifo_depth` messages: the one after waits until the receiver is done with the first;
- local copies and sums take no time: they run at the memory's speed, which no topology states;
- a pace (`hocket.schedule.Pace`), where the call has one, adds what kernels were measured to take.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hocket.base.errors import SimulationError
from hocket.chakra.steps import NO_STEP
from hocket.schedule import Passes, Program, StepType
from hocket.simulator.one_pass import OnePass
from hocket.simulator.pass_rows import PassRows
from hocket.simulator.prediction import Prediction
from hocket.simulator.workload import LAUNCH, NodeKind, Workload

__all__ = ["MAX_NODES", "StepPieces", "first_pass", "program_workload", "sending"]

_NAMES = (*StepType, LAUNCH)
MAX_NODES = 1 << 26  # a few GB


def program_workload(program: Program, passes: Passes) -> Workload:
    """The workload of one call.

    Raises ScheduleError for a program that breaks a rule of structure, DeadlockError for one that waits for what never
    happens, and SimulationError where messages have no receiver or there would be too many.
    """
    one = OnePass(program, passes)
    if len(one.kind) * len(passes) > MAX_NODES:
        raise SimulationError(
            f"{program.name}: {len(passes)} passes over {len(one.piece_step)} messages and steps are more than the"
            f" {MAX_NODES} that fit; take a smaller size"
        )
    return _Call(one, passes).workload()


def sending(program: Program, group: Sequence[int]) -> NDArray[np.int32]:
    """The topology's ranks that send to each other (pairs x 2), rank r of the program on `group[r]`."""
    pairs = {
        (group[rank], group[block.send])
        for rank, gpu in enumerate(program.gpus)
        for block in gpu.thread_blocks
        if block.send >= 0
    }
    return np.array(sorted(pairs), np.int32).reshape(-1, 2)


@dataclass(frozen=True, eq=False)
class StepPieces:
    """What the first pass does, thread block after thread block (int64 columns): the `step` that each piece is one
    message of, or all of; its first chunk, counted from the step's; its chunks; when it has received and when it begins
    to send (the same moment, where it does neither)."""

    step: NDArray[np.int64]
    first_chunk: NDArray[np.int64]
    count: NDArray[np.int64]
    received_ps: NDArray[np.int64]
    sent_ps: NDArray[np.int64]


def first_pass(program: Program, passes: Passes, prediction: Prediction) -> StepPieces:
    """When a prediction of `program_workload(program, passes)` does what."""
    one = OnePass(program, passes)
    row = _Call(one, passes).rows.of(np.arange(len(one.kind)))[0]
    return StepPieces(
        step=one.piece_step,
        first_chunk=one.first_chunk,
        count=one.chunks,
        received_ps=prediction.node_finish_ps[row[one.first]],
        sent_ps=prediction.node_start_ps[row[one.sent]],
    )


class _Call:
    """All passes as a workload; before them each rank launches, where calls have a pace."""

    def __init__(self, one: OnePass, passes: Passes) -> None:
        self._one, self._passes = one, passes
        self._launches = int(passes.pace is not None)
        self.rows = PassRows(one.rank, len(one.num_nodes), len(passes), once=self._launches)
        source, destination, channel = np.array(one.flat.connections, np.int64).reshape(-1, 3)[one.message_connection].T
        self._source, self._destination, self._channel = source, destination, channel
        number = {connection: at for at, connection in enumerate(passes.crossings)}
        self._crossing = np.array(
            [number.get((src, dst, over), -1) for src, dst, over in one.flat.connections], np.int64
        )
        self._crossing = self._crossing[one.message_connection]
        self._bytes = passes.message_bytes(channel, one.message_chunks, one.message_part)
        # a channel that is done sends nothing any more, a short message only its first parts
        self._live = self._bytes > 0

    def workload(self) -> Workload:
        one, passes, live, rows = self._one, self._passes, self._live, self.rows
        nodes = np.arange(len(one.kind))
        wire = -(-self._bytes * passes.wire.numerator // passes.wire.denominator)
        if passes.pace is not None:
            wire = passes.pace.wire_bytes(wire, self._source, self._destination)
        start = 0 if passes.pace is None else passes.pace.start_ps
        step = one.piece_step[one.node_piece]
        messages = int(live.sum())
        dependency_offset, dependency = self._dependencies()
        return Workload(
            rank_offset=rows.offset,
            kind=rows.column(self._kinds(), NodeKind.DELAY).astype(np.uint8),
            operand=rows.column(self._operands(), start),
            member=np.zeros(rows.total, np.int32),
            node_id=rows.column(
                np.arange(len(passes))[:, None] * len(nodes) + nodes[None, :], len(passes) * len(nodes)
            ).astype(np.uint64),
            name=rows.column(one.flat.type[step].astype(np.int64), len(_NAMES) - 1).astype(np.int32),
            step=np.full(rows.total, NO_STEP, np.int64),
            strings=_NAMES,
            dependency_offset=dependency_offset,
            dependency=dependency,
            calls=(),
            call_of=np.zeros(0, np.int32),
            groups=(),
            group_of=np.zeros(0, np.int32),
            message_src=np.broadcast_to(self._source, live.shape)[live].astype(np.int32),
            message_dst=np.broadcast_to(self._destination, live.shape)[live].astype(np.int32),
            message_tag=np.broadcast_to(self._channel, live.shape)[live],
            message_bytes=wire[live],
            call_priority=np.zeros(0, np.int32),
            message_priority=np.zeros(messages, np.int32),
            message_crossing=np.broadcast_to(self._crossing, live.shape)[live].astype(np.int32),
            message_channel=np.broadcast_to(self._channel, live.shape)[live],
            crossings=tuple(passes.crossings.values()),
            access_memory=np.zeros(0, np.int32),
            access_service_ps=np.zeros(0, np.int64),
            access_latency_ps=np.zeros(0, np.int64),
        )

    def _kinds(self) -> NDArray[np.int64]:
        """Passes x nodes; what belongs to a message that is not sent is nothing."""
        one = self._one
        carries = one.message >= 0
        idle = np.zeros((len(self._passes), len(one.kind)), bool)
        idle[:, carries] = ~self._live[:, one.message[carries]]
        return np.where(idle, int(NodeKind.NOTHING), one.kind)

    def _operands(self) -> NDArray[np.int64]:
        """Of sends and receives the message, of delays the time (passes x nodes)."""
        one, pace = self._one, self._passes.pace
        number = np.cumsum(self._live).reshape(self._live.shape) - 1
        operand = np.zeros((len(self._passes), len(one.kind)), np.int64)
        carries = one.message >= 0
        operand[:, carries] = np.where(self._live, number, 0)[:, one.message[carries]]
        if pace is not None:
            operand[:, one.latency - 1] = pace.busy_ps(self._bytes, self._source, self._destination)
            operand[:, one.latency] = pace.latency_ps(self._bytes, self._source, self._destination)
        return operand

    def _dependencies(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """CSR of what rows wait for; thread blocks begin when their rank has launched."""
        one, rows = self._one, self.rows
        if not self._launches:
            return rows.dependencies(one.edges)
        return rows.dependencies(one.edges, (rows.offset[one.rank[one.starts]], rows.of(one.starts)[0]))
