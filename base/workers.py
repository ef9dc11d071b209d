"""Processes that answer tasks one by one. One that dies or hangs costs no answer but that of the task it was at."""

import math
import os
import pickle
import selectors
import signal
import subprocess
import sys
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Generic, TypeVar

from hocket.base.errors import HocketError
from hocket.base.task_process import LENGTH, READY, frame

__all__ = ["Failed", "Workers"]

Task = TypeVar("Task")
Answer = TypeVar("Answer")

_TRIES = 2
"""How often a task may be what a process is at when it dies."""
_MODULE = "hocket.base.task_process"
_BATCH = 16
_START_S = 600.0
"""In which a process begins, on the busiest machine and from the slowest disk."""
_LOAD_S = 30.0
"""That the first task of a process may take longer: it loads what all need."""

_LOOK_S, _LATE_S = 1.0, 1.0
"""How often the clock is looked at while a limit runs, and how late that may be on a busy machine."""


@dataclass(frozen=True, slots=True)
class Failed:
    """Why a task has no answer: it raised something, its process died, or it took too long."""

    reason: str


class Workers:
    """So many Python processes (None: one a processor core that this process may use). Each answers one task at a time;
    one that dies is replaced, and the task it was at is tried once more, by itself. `limit_s`: seconds that a task may
    take, but for those in which this process is stopped (Ctrl-Z), half a minute more where it is the first of a
    process, which loads for all of them; a process that is at one for longer is killed, and replaced too.

    They are gone when the block ends and when this process does, however it ends: they see their input close. Ctrl-C
    does not reach them: the process that waits for them answers it.
    """

    def __init__(self, jobs: int | None = None, limit_s: float | None = None) -> None:
        self._clock = _AwakeClock()
        self._jobs = jobs or len(os.sched_getaffinity(0))
        self._limit_s = limit_s
        self._workers: list[_Worker] = []

    def __enter__(self) -> "Workers":
        return self

    def __exit__(
        self, sort: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end()

    def __del__(self) -> None:
        self.end()

    def end(self) -> None:
        """Ends the processes, in the middle of their tasks."""
        for worker in self._workers:
            worker.kill()
        self._workers.clear()

    def answers(
        self, function: Callable[[Task], Answer], tasks: Sequence[Task]
    ) -> Iterator[tuple[int, Answer | Failed]]:
        """The place of each task in the sequence with its answer, as they come. The function is one of a module, which
        other processes know by its name.

        Raises HocketError where processes die before they begin.
        """
        yield from _Round(self._workers, self._jobs, self._limit_s, self._clock, function, tasks).answers()


class _AwakeClock:
    """Seconds in which this process runs. While it is stopped none pass, as by Ctrl-Z, which stops its workers too:
    what is longer than the pauses between two looks at it was no running."""

    def __init__(self) -> None:
        self._seen, self._passed = time.monotonic(), 0.0

    def now(self) -> float:
        seen = time.monotonic()
        step = seen - self._seen
        self._passed += step if step < _LOOK_S + _LATE_S else 0.0
        self._seen = seen
        return self._passed


class _Worker:
    """A process, the tasks it has, in its order, and since when it is at the first, or begins."""

    def __init__(self, clock: _AwakeClock) -> None:
        self.clock = clock
        # What is blocked here stays blocked there, from the first instruction on.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            self.process = subprocess.Popen(
                [sys.executable, "-m", _MODULE],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                bufsize=0,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            )
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        self.ready = False
        self.loaded = False
        self.places: deque[int] = deque()
        self.since = clock.now()
        self._received = bytearray()

    def send(self, content: object, places: Sequence[int]) -> None:
        self.places.extend(places)
        self.since = self.clock.now()
        assert self.process.stdin is not None
        left = memoryview(frame(content))
        with suppress(BrokenPipeError):  # it is dead, which its output will tell
            while left:
                left = left[self.process.stdin.write(left) :]

    def receive(self) -> tuple[list[Any], bool]:
        """What it has sent, and whether it lives."""
        assert self.process.stdout is not None
        data = os.read(self.process.stdout.fileno(), 1 << 16)
        self._received += data
        found = []
        while len(self._received) >= LENGTH.size:
            end = LENGTH.size + LENGTH.unpack_from(self._received)[0]
            if len(self._received) < end:
                break
            found.append(pickle.loads(bytes(self._received[LENGTH.size : end])))
            del self._received[:end]
        return found, bool(data)

    def kill(self) -> str:
        """Ends it. How it ended, in words."""
        self.process.kill()
        code = self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            assert pipe is not None
            pipe.close()
        return f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"

    def died(self) -> str:
        """How it ended by itself, in words."""
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(1.0)
        return self.kill()


