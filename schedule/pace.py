"""What a runtime's kernels take beside what the network takes."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Pace"]

_MEGA = 10**6


@dataclass(frozen=True, slots=True)
class Pace:
    """Times that were measured of kernels (ps), on the machines of the ranks (none: all are on one).

    A call's first steps begin after `start_ps`. A message is there when the network has carried it, but not before the
    latency of a step (inside a machine, or between two) and its bytes at `bandwidth` (bytes/s of data, whole MB/s) have
    passed since it was begun; the thread block that sends it is busy with its bytes. Measured latencies contain the
    wire's, so the longer of both counts, not the sum. Between machines a thread block moves `between_bandwidth` (0: the
    same). Connections inside a machine have one buffer, those between two `buffers`: the sender's and the receiver's.
    """

    start_ps: int
    inside_ps: int
    between_ps: int
    bandwidth: int
    machine: tuple[int, ...] = ()
    buffers: int = 2
    between_bandwidth: int = 0

    def latency_ps(self, src: NDArray[np.int64], dst: NDArray[np.int64]) -> NDArray[np.int64]:
        """Of a step from each rank to each."""
        return np.where(self._inside(src, dst), self.inside_ps, self.between_ps)

    def buffers_of(self, src: NDArray[np.int64], dst: NDArray[np.int64]) -> NDArray[np.int64]:
        """How many buffers a connection from each rank to each has."""
        return np.where(self._inside(src, dst), 1, self.buffers)

    def _inside(self, src: NDArray[np.int64], dst: NDArray[np.int64]) -> NDArray[np.bool_]:
        if not self.machine:
            return np.ones(len(src), bool)
        machine = np.array(self.machine)
        same: NDArray[np.bool_] = machine[src] == machine[dst]
        return same

    def busy_ps(self, size: NDArray[np.int64], src: NDArray[np.int64], dst: NDArray[np.int64]) -> NDArray[np.int64]:
        """For so many bytes (..., messages) from each rank to each (messages)."""
        bandwidth = np.where(self._inside(src, dst), self.bandwidth, self.between_bandwidth or self.bandwidth)
        found: NDArray[np.int64] = -(-size * _MEGA // (bandwidth // _MEGA))
        return found
