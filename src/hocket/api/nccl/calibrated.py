"""What a calibration adds to NCCL's choices: how long they take, and which of what was measured is quicker."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from hocket.base.units import format_bytes
from hocket.calibration import NcclCalibration
from hocket.nccl import ALGORITHMS, PROTOCOLS, Choices, NcclModel

__all__ = ["Calibrated", "calibrated", "described"]


@dataclass(frozen=True, eq=False)
class Calibrated:
    """Beside the rows of `Choices`: us of NCCL's choice, and of the quickest that was measured (nan: not measured)."""

    time_us: NDArray[np.float64]
    algorithm: NDArray[np.int64]
    protocol: NDArray[np.int64]
    best_us: NDArray[np.float64]


def calibrated(calibration: NcclCalibration, model: NcclModel, choices: Choices) -> Calibrated | None:
    """None where the collective was not measured on as many ranks and nodes."""
    times = calibration.times_us(model, choices.collective, choices.bytes.tolist())
    if np.isnan(times).all():
        return None
    at = np.arange(len(choices.bytes))
    flat = times.reshape(-1, len(at))
    best = np.where(np.isnan(flat), np.inf, flat).argmin(axis=0)
    algorithm, protocol = np.divmod(best, times.shape[1])
    return Calibrated(times[choices.algorithm, choices.protocol, at], algorithm, protocol, flat[best, at])


def described(choices: Choices, found: Calibrated | None) -> Iterator[str]:
    """The times of NCCL's choices, and where something else that was measured is quicker."""
    if found is None:
        yield f"  {choices.collective} was not measured on so many ranks"
        return
    better = found.best_us < found.time_us * (1 - 1e-9)  # never where either is not known
    key = np.where(better, found.algorithm * len(PROTOCOLS) + found.protocol, -1)
    own = (choices.algorithm * len(PROTOCOLS) + choices.protocol) * 2 + np.isnan(found.time_us)
    ends = np.flatnonzero((np.diff(key) != 0) | (np.diff(own) != 0)) + 1
    for first, end in pairwise([0, *ends.tolist(), len(key)]):
        last = end - 1
        span = f"{format_bytes(int(choices.bytes[first]))} .. {format_bytes(int(choices.bytes[last]))}"
        head = f"  calibrated  {span:<20} {choices.name(first):<16}"
        if np.isnan(found.time_us[first]):
            yield f"{head} not measured"
            continue
        line = f"{head} {found.time_us[first]:>9.2f} .. {found.time_us[last]:.2f} us"
        if better[first]:
            name = f"{ALGORITHMS[found.algorithm[first]]}/{PROTOCOLS[found.protocol[first]]}"
            gain = (found.time_us[first:end] / found.best_us[first:end]).max()
            line += (
                f"; {name} {found.best_us[first]:.2f} .. {found.best_us[last]:.2f} us, up to {gain:.2f} times quicker"
            )
        yield line
