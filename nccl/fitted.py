"""What a calibration tells of NCCL on a cluster: the times of what it ran there, and the constants of its model.

The time of what NCCL runs by one algorithm and protocol is that of as few terms of its structure as tell it:

    t(S) = expected x E(S) + latency + channel x C(S) + ramp x sqrt(C(S)) + chunk x C(S) / K(S) + byte x S

where E is what NCCL expects, C the bytes that a channel carries, K those that it moves at a time (NCCL changes channels
and chunks with the size by known rules, `hocket.nccl.kernels`), and the ramp is the filling of a pipeline whose chunks
grow. `hocket.calibration` fits them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hocket.base.collectives import MESSAGE, kind_called
from hocket.nccl.constants import Constants
from hocket.nccl.kernels import Kernels, collective_kernels, message_kernels
from hocket.nccl.measured_on import MeasuredOn
from hocket.nccl.model import NcclModel
from hocket.nccl.names import ALGORITHMS, COLLECTIVES, PROTOCOLS
from hocket.nccl.releases import Release

__all__ = [
    "FREE",
    "NCCL_NAMES",
    "TERMS",
    "Name",
    "NcclCalibration",
    "NcclCurveFit",
    "SegmentFit",
    "Structure",
    "columns_at",
    "columns_of",
    "messages_of",
]

#: The name of the fit without NCCL's structure.
FREE = "free"

#: What NCCL calls the kinds whose algorithm it chooses.
NCCL_NAMES: dict[str, str] = {kind_called(name) or name: name for name in COLLECTIVES}
TERMS = ("expected", "latency", "channel", "ramp", "chunk", "byte")

#: An algorithm and a protocol.
Name = tuple[str, str]

_Floats = NDArray[np.float64]
_BEYOND = 2  # times the sizes measured: farther the terms of a segment say nothing


@dataclass(frozen=True, eq=False)
class SegmentFit:
    """`weights` of the TERMS (us of each, `expected` a factor); `smallest` and `largest` bytes that were measured."""

    weights: _Floats
    smallest: int
    largest: int

    def time_us(self, columns: _Floats) -> _Floats:
        """Of the rows of `columns_of`."""
        time: _Floats = columns @ self.weights
        return time


@dataclass(frozen=True, eq=False)
class Structure:
    """What NCCL runs for calls of a kind of `sizes` (ascending): `names`, algorithms and protocols; `used`, which of
    them at each size; `columns` of each at all sizes (names x sizes x TERMS)."""

    sizes: NDArray[np.int64]
    names: tuple[Name, ...]
    used: NDArray[np.int64]
    columns: _Floats


@dataclass(frozen=True, eq=False)
class NcclCurveFit:
    """The segments of a curve by algorithm and protocol. Where NCCL runs what was not measured, it takes `factor` times
    what NCCL expects, as the curve does in the median (0: NCCL expects nothing). `noise`: the robust standard deviation
    of sizes from the fit without them (logarithms)."""

    kind: str
    ranks: int
    nodes: int
    segments: Mapping[Name, SegmentFit]
    factor: float
    noise: float = 0.0

    def time_us(self, structure: Structure) -> _Floats:
        """Of each size of a structure, by what NCCL runs there; 0 where nothing tells it."""
        times = np.empty(len(structure.sizes))
        for at, name in enumerate(structure.names):
            rows = structure.used == at
            columns = structure.columns[at, rows]
            fit = self.segments.get(name)
            times[rows] = self.factor * columns[:, 0] if fit is None else fit.time_us(columns)
        return times


@dataclass(frozen=True, eq=False)
class NcclCalibration:
    """Fits of the curves whose structure is known; `release`, whose structure it is; `losses` of what was left out, by
    release and FREE, the least of which is `best`; `constants` with which NCCL's own model comes nearest."""

    release: Release
    fits: tuple[NcclCurveFit, ...]
    losses: Mapping[str, float]
    constants: Constants
    measured_on: MeasuredOn | None = None

    @property
    def best(self) -> str:
        return min(self.losses, key=lambda name: self.losses[name])

    def fit(self, kind: str, ranks: int, nodes: int) -> NcclCurveFit | None:
        """None where it was not measured."""
        same = (each for each in self.fits if (each.kind, each.ranks, each.nodes) == (kind, ranks, nodes))
        return next(same, None)

    def noise(self, kind: str, ranks: int, nodes: int) -> float:
        """That of a curve; 0 where it was not measured."""
        fit = self.fit(kind, ranks, nodes)
        return 0.0 if fit is None else fit.noise

    def times_us(self, model: NcclModel, collective: str, sizes: Sequence[int]) -> NDArray[np.float64]:
        """Of a collective (NCCL's name) of the model's ranks at sizes in bytes (NCCL's: the whole buffer), by algorithm
        and protocol (7 x 3 x sizes); nan: not measured, nor within one doubling of what was."""
        times = np.full((len(ALGORITHMS), len(PROTOCOLS), len(sizes)), np.nan)
        kind = kind_called(collective) or collective
        fit = self.fit(kind, model.ranks, model.nodes)
        for name, segment in fit.segments.items() if fit else ():
            asked = np.array(sizes, np.int64)
            told = (asked >= segment.smallest // _BEYOND) & (asked <= segment.largest * _BEYOND)
            time = segment.time_us(columns_at(model, kind, name, asked))
            times[ALGORITHMS.index(name[0]), PROTOCOLS.index(name[1])] = np.where(told, time, np.nan)
        return times


def columns_of(kernels: Kernels, sizes: NDArray[np.int64]) -> _Floats:
    """The TERMS at each size (sizes x terms); 0 where NCCL expects nothing, or does not change its chunks."""
    share = sizes / kernels.channels
    columns = np.zeros((len(sizes), len(TERMS)))
    columns[:, 0] = kernels.expected_us
    columns[:, 1] = 1.0
    columns[:, 2] = share
    columns[:, 3] = np.sqrt(share)
    np.divide(share, kernels.chunk_bytes, out=columns[:, 4], where=kernels.chunk_bytes > 0)
    columns[:, 5] = sizes
    return columns


def columns_at(model: NcclModel, kind: str, name: Name, sizes: NDArray[np.int64]) -> _Floats:
    """Of calls by one algorithm and protocol (sizes x TERMS)."""
    if kind in NCCL_NAMES:
        return columns_of(collective_kernels(model, NCCL_NAMES[kind], *name, sizes), sizes)
    messages = messages_of(kind, model.ranks, sizes)
    return columns_of(message_kernels(model.ranks, model.channels[0], name[1], messages), messages)


def messages_of(kind: str, ranks: int, sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Bytes of one message of a call."""
    return sizes if kind == MESSAGE else np.maximum(sizes // ranks, 1)
