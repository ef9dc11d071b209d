"""Runs the algorithms of one process group, one after another in the order of issue."""

import secrets
import threading
from collections.abc import Sequence
from contextlib import suppress
from datetime import timedelta
from queue import SimpleQueue
from typing import NamedTuple
from weakref import finalize

import torch
import torch.distributed as dist

from hocket._core import executor as native
from hocket.core.errors import HocketError
from hocket.plugin.algorithms.address import own_address, shares_memory
from hocket.plugin.algorithms.binding import Binding
from hocket.plugin.algorithms.counts import Counts
from hocket.plugin.algorithms.library import Algorithm, Library
from hocket.plugin.algorithms.obituaries import Obituaries

__all__ = ["Engine", "Task"]

_CPU = torch.device("cpu")
_PEER_BYTES = 256
_MILLISECOND = timedelta(milliseconds=1)


class _Peer(NamedTuple):
    """What a rank tells the others of its group."""

    host: str
    port: int
    token: int
    nearby: int
    programs: int

    def encode(self) -> torch.Tensor:
        text = "|".join(map(str, self)).encode()
        return torch.tensor(list(text.ljust(_PEER_BYTES)), dtype=torch.uint8)

    @classmethod
    def decode(cls, data: torch.Tensor) -> "_Peer":
        host, *numbers = bytes(data.tolist()).decode().strip().split("|")
        return cls(host, *map(int, numbers))


class Task:
    """The collectives of one operation; `done` when its results are there, or `error` says why they never will."""

    def __init__(self, engine: "Engine", name: str, bindings: Sequence[Binding], timeout: timedelta) -> None:
        self.engine = engine
        self.name = name
        self.bindings = bindings
        self.timeout = timeout
        self.settled: torch.futures.Future[None] = torch.futures.Future()
        self.done = threading.Event()
        self.error: HocketError | None = None

    def result(self) -> list[torch.Tensor]:
        """The operation's outputs. Raises its error."""
        if self.error is not None:
            raise self.error
        return self.outputs

    @property
    def outputs(self) -> list[torch.Tensor]:
        return [tensor for binding in self.bindings for tensor in binding.request.outputs]

    def run(self) -> None:
        """Settles the task whatever happens. Raises what is no error but ends the program, such as Ctrl-C."""
        try:
            self.engine.run(self)
        except BaseException as error:
            self.error = error if isinstance(error, HocketError) else HocketError(f"{self.name}: {_words(error)}")
            self.engine.failed.append(self)
            if not isinstance(error, Exception):
                raise
        finally:
            self.settled.set_result(None)
            self.done.set()


class Engine:
    """One rank's end of a group. Making it is collective: the ranks tell each other where they listen.

    Raises HocketError where the ranks of the group have different programs, or this one cannot listen.
    """

    def __init__(self, group: dist.ProcessGroup, library: Library, counts: Counts) -> None:
        backend = group._get_backend(_CPU)
        self.library = library
        self._counts = counts
        self.rank: int = group.rank()
        self.size: int = group.size()
        self.timeout: timedelta = backend.options._timeout
        self._token = secrets.randbits(63)
        self._obituaries = Obituaries(group)
        host, nearby = own_address(), secrets.randbits(63) if shares_memory() else 0
        self._mesh = native.Mesh(self.rank, host, self._token, nearby)
        mine = _Peer(host, self._mesh.port, self._token, nearby, library.fingerprint).encode()
        everyone = [torch.empty_like(mine) for _ in range(self.size)]
        backend.allgather([everyone], [mine]).wait()
        self._peers = [_Peer.decode(data) for data in everyone]
        for rank, peer in enumerate(self._peers):
            if peer.programs != library.fingerprint:
                raise HocketError(
                    f"rank {rank} of this group has other programs than rank {self.rank} ({library.source}): give all "
                    "ranks the same bundle"
                )
        self._parts: dict[Algorithm, native.Program] = {}
        self._calls = 0
        self._failure: HocketError | None = None
        #: Kept until somebody waits for them.
        self.failed: list[Task] = []
        self._issuing = threading.Lock()
        self._last: Task | None = None
        self._queue: SimpleQueue[Task | None] | None = None

    def submit(self, task: Task, is_async: bool) -> None:
        """Runs a task: at once when the caller waits for it and nothing is before it, else on the group's thread."""
        with self._issuing:
            idle = self._last is None or self._last.done.is_set()
            self._last = task
            if idle and not is_async:
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
                self._run(binding, task.timeout)
                self._counts.add(binding.algorithm.name, binding.size_bytes)
            except BaseException as error:
                where = f"rank {self.rank} of {self.size}, {task.name} by {binding.algorithm.name}"
                self._failure = HocketError(f"{where}: {self._give_up(error)}")
                if not isinstance(error, Exception):
                    raise
                raise self._failure from error

    def _give_up(self, error: BaseException) -> str:
        """Closes the connections, so that the peers do not wait, after telling them why; returns that."""
        try:
            why = _words(error)
            if self._mesh.lost >= 0:
                why += f": {self._obituaries.of(self._mesh.lost)}"
            self._obituaries.leave(self.rank, why)
        finally:
            self._mesh.close()
        return why

    def _run(self, binding: Binding, timeout: timedelta) -> None:
        limit_ms = timeout // _MILLISECOND
        part = self._parts.get(binding.algorithm)
        if part is None:
            part = binding.algorithm.part(self.rank)
            hosts, ports, tokens, nearby, _ = map(list, zip(*self._peers, strict=True))
            self._mesh.open(part, hosts, ports, tokens, nearby, limit_ms)
            self._parts[binding.algorithm] = part
        self._calls += 1
        index = self.library.algorithms.index(binding.algorithm)
        # what all ranks of the call must agree on; tuples of integers have one hash everywhere
        signature = hash((self._calls, index, binding.size_bytes, binding.element, binding.operation)) & (1 << 64) - 1
        with torch.inference_mode():
            source, target = binding.buffers(self.rank)
            native.run(
                part,
                self._mesh,
                source.data_ptr(),
                target.data_ptr(),
                binding.chunk_bytes,
                binding.element,
                binding.operation,
                signature,
                limit_ms,
            )
            binding.finish(target)


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
