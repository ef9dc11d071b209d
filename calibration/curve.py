"""Measurements of one collective on the same ranks, over sizes."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from hocket.calibration.measurement import Measurement

__all__ = ["MeasuredCurve", "curves_of"]


@dataclass(frozen=True, eq=False)
class MeasuredCurve:
    """One (kind, ranks, nodes): `size_bytes` (int64, ascending; a size has a row a measurement of it) and `time_us`
    (float64); `place` says where each row stands; `ran` is the algorithm and protocol by which NCCL ran a size, where
    that was told."""

    kind: str
    ranks: int
    nodes: int
    size_bytes: NDArray[np.int64]
    time_us: NDArray[np.float64]
    place: tuple[str, ...]
    ran: Mapping[int, tuple[str, str]] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """`all_reduce on 16 ranks of 2 nodes`, for people."""
        return f"{self.kind} on {self.ranks} ranks of {self.nodes} node{'s' * (self.nodes > 1)}"

    @property
    def sizes(self) -> NDArray[np.int64]:
        """The different sizes, ascending."""
        return np.unique(self.size_bytes)

    def at(self, chosen: NDArray[np.bool_]) -> "MeasuredCurve":
        """The rows that are chosen."""
        place = tuple(place for place, kept in zip(self.place, chosen.tolist(), strict=True) if kept)
        return replace(self, size_bytes=self.size_bytes[chosen], time_us=self.time_us[chosen], place=place)


def curves_of(measurements: Iterable[Measurement]) -> tuple[MeasuredCurve, ...]:
    """The curves of measurements of one call at a time, by kind, nodes and ranks; in and out of place together."""
    rows: dict[tuple[str, int, int], list[Measurement]] = {}
    for each in measurements:
        if not each.stream:
            rows.setdefault((each.kind, each.nodes, each.ranks), []).append(each)
    curves = []
    for (kind, nodes, ranks), found in sorted(rows.items()):
        found.sort(key=lambda each: each.size_bytes)
        size = np.array([each.size_bytes for each in found], np.int64)
        time = np.array([each.time_ps for each in found], np.float64) / 1e6
        ran = {each.size_bytes: (each.choice.algorithm, each.choice.protocol) for each in found if each.choice}
        curves.append(MeasuredCurve(kind, ranks, nodes, size, time, tuple(each.place for each in found), ran))
    return tuple(curves)
