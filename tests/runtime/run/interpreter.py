"""The literal interpreter of MSCCL, a second opinion beside the verifier and the engine: one thread a thread block,
FIFOs as deep as NCCL's, numpy for the sums."""

import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from hocket.base.errors import ScheduleError
from hocket.runtime.run.buffers import Buffers
from hocket.runtime.run.datatypes import ReduceOp
from hocket.schedule import FIFO_DEPTH
from hocket.schedule.program import Gpu, Step, StepType, ThreadBlock

Array = np.ndarray[Any, Any]
_FUNCTIONS = {"sum": np.add, "prod": np.multiply, "max": np.maximum, "min": np.minimum}


def reduce(data_type: str, op: ReduceOp, left: Array, right: Array, out: Array) -> None:
    """out = left (op) right; out may be either. Integers wrap, floats overflow to infinity."""
    function: Callable[..., Array] = _FUNCTIONS[op]
    with np.errstate(all="ignore"):
        if data_type != "bfloat16":
            function(left, right, out=out)
            return
        wide = [(values.astype(np.uint32) << 16).view(np.float32) for values in (left, right)]
        bits = function(*wide).view(np.uint32)
        out[:] = ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)  # to nearest, ties to even


class Pending(Protocol):
    def wait(self) -> object:
        """Returns when the message's memory may be used again."""


class Messages(Protocol):
    """Messages of one (source, destination, channel) keep their order."""

    rank: int

    def send(self, data: Array, peer: int, channel: int) -> Pending: ...
    def receive(self, data: Array, peer: int, channel: int) -> None: ...


@dataclass(frozen=True)
class Memory:
    """`i`, `o` and `s` of one rank, chunks of `chunk` elements."""

    input: Array
    output: Array
    scratch: Array
    chunk: int

    def view(self, name: str, offset: int, count: int) -> Array:
        buffer = {"i": self.input, "o": self.output, "s": self.scratch}[name]
        if offset < 0 or (offset + count) * self.chunk > len(buffer):
            raise ScheduleError(
                f"chunks {offset}..{offset + count - 1} are outside of buffer '{name}' of {len(buffer) // self.chunk}"
            )
        return buffer[offset * self.chunk : (offset + count) * self.chunk]


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

    def __init__(self, gpu: Gpu, protocol: str, backend: Messages, data_type: str, op: ReduceOp) -> None:
        self._scratch_chunks = gpu.scratch_chunks
        self._blocks = gpu.thread_blocks
        self._fifo_depth = FIFO_DEPTH[protocol]
        self._backend = backend
        self._data_type = data_type
        self._op = op
        self._threads = ThreadPoolExecutor(max(len(self._blocks), 1))

    def run(self, buffers: Buffers, chunk: int) -> None:
        """Runs the collective once on chunks of so many elements. Raises ScheduleError, naming rank, thread block and
        step, on a step outside of the buffers, and what the messages raise.
        """
        scratch = np.zeros(self._scratch_chunks * chunk, buffers.input.dtype)
        memory = Memory(buffers.input, buffers.output, scratch, chunk)
        flags = [_Flag() for _ in self._blocks]
        runs = [
            self._threads.submit(self._run_block, index, block, memory, flags)
            for index, block in enumerate(self._blocks)
        ]
        done, _ = wait(runs, return_when=FIRST_EXCEPTION)
        for finished in done:
            finished.result()

    def _run_block(self, index: int, block: ThreadBlock, buffers: Memory, flags: list[_Flag]) -> None:
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

    def _run_step(self, step: Step, block: ThreadBlock, buffers: Memory, fifo: deque[Pending]) -> None:
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
                reduce(self._data_type, self._op, target(), source(), out=target())
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
                reduce(self._data_type, self._op, source(), received, out=result)
        if step.type.sends:
            if len(fifo) == self._fifo_depth:
                fifo.popleft().wait()
            # The copy is the message's slot of the FIFO: later steps may overwrite the buffer.
            fifo.append(self._backend.send(result.copy(), block.send, block.channel))
