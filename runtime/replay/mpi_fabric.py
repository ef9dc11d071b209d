"""Operations of a replay by MPI's nonblocking calls, through mpi4py."""

import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import accumulate
from typing import Any

import numpy as np
from mpi4py import MPI

from hocket.base.element_types import ELEMENT_TYPES
from hocket.base.enums import not_here
from hocket.base.errors import HocketError
from hocket.base.extras import install_command
from hocket.runtime.replay.fabric import Ended, Pending, Start
from hocket.runtime.replay.mpi_poller import Poller
from hocket.runtime.replay.operation import Operation

__all__ = ["MpiFabric"]

#: What MPI adds, by PyTorch's name.
_TYPES = {each.name: getattr(MPI, each.mpi) for each in ELEMENT_TYPES.values() if each.mpi}


class MpiFabric:
    """A thread of its own polls what is under way: MPI makes no progress while a rank computes. Needs
    MPI_THREAD_MULTIPLE."""

    def __init__(self, groups: Sequence[tuple[int, ...]]) -> None:
        if MPI.Query_thread() < MPI.THREAD_MULTIPLE:
            raise HocketError(f"this MPI lacks MPI_THREAD_MULTIPLE; install one that has it: {install_command('mpi')}")
        world = MPI.COMM_WORLD
        self.rank, self.size = world.rank, world.size
        others = [rank for rank in range(self.size) if rank != self.rank]
        # Recorders leave collectives of neighbours out: the ranks' own word with each other is none of the job's.
        self._control = world.Create_dist_graph_adjacent(others, others)
        self._groups = groups
        everyone = tuple(range(self.size))
        world_at = groups.index(everyone) if everyone in groups else -1
        self._comms = [
            world if number == world_at else world.Create(world.group.Incl(ranks))
            for number, ranks in enumerate(groups)
        ]
        self._poller = Poller()

    def prepare(self, operations: Sequence[Operation]) -> list[Start]:
        needs = [operation.buffer_bytes for operation in operations]
        source, target = (np.zeros(max((need[side] for need in needs), default=0) + 8, np.uint8) for side in (0, 1))
        source.fill(0)  # memory of its own for every page
        return [
            self._start(self._begin(replace(each, element=each.element.within(_TYPES)), source, target))
            for each in operations
        ]

    def gather(self, value: bytes) -> list[bytes]:
        others: list[bytes] = self._control.neighbor_allgather(value)
        return [value, *others] if self.rank == 0 else []

    def close(self) -> None:
        """MPI takes leave by itself."""

    def _start(self, begin: Callable[[], Any]) -> Start:
        def start(ended: Ended) -> Pending:
            done = _Done(ended)
            self._poller.watch(begin(), done)
            return done

        return start

    def _begin(self, operation: Operation, source: Any, target: Any) -> Callable[[], Any]:
        """The call of MPI that issues the operation."""
        comm = self._comms[operation.group] if operation.peer < 0 else MPI.COMM_WORLD
        datatype, counts = _TYPES[operation.element.name], operation.counts
        block = counts[operation.position] if len(counts) == operation.group_size else max(counts, default=0)
        is_root = operation.root == self.rank
        root = self._groups[operation.group].index(operation.root) if operation.root >= 0 else 0

        def blocks(buffer: Any, sizes: Sequence[int]) -> list[Any]:
            return [buffer, (sizes, [0, *accumulate(sizes)][:-1]), datatype]

        match operation.kind:
            case "all_reduce":
                return lambda: comm.Iallreduce(MPI.IN_PLACE, [source, block, datatype])
            case "broadcast":
                return lambda: comm.Ibcast([source, block, datatype], root)
            case "reduce":
                whole = [source, block, datatype]
                sending, receiving = (MPI.IN_PLACE, whole) if is_root else (whole, None)
                return lambda: comm.Ireduce(sending, receiving, MPI.SUM, root)
            case "all_gather":
                return lambda: comm.Iallgatherv([source, block, datatype], blocks(target, counts))
            case "reduce_scatter":
                total = sum(counts)
                return lambda: comm.Ireduce_scatter([source, total, datatype], [target, block, datatype], list(counts))
            case "all_to_all":
                sent, received = blocks(source, operation.sent), blocks(target, operation.received)
                return lambda: comm.Ialltoallv(sent, received)
            case "gather":
                gathered = blocks(target, counts) if is_root else None
                return lambda: comm.Igatherv([source, block, datatype], gathered, root)
            case "scatter":
                scattered = blocks(source, counts) if is_root else None
                return lambda: comm.Iscatterv(scattered, [target, block, datatype], root)
            case "barrier":
                return lambda: comm.Ibarrier()
            case "send":
                return lambda: comm.Isend([source, block, datatype], operation.peer, operation.tag)
            case "receive":
                return lambda: comm.Irecv([target, block, datatype], operation.peer, operation.tag)
            case _:
                not_here(operation.kind)


class _Done(threading.Event):
    """Set by the poller when the request is complete."""

    def __init__(self, ended: Ended) -> None:
        super().__init__()
        self._ended = ended

    def set(self) -> None:
        self._ended()
        super().set()
