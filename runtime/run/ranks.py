"""One process' end of a world whose ranks run programs by the engine."""

from collections.abc import Callable
from pathlib import Path

import numpy as np

from hocket._core import executor as native
from hocket.base.collectives import Held
from hocket.runtime.engine.elements import ELEMENT_NUMBER, REDUCTION_NUMBER
from hocket.runtime.engine.library import ServedProgram
from hocket.runtime.run.buffers import Buffers
from hocket.runtime.run.job import RunTask
from hocket.schedule import Gpu, Kind, Program, Step, StepType, ThreadBlock

__all__ = ["EngineRanks"]

_OWN_CHANNEL = 1 << 30  # no program's
_INT64 = ELEMENT_NUMBER["int64"]


class EngineRanks:
    """Rank `rank` of a task: `transport` carries its programs, which lie in `folder` (`Library.write`). `open` makes
    the connections of a program; where it is None, the transport only sends and receives. No call may take longer than
    `timeout_s`.

    All ranks make the same calls in the same order.
    """

    def __init__(
        self,
        task: RunTask,
        rank: int,
        transport: native.Transport,
        folder: Path,
        timeout_s: float,
        open: Callable[[native.Program], None] | None = None,
    ) -> None:
        self.rank, self.size = rank, task.num_ranks
        self._task = task
        self._transport = transport
        self._folder = folder
        self._timeout_ms = int(timeout_s * 1000)
        self._open = open
        self._library = native.Library((folder / "index").read_text(), str(folder))
        self._parts: dict[tuple[int, bool], native.Program] = {}
        self._calls = 0
        self._gathering = self._opened(_gathering(self.size, rank, exchanging=open is None))

    def barrier(self) -> None:
        """Returns when every rank has called it."""
        self.gather_all([0])

    def gather_all(self, values: list[int]) -> list[list[int]]:
        """Every rank's values, by rank."""
        everyone = np.zeros((self.size, len(values)), np.int64)
        mine = np.array(values, np.int64)
        self._calls += 1
        addresses = mine.ctypes.data, everyone.ctypes.data
        native.run(self._gathering, self._transport, *addresses, mine.nbytes, _INT64, 0, self._calls, self._timeout_ms)
        rows: list[list[int]] = everyone.tolist()
        return rows

    def runner(self, size_bytes: int, in_place: bool) -> Callable[[Buffers], None] | None:
        """Runs the program that serves such calls; None where none does."""
        task, share = self._task, size_bytes // self._task.shares
        choice = self._library.find(task.kind, self.size, task.root, share, task.reduced_bytes, in_place)
        if choice is None:
            return None
        part = self._part(*choice)
        element = ELEMENT_NUMBER[task.reduced_type]
        operation = REDUCTION_NUMBER[task.op]

        def run(buffers: Buffers) -> None:
            self._calls += 1
            native.serve(
                self._library,
                choice,
                part,
                self._transport,
                self.rank,
                *self._addresses(buffers),
                buffers.are_one,
                share,
                element,
                operation,
                self._calls,
                self._timeout_ms,
            )

        return run

    def _addresses(self, buffers: Buffers) -> tuple[int, int]:
        """Of input and output; 0 for one that means nothing on this rank."""
        is_used = buffers.are_one or self.rank == self._task.root
        has_input = is_used or self._task.kind.before is not Held.ROOT
        has_output = is_used or self._task.kind.after is not Held.ROOT
        return buffers.input.ctypes.data * has_input, buffers.output.ctypes.data * has_output

    def _part(self, number: int, in_place: bool) -> native.Program:
        if (number, in_place) not in self._parts:
            way = "" if self._open else ".in_place" if in_place else ".out_of_place"
            path = self._folder / f"{number}.{self.rank}{way}"
            self._parts[number, in_place] = self._opened(native.Program(path.read_text(), str(path)))
        return self._parts[number, in_place]

    def _opened(self, part: native.Program) -> native.Program:
        if self._open is not None:
            self._open(part)
        return part


def _gathering(num_ranks: int, rank: int, exchanging: bool) -> native.Program:
    """An all_gather of a chunk per rank, round a ring."""
    algorithm = ServedProgram("gathering", _ring(num_ranks))
    return algorithm.exchanging_part(rank, in_place=False) if exchanging else algorithm.part(rank)


def _ring(n: int) -> Program:
    gpus = []
    for rank in range(n):
        steps = [Step(StepType.COPY, "i", 0, "o", rank, 1)]
        if n > 1:
            steps.append(Step(StepType.SEND, "i", 0, "o", rank, 1))
        for turn in range(1, n):
            kind, at = StepType.RECEIVE if turn == n - 1 else StepType.RECEIVE_COPY_SEND, (rank - turn) % n
            steps.append(Step(kind, "o", at, "o", at, 1))
        ends = ((rank + 1) % n, (rank - 1) % n) if n > 1 else (-1, -1)
        gpus.append(Gpu(1, n, 0, (ThreadBlock(*ends, _OWN_CHANNEL, steps),)))
    return Program("ring", Kind.ALL_GATHER, n, 1, "Simple", False, True, 0, 0, tuple(gpus))
