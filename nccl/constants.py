"""What NCCL's model assumes of hardware, which a tuner plugin (v5 and later) may write over when it starts."""

from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from hocket._core.nccl import default_constants

__all__ = ["Constants"]

_SHAPES = ((7, 3), (3, 7, 3), (4, 3), (4, 3), (4, 3), (4, 3), (4, 3))


@dataclass(frozen=True, eq=False)
class Constants:
    """NCCL's `ncclTunerConstants_v5_t`, all float64. Latencies in us by algorithm (7) and protocol (3), those of a step
    also by hardware (NVLink, PCI, network); bandwidths in GB/s by GPU (Volta, Ampere, Hopper, Blackwell) and machines
    (1, 2, more): of LL of all channels (on several machines by CPU: AMD's is Ampere's row, any other's Volta's), of
    the others of one channel."""

    base_latency: NDArray[np.float64]
    step_latency: NDArray[np.float64]
    most_ll: NDArray[np.float64]
    most_ring_ll128: NDArray[np.float64]
    most_tree_ll128: NDArray[np.float64]
    most_tree: NDArray[np.float64]
    most_nvls_tree: NDArray[np.float64]

    @classmethod
    def of_nccl(cls) -> "Constants":
        """Those of NCCL 2.30.7."""
        return cls.from_flat(default_constants())

    @classmethod
    def from_flat(cls, numbers: NDArray[np.float64]) -> "Constants":
        """The 144 of `flat`."""
        ends = np.cumsum([np.prod(shape) for shape in _SHAPES])
        parts = np.split(numbers, ends[:-1])
        return cls(*(part.reshape(shape) for part, shape in zip(parts, _SHAPES, strict=True)))

    def flat(self) -> NDArray[np.float64]:
        """All 144, in NCCL's order."""
        return np.concatenate([np.ravel(getattr(self, field.name)) for field in fields(self)]).astype(np.float64)
