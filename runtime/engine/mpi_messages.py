"""MPI's sends and receives, through mpi4py."""

import os
import time
from collections.abc import Sequence

from mpi4py import MPI

from hocket._core import executor as native

__all__ = ["MpiMessages"]

_TAG = 0  # messages between two ranks are in one order at both
_TURNS = 50  # of other processes before a rank sleeps: ranks beyond the cores leave each other room


class MpiMessages:
    """What the engine asks of a communicator, which is used for nothing else."""

    def __init__(self, communicator: MPI.Intracomm) -> None:
        self._communicator = communicator

    def transport(self) -> native.Messages:
        return native.Messages(self, False)

    def exchange(self, sends: Sequence[tuple[int, int, int]], receives: Sequence[tuple[int, int, int]]) -> None:
        """All messages of a round: rank, address and bytes of each."""
        comm, memory = self._communicator, MPI.memory.fromaddress
        requests = [comm.Irecv([memory(at, count), MPI.BYTE], peer, _TAG) for peer, at, count in receives]
        requests += [comm.Isend([memory(at, count), MPI.BYTE], peer, _TAG) for peer, at, count in sends]
        turns = 0
        while not MPI.Request.Testall(requests):
            turns += 1
            if turns < _TURNS:
                os.sched_yield()
            else:
                time.sleep(min(turns - _TURNS, 20) * 1e-5)
