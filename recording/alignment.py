"""Brings the ranks' times onto one clock, rank 0's where it was recorded, and says how well each is known."""

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from hocket.recording.recording import Recording

__all__ = ["Clock", "align", "describe_clocks"]

Numbers = NDArray[np.int64]


@dataclass(frozen=True)
class Clock:
    """How a rank's times came onto rank 0's clock.

    `source` is "same" (both on one machine), "ping-pongs" or "wall clocks". `offset_ns` was added at the rank's first
    measurement, and `drift_ppb` ns more for each second after it. `uncertainty_ns` is the most by which the offset was
    wrong where it was measured, half of a round trip; None for wall clocks, of which it is not known. With one
    measurement only (a rank that died) `drift_ppb` is None: the longer after it, the less is known.
    """

    rank: int
    source: str
    offset_ns: int
    drift_ppb: int | None
    uncertainty_ns: int | None


def align(recordings: Sequence[Recording]) -> tuple[list[Recording], list[Clock]]:
    """The recordings with all times on one clock, and of each how.

    Ranks of one boot share one monotonic clock; others are shifted by their offsets to rank 0's, interpolated between
    the start and the end of the job; without any, by the difference of the machines' wall clocks.
    """
    reference = recordings[0]
    one_machine = len({recording.boot for recording in recordings}) == 1
    aligned, clocks = [], []
    for recording in recordings:
        # Without rank 0's stream its clock is still the one that offsets were measured against.
        if one_machine or (recording.boot == reference.boot and (reference.rank == 0 or not recording.offsets)):
            aligned.append(recording)
            clocks.append(Clock(recording.rank, "same", 0, 0, 0))
        elif recording.offsets:
            aligned.append(recording.shifted(_interpolate(recording)))
            clocks.append(_measured(recording))
        else:
            difference = _wall_offset(recording) - _wall_offset(reference)
            aligned.append(recording.shifted(partial(operator.add, difference)))
            clocks.append(Clock(recording.rank, "wall clocks", difference, None, None))
    return aligned, clocks


def describe_clocks(clocks: Sequence[Clock]) -> str:
    """How the times came together, for people."""
    if all(clock.source == "same" for clock in clocks):
        return "one clock (all ranks on one machine)"
    measured = [clock.uncertainty_ns for clock in clocks if clock.uncertainty_ns]
    parts = [f"ping-pongs, wrong by at most {max(measured) / 1000:.1f} us"] if measured else []
    once = [clock.rank for clock in clocks if clock.source == "ping-pongs" and clock.drift_ppb is None]
    parts += [f"measured only once, so that drift is not known, on ranks {once}"] if once else []
    unmeasured = [clock.rank for clock in clocks if clock.source == "wall clocks"]
    return "; ".join(parts + ([f"wall clocks only for ranks {unmeasured}"] if unmeasured else []))


def _wall_offset(recording: Recording) -> int:
    return recording.meta.epoch_ns - recording.meta.perf_ns


def _measured(recording: Recording) -> Clock:
    (t0, first, _), (t1, last, _) = recording.offsets[0], recording.offsets[-1]
    drift = None if t0 == t1 else (last - first) * 10**9 // (t1 - t0)
    uncertainty = max(round_trip for _, _, round_trip in recording.offsets) // 2
    return Clock(recording.rank, "ping-pongs", first, drift, uncertainty)


def _interpolate(recording: Recording) -> Callable[[Numbers], Numbers]:
    (t0, first, _), (t1, last, _) = recording.offsets[0], recording.offsets[-1]
    if t0 == t1:
        return lambda t: t + first
    return lambda t: t + first + np.rint((t - t0) / (t1 - t0) * (last - first)).astype(np.int64)