class _Round(Generic[Task, Answer]):
    """The tasks of one call, on workers that stay for the next."""

    def __init__(
        self,
        workers: list[_Worker],
        jobs: int,
        limit_s: float | None,
        clock: _AwakeClock,
        function: Callable[[Task], Answer],
        tasks: Sequence[Task],
    ) -> None:
        self.workers, self.jobs, self.limit_s, self.clock = workers, jobs, limit_s, clock
        self.function, self.tasks = function, tasks
        self.waiting = deque(range(len(tasks)))
        self.suspects: deque[int] = deque()
        self.deaths: Counter[int] = Counter()
        self.answered = 0

    def answers(self) -> Iterator[tuple[int, Answer | Failed]]:
        with selectors.DefaultSelector() as selector:
            for worker in self.workers:
                selector.register(worker.process.stdout, selectors.EVENT_READ, worker)  # type: ignore[arg-type]
            while self.answered < len(self.tasks):
                self._start(selector)
                self._feed()
                for key, _ in selector.select(self._patience()):
                    yield from self._heard(key.data, selector)
                yield from self._overdue(selector)

    def _start(self, selector: selectors.BaseSelector) -> None:
        while len(self.workers) < min(self.jobs, len(self.tasks) - self.answered):
            worker = _Worker(self.clock)
            self.workers.append(worker)
            selector.register(worker.process.stdout, selectors.EVENT_READ, worker)  # type: ignore[arg-type]

    def _feed(self) -> None:
        """Tasks for those that have none; what was with a death stands alone."""
        for worker in self.workers:
            if not worker.ready or worker.places:
                continue
            if self.waiting:
                share = -(-len(self.waiting) // (2 * self.jobs))
                places = [self.waiting.popleft() for _ in range(min(_BATCH, share))]
            elif self.suspects:
                places = [self.suspects.popleft()]
            else:
                return
            worker.send((self.function, [self.tasks[place] for place in places]), places)

    def _patience(self) -> float | None:
        """Seconds until the first task, or process that begins, is overdue, or the clock has to be looked at."""
        ends = [worker.since + _START_S for worker in self.workers if not worker.ready]
        ends += [self._end(worker) for worker in self.workers if worker.places]
        ends = [end for end in ends if end < math.inf]
        return min(max(0.0, min(ends) - self.clock.now()), _LOOK_S) if ends else None

    def _end(self, worker: _Worker) -> float:
        """When its task is overdue."""
        return worker.since + (math.inf if self.limit_s is None else self.limit_s + _LOAD_S * (not worker.loaded))

    def _heard(self, worker: _Worker, selector: selectors.BaseSelector) -> Iterator[tuple[int, Answer | Failed]]:
        messages, lives = worker.receive()
        for message in messages:
            worker.since = self.clock.now()
            if message == READY:
                worker.ready = True
                continue
            done, content = message
            worker.loaded = True
            self.answered += 1
            yield worker.places.popleft(), content if done else Failed(content)
        if not lives:
            yield from self._dead(worker, selector)

    def _dead(self, worker: _Worker, selector: selectors.BaseSelector) -> Iterator[tuple[int, Failed]]:
        place = worker.places.popleft() if worker.places else None
        how = self._drop(worker, selector, worker.died)
        if not worker.ready:
            raise HocketError(
                f"a worker process ended before it began ({how}): does {sys.executable} -m {_MODULE} start there?"
            )
        if place is None:
            return
        self.deaths[place] += 1
        if self.deaths[place] < _TRIES:
            self.suspects.append(place)
            return
        self.answered += 1
        yield place, Failed(f"its process ended at it {_TRIES} times ({how}): out of memory, killed, or a crash")

    def _overdue(self, selector: selectors.BaseSelector) -> Iterator[tuple[int, Failed]]:
        now = self.clock.now()
        for worker in [each for each in self.workers if not each.ready and now - each.since >= _START_S]:
            self._drop(worker, selector, worker.kill)
            raise HocketError(f"a worker process has not begun for {_START_S:g} s: is this machine out of memory?")
        late = [each for each in self.workers if each.places and now >= self._end(each)]
        # What came while the answers of others were kept was in time.
        heard = {key.data for key, _ in selector.select(0)} if late else set()
        for worker in [each for each in late if each not in heard]:
            place = worker.places.popleft()
            self._drop(worker, selector, worker.kill)
            self.answered += 1
            yield place, Failed(f"it took longer than {self.limit_s:g} s")

    def _drop(self, worker: _Worker, selector: selectors.BaseSelector, end: Callable[[], str]) -> str:
        """Ends a worker; what it had not begun waits again."""
        selector.unregister(worker.process.stdout)  # type: ignore[arg-type]
        self.workers.remove(worker)
        self.waiting.extendleft(reversed(worker.places))
        return end()
