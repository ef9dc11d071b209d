"""Runs the algorithms of one process group, one after another in the order of issue."""

import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import timedelta
from queue import SimpleQueue
from typing import Protocol
from weakref import finalize

import torch
import torch.distributed as dist

from hocket.base.errors import HocketError
from hocket.plugin.serve.binding import Binding
from hocket.plugin.serve.counts import Counts
from hocket.plugin.serve.failure_notices import FailureNotices
from hocket.plugin.serve.streams import Mark, Stash, Streams
from hocket.runtime.engine.library import Library

__all__ = ["NO_CAPTURE", "UNOPENED", "Engine", "Task", "Transport"]

#: Why what needs the host between a program's steps is not captured: a replay would not come back to it.
NO_CAPTURE = "a graph is captured"
#: Of a group whose ranks have not told each other what they have.
UNOPENED = "first call of this group happens in a capture: warm up first"


class Transport(Protocol):
    """Moves and reduces what a program says, between this rank and the others of its group."""

    @property
    def by_messages(self) -> bool:
        """Whether it uses the group's own sends and receives."""

    @property
    def lost(self) -> int:
        """The rank whose connection failed, -1 where none did."""

    @property
    def elements(self) -> Mapping[torch.dtype, int]:
        """The types that it reduces, and their numbers."""

    def capture_refusal(self, binding: Binding) -> str:
        """Why a request cannot be served while a graph is captured, alike on all ranks; "" where it can."""

    def run(self, binding: Binding, timeout: timedelta) -> None:
        """Serves a request. Raises HocketError, or what else went wrong; no other request is served after that."""

    def close(self) -> None:
        """Lets the peers know, as far as connections can, that nothing more comes."""


class Task:
    """The collectives of one operation; `done` when its results are there, or `error` says why they never will."""

    def __init__(
        self,
        engine: "Engine",
        name: str,
        bindings: Sequence[Binding],
        timeout: timedelta,
        is_captured: bool = False,
    ) -> None:
        self.engine = engine
        self.is_captured = is_captured
        self.name = name
        self.bindings = bindings
        self.timeout = timeout
        self.settled: torch.futures.Future[list[torch.Tensor]] = engine.streams.future()
        self.done = threading.Event()
        self.end: Mark = None
        self._stash: Stash | None = None
        self.error: HocketError | None = None

    def result(self) -> list[torch.Tensor]:
        """The operation's outputs. Raises its error."""
        if self.error is not None:
            raise self.error
        return self.outputs

    def join(self) -> list[torch.Tensor]:
        """As `result`; what the caller's stream does next comes after the operation."""
        outputs = self.result()
        self.engine.streams.join(self.end)
        self.release()
        return outputs

    def release(self) -> None:
        """To be called when the caller's stream comes after the operation, for its tensors' memory."""
        if self._stash is not None:
            self._stash.release()

    @property
    def outputs(self) -> list[torch.Tensor]:
        return [tensor for binding in self.bindings for tensor in binding.request.outputs]

    def run(self) -> None:
        """Settles the task whatever happens. Raises what is no error but ends the program, such as Ctrl-C."""
        streams = self.engine.streams
        tensors = [tensor for binding in self.bindings for tensor in binding.request.inputs + binding.request.outputs]
        self._stash = streams.stash(tensors)
        with streams.running():
            try:
                self.engine.run(self)
            except BaseException as error:
                self.error = error if isinstance(error, HocketError) else HocketError(f"{self.name}: {_words(error)}")
                self.engine.failed.append(self)
                if not isinstance(error, Exception):
                    raise
            finally:
                self.end = streams.mark()
                self.settled.set_result(self.outputs)
                self.done.set()


class Engine:
    """One rank's end of a group."""

    def __init__(
        self,
        group: dist.ProcessGroup,
        transport: Transport,
        streams: Streams,
        timeout: timedelta,
        library: Library,
        counts: Counts,
        why_messages: str = "",
    ) -> None:
        self.streams = streams
        #: The group's programs, by whose positions they are called.
        self.library = library
        #: Why programs go over the group's own messages, where another engine was asked for.
        self._why_messages = why_messages
        self.timeout = timeout
        self.rank: int = group.rank()
        self.size: int = group.size()
        self._transport = transport
        self.counts = counts
        self._failure_notices = FailureNotices(group)
        self._failure: HocketError | None = None
        #: Kept until somebody waits for them.
        self.failed: list[Task] = []
        self._issuing = threading.Lock()
        self._last: Task | None = None
        self._queue: SimpleQueue[Task | None] | None = None

    @property
    def elements(self) -> Mapping[torch.dtype, int]:
        """The types that are reduced, and their numbers."""
        return self._transport.elements

    @property
    def by_messages(self) -> bool:
        """Whether programs go over the group's own messages."""
        return self._transport.by_messages

    def capture_refusal(self, bindings: Sequence[Binding]) -> str:
        """Why these cannot be served while a graph is captured; "" where they can."""
        return next(filter(None, map(self._transport.capture_refusal, bindings)), "")

    def submit(self, task: Task, is_async: bool) -> None:
        """Runs a task: at once when it is only enqueued on a stream, or the caller waits for it and nothing is before
        it; else on the group's thread."""
        with self._issuing:
            idle = self._last is None or self._last.done.is_set()
            self._last = task
            if self.streams.enqueue or (idle and not is_async):
                task.run()
                return
            if self._queue is None:
                self._queue = SimpleQueue()
                threading.Thread(target=_serve, args=(self._queue,), name="hocket-algorithms", daemon=True).start()
                finalize(self, self._queue.put, None)
            self._queue.put(task)

    def run(self, task: Task) -> None:
        """Raises HocketError, whatever failed, also for every task after one that failed: the ranks are no longer in
        step. What is no error, such as Ctrl-C, fails the task too and is raised as it is."""
        if self._failure is not None:
            raise self._failure
        for binding in task.bindings:
            try:
                begin = time.perf_counter_ns()
                with torch.inference_mode():
                    self._transport.run(binding, task.timeout)
                took = 0 if self.streams.enqueue else time.perf_counter_ns() - begin  # that of devices is not seen
                name = binding.choice.algorithm.name
                self.counts.add(name, binding.size_bytes, 1, int(self._transport.by_messages), took)
                self.counts.note(name, int(task.is_captured), self._why_messages)
            except BaseException as error:
                where = f"rank {self.rank} of {self.size}, {task.name} by {binding.choice.algorithm.name}"
                self._failure = HocketError(f"{where}: {self._give_up(error)}")
                if not isinstance(error, Exception):
                    raise
                raise self._failure from error

    def _give_up(self, error: BaseException) -> str:
        """Closes the connections, so that the peers do not wait, after telling them why; returns that."""
        try:
            why = _words(error)
            if self._transport.lost >= 0:
                why += f": {self._failure_notices.of(self._transport.lost)}"
            self._failure_notices.leave(self.rank, why)
        finally:
            self._transport.close()
        return why


def _words(error: BaseException) -> str:
    """What to say of an error of any type."""
    if isinstance(error, HocketError):
        return str(error)
    if isinstance(error, KeyboardInterrupt):
        return "interrupted"
    return ": ".join(filter(None, (type(error).__name__, str(error))))


def _serve(queue: "SimpleQueue[Task | None]") -> None:
    """A group's thread: holds its engine only while a task of it runs."""
    while (task := queue.get()) is not None:
        with suppress(BaseException):  # the task has it, and who waits for it is told
            task.run()
        del task
