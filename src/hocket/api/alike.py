"""What public tables of nodes like these say of NCCL's times, beside its model's (docs/transfer.md)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hocket.base.late_imports import late_imports
from hocket.base.units import format_bytes, format_time
from hocket.nccl import NcclModel

with late_imports(__name__):
    from hocket.calibration.transfer import features_of, place_of, read_prior
    from hocket.nccl.fitted import NCCL_NAMES

__all__ = ["MeasuredAlike", "measured_alike"]

_PS = 1e6  # of a us


@dataclass(frozen=True, eq=False)
class MeasuredAlike:
    """Of `sizes` (bytes): `time_us`, and what holds 90 % of it; `situation`: how near the nodes that were measured are.
    `known`: whether any are, else the times are NCCL's own."""

    situation: str
    known: bool
    sizes: Sequence[int]
    time_us: NDArray[np.float64]
    least_us: NDArray[np.float64]
    most_us: NDArray[np.float64]

    def time(self, at: int) -> str:
        """`31.2 us, 90 % within 24.1 us to 40.4 us`."""
        time, least, most = (format_time(round(us[at] * _PS, -4)) for us in (self.time_us, self.least_us, self.most_us))
        return f"{time}, 90 % within {least} to {most}"

    def sentence(self) -> str:
        """Of the first size."""
        if not self.known:
            return (
                "no nodes like these were measured: the time is NCCL's own expectation; measured are 90 % within"
                f" {format_time(round(self.least_us[0] * _PS, -4))} to {format_time(round(self.most_us[0] * _PS, -4))}"
            )
        return f"by public measurements, nodes {self.situation}: {self.time(0)} (docs/transfer.md)"

    def lines(self) -> Iterator[str]:
        """Of all sizes."""
        if not self.known:
            yield "no nodes like these were measured: the times are NCCL's own expectation (docs/transfer.md)"
            return
        yield f"by public measurements, nodes {self.situation} (docs/transfer.md)"
        yield from (f"{format_bytes(size):>10} {self.time(at)}" for at, size in enumerate(self.sizes))


def measured_alike(model: NcclModel, kind: str, sizes: Sequence[int]) -> MeasuredAlike | None:
    """None of what NCCL has no tuner for, of nodes of several kinds, and where a calibration of their own is known."""
    if kind not in NCCL_NAMES or model.measured is not None or len(model.kinds) > 1 or min(sizes) < 1:
        return None
    features = features_of(place_of("", model, kind), model, np.array(sizes, np.int64))
    if not (features.latency_us > 0).all():
        return None
    prior = read_prior()
    predicted = prior.predict(features)
    situation, known = prior.situation(features.place), prior.knows(features.place)
    return MeasuredAlike(situation, known, sizes, predicted.time_us, *predicted.within)
