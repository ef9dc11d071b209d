"""What a runtime's kernels take beside what the network takes."""

from dataclasses import dataclass
from fractions import Fraction

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
    wire's, so the longer of both counts, not the sum. A step's latency is that of a message of `covered` bytes, what
    the threads of a block pass on in one go.

    Between machines a thread block moves `between_bandwidth` (0: the same). Connections inside a machine have one
    buffer, those between two `buffers`: the sender's and the receiver's. Every byte inside a machine is `inside_wire`
    on its links, of whose bandwidth kernels reach no more.
    """

    start_ps: int
    inside_ps: int
    between_ps: int
    bandwidth: int
    machine: tuple[int, ...] = ()
    buffers: int = 2
    between_bandwidth: int = 0
    inside_wire: Fraction = Fraction(1)
    covered: int = 0

    def latency_ps(self, size: NDArray[np.int64], src: NDArray[np.int64], dst: NDArray[np.int64]) -> NDArray[np.int64]:
        """What a step takes beside its bytes, of messages of so many bytes (..., messages) from each rank to each."""
        step = np.where(self._inside(src, dst), self.inside_ps, self.between_ps)
        return np.maximum(step - self.busy_ps(np.minimum(size, self.covered), src, dst), 0)

    def buffers_of(self, src: NDArray[np.int64], dst: NDArray[np.int64]) -> NDArray[np.int64]:
        """How many buffers a connection from each rank to each has."""
        return np.where(self._inside(src, dst), 1, self.buffers)

    def wire_bytes(self, size: NDArray[np.int64], src: NDArray[np.int64], dst: NDArray[np.int64]) -> NDArray[np.int64]:
        """On links, for so many bytes (..., messages) from each rank to each (messages)."""
        more = self.inside_wire
        return np.where(self._inside(src, dst), -(-size * more.numerator // more.denominator), size)

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
