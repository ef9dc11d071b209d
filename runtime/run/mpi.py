"""MPI through mpi4py."""

import threading
import time
from queue import SimpleQueue
from typing import Any

from mpi4py import MPI

from hocket.base.errors import HocketError
from hocket.runtime.run.backend import Pending
from hocket.runtime.run.datatypes import Array, DataType, ReduceOp
from hocket.schedule.collective import Kind

__all__ = ["MpiBackend", "Poller"]

_OPS = {ReduceOp.SUM: MPI.SUM, ReduceOp.PROD: MPI.PROD, ReduceOp.MAX: MPI.MAX, ReduceOp.MIN: MPI.MIN}


class Poller(threading.Thread):
    """Completes requests of all threads: MPI's own wait keeps a core busy for every waiting thread."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self._posted: SimpleQueue[tuple[Any, threading.Event]] = SimpleQueue()
        self.start()

    def watch(self, request: Any, done: threading.Event | None = None) -> threading.Event:
        """An event (`done`, where given) that is set when the request is complete."""
        done = done or threading.Event()
        self._posted.put((request, done))
        return done

    def run(self) -> None:
        requests: list[Any] = []
        events: list[threading.Event] = []
        idle = 0
        while True:
            while not requests or not self._posted.empty():
                request, event = self._posted.get()
                requests.append(request)
                events.append(event)
            completed = MPI.Request.Testsome(requests) or []
            for index in sorted(completed, reverse=True):
                events.pop(index).set()
                requests.pop(index)
            idle = 0 if completed else min(idle + 1, 20)
            # Between 10 and 200 microseconds: eight ranks on two cores leave each other room.
            time.sleep(idle * 1e-5)


class MpiBackend:
    """A connection's channel is its MPI tag; MPI keeps the order of equal tags. Needs MPI_THREAD_MULTIPLE."""

    def __init__(self) -> None:
        if MPI.Query_thread() < MPI.THREAD_MULTIPLE:
            raise HocketError("this MPI lacks MPI_THREAD_MULTIPLE; install one that has it: pip install 'hocket[mpi]'")
        self._comm = MPI.COMM_WORLD
        self.rank, self.size = self._comm.rank, self._comm.size
        self._poller = Poller()

    def send(self, data: Array, peer: int, channel: int) -> Pending:
        return self._poller.watch(self._comm.Isend([data, MPI.BYTE], peer, channel))

    def receive(self, data: Array, peer: int, channel: int) -> None:
        self._poller.watch(self._comm.Irecv([data, MPI.BYTE], peer, channel)).wait()

    def barrier(self) -> None:
        self._poller.watch(self._comm.Ibarrier()).wait()

    def gather_all(self, values: list[int]) -> list[list[int]]:
        everyone: list[list[int]] = self._comm.allgather(values)
        return everyone

    def collective(
        self, kind: Kind, source: Array, target: Array, data_type: DataType, op: ReduceOp, root: int
    ) -> None:
        if data_type.name == "bfloat16":
            raise HocketError("MPI has no bfloat16 to compare with; leave --compare out or use --backend gloo")
        match kind:
            case Kind.ALL_REDUCE:
                self._comm.Allreduce(source, target, _OPS[op])
            case Kind.REDUCE:
                self._comm.Reduce(source, target, _OPS[op], root)
            case Kind.BROADCAST:
                target[:] = source
                self._comm.Bcast(target, root)
            case Kind.ALL_GATHER:
                self._comm.Allgather(source, target)
            case Kind.REDUCE_SCATTER:
                self._comm.Reduce_scatter_block(source, target, _OPS[op])
            case Kind.ALL_TO_ALL:
                self._comm.Alltoall(source, target)
            case Kind.GATHER:
                self._comm.Gather(source, target, root)
            case Kind.SCATTER:
                self._comm.Scatter(source, target, root)
