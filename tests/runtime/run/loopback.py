"""A world in which every rank is a thread of this process, and its messages are queues."""

from collections import defaultdict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from queue import SimpleQueue
from threading import Barrier

import numpy as np
from interpreter import Interpreter

from hocket.runtime.run import Row, RunTask
from hocket.runtime.run.buffers import Buffers
from hocket.runtime.run.measure import measure
from hocket.schedule import Program


class Delivered:
    def wait(self) -> None:
        """A queued message has left its memory."""


class World:
    """What the ranks share."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.queues: defaultdict[tuple[int, int, int], SimpleQueue[bytes]] = defaultdict(SimpleQueue)
        self.meeting = Barrier(size)
        self.values: list[list[int]] = [[] for _ in range(size)]


@dataclass
class LoopbackBackend:
    world: World
    rank: int

    @property
    def size(self) -> int:
        return self.world.size

    def send(self, data: np.ndarray, peer: int, channel: int) -> Delivered:
        self.world.queues[self.rank, peer, channel].put(data.tobytes())
        return Delivered()

    def receive(self, data: np.ndarray, peer: int, channel: int) -> None:
        data[:] = np.frombuffer(self.world.queues[peer, self.rank, channel].get(timeout=120), data.dtype)

    def barrier(self) -> None:
        self.world.meeting.wait(timeout=20)

    def gather_all(self, values: list[int]) -> list[list[int]]:
        self.world.values[self.rank] = values
        self.barrier()
        everyone = list(self.world.values)
        self.barrier()
        return everyone


class InterpretingRanks(LoopbackBackend):
    """Runs a program by the literal interpreter, in the calls that it declares."""

    def __init__(self, world: World, rank: int, program: Program, task: RunTask) -> None:
        super().__init__(world, rank)
        self.program, self.task = program, task
        gpu = program.gpus[rank]
        self.interpreter = Interpreter(gpu, program.protocol, self, task.data_type, task.op)

    def runner(self, size_bytes: int, in_place: bool) -> Callable[[Buffers], None] | None:
        chunk = size_bytes // self.task.elements.size_bytes // self.program.chunks_per_loop
        is_right = self.program.in_place if in_place else self.program.out_of_place
        return (lambda buffers: self.interpreter.run(buffers, chunk)) if is_right else None


def run_in_threads(program: Program, task: RunTask) -> list[Row]:
    world = World(task.num_ranks)
    everyone = [InterpretingRanks(world, rank, program, task) for rank in range(world.size)]
    with ThreadPoolExecutor(world.size) as threads:
        rows = list(threads.map(lambda ranks: list(measure(task, ranks)), everyone))
    assert all(other == rows[0] for other in rows)
    return rows[0]
