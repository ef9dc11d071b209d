"""Walks through one rank's thread blocks with MSCCL's semantics, one thread each, over a backend's messages."""

import threading
from collections import deque
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait

import numpy as np

from hocket.base.errors import ScheduleError
from hocket.runtime.run.backend import Backend, Pending
from hocket.runtime.run.buffers import Buffers
from hocket.runtime.run.datatypes import Array, DataType, ReduceOp
from hocket.schedule import FIFO_DEPTH
from hocket.schedule.program import Gpu, Step, StepType, ThreadBlock

__all__ = ["Interpreter"]


class _Flag:
    """How far a thread block has come, for those who depend on it."""

    def __init__(self) -> None:
        self._published = -1
        self._changed = threading.Condition()

    def publish(self, step: int) -> None:
        with self._changed:
            self._published = step
            self._changed.notify_all()

    def wait(self, step: int) -> None:
        with self._changed:
            self._changed.wait_for(lambda: self._published >= step)


class Interpreter:
    """Runs `gpu`, the rank's part of a program. After an error of `run` only the end of the process is left to do:
    thread blocks that wait for the failed one, or for another rank, stay where they are.
    """

    def __init__(self, gpu: Gpu, protocol: str, backend: Backend, data_type: DataType, op: ReduceOp) -> None:
        self._blocks = gpu.thread_blocks
        self._fifo_depth = FIFO_DEPTH[protocol]
        self._backend = backend
        self._data_type = data_type
        self._op = op
        self._threads = ThreadPoolExecutor(max(len(self._blocks), 1))

    def run(self, buffers: Buffers) -> None:
        """Runs the collective once. Raises ScheduleError, naming rank, thread block and step, on a step outside of the
        buffers, and what the backend raises.
        """
        flags = [_Flag() for _ in self._blocks]
        runs = [
            self._threads.submit(self._run_block, index, block, buffers, flags)
            for index, block in enumerate(self._blocks)
        ]
        done, _ = wait(runs, return_when=FIRST_EXCEPTION)
        for finished in done:
            finished.result()

    def _run_block(self, index: int, block: ThreadBlock, buffers: Buffers, flags: list[_Flag]) -> None:
        fifo: deque[Pending] = deque()
        for position, step in enumerate(block.steps):
            if step.depend_block >= 0:
                flags[step.depend_block].wait(step.depend_step)
            try:
                self._run_step(step, block, buffers, fifo)
            except ScheduleError as error:
                where = f"rank {self._backend.rank}, thread block {index}, step {position} ({step.type})"
                raise ScheduleError(f"{where}: {error}") from error
            if step.has_dependents:
                flags[index].publish(position)
        for message in fifo:
            message.wait()

    def _run_step(self, step: Step, block: ThreadBlock, buffers: Buffers, fifo: deque[Pending]) -> None:
        def source() -> Array:
            return buffers.view(step.src_buffer, step.src_offset, step.count)

        def target() -> Array:
            return buffers.view(step.dst_buffer, step.dst_offset, step.count)

        match step.type:
            case StepType.NOP:
                return
            case StepType.COPY:
                target()[:] = source()
                return
            case StepType.REDUCE:
                self._data_type.reduce(self._op, target(), source(), out=target())
                return
            case StepType.SEND:
                result = source()
            case StepType.RECEIVE | StepType.RECEIVE_COPY_SEND:
                result = target()
                self._backend.receive(result, block.receive, block.channel)
            case _:
                received = np.empty_like(source())
                self._backend.receive(received, block.receive, block.channel)
                result = received if step.type is StepType.RECEIVE_REDUCE_SEND else target()
                self._data_type.reduce(self._op, source(), received, out=result)
        if step.type.sends:
            if len(fifo) == self._fifo_depth:
                fifo.popleft().wait()
            # The copy is the message's slot of the FIFO: later steps may overwrite the buffer.
            fifo.append(self._backend.send(result.copy(), block.send, block.channel))
