"""Brings the ranks' times onto one clock, rank 0's where it was recorded."""

import operator
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from hocket.plugin.torch.recording import Recording

__all__ = ["align"]

Numbers = NDArray[np.int64]


def align(recordings: Sequence[Recording]) -> tuple[list[Recording], str]:
    """The recordings with all times on one clock, and how that was found, for people.

    Ranks of one boot share one monotonic clock; others are shifted by their offsets to rank 0's, interpolated between
    the start and the end of the job; without any, by the difference of the machines' wall clocks.
    """
    if len({recording.boot for recording in recordings}) == 1:
        return list(recordings), "one clock (all ranks on one machine)"
    reference = recordings[0]
    aligned, round_trips, unmeasured = [], [], []
    for recording in recordings:
        if recording.offsets:
            round_trips.append(min(round_trip for _, _, round_trip in recording.offsets))
            aligned.append(recording.shifted(_interpolate(recording)))
        elif recording.boot == reference.boot:
            aligned.append(recording)
        else:
            unmeasured.append(recording.rank)
            difference = _wall_offset(recording) - _wall_offset(reference)
            aligned.append(recording.shifted(partial(operator.add, difference)))
    how = [f"ping-pongs, wrong by at most {max(round_trips) / 2000:.1f} us"] if round_trips else []
    how += [f"wall clocks only for ranks {unmeasured}"] if unmeasured else []
    return aligned, "; ".join(how)


def _wall_offset(recording: Recording) -> int:
    return recording.meta.epoch_ns - recording.meta.perf_ns


def _interpolate(recording: Recording) -> Callable[[Numbers], Numbers]:
    (t0, first, _), (t1, last, _) = recording.offsets[0], recording.offsets[-1]
    if t0 == t1:
        return lambda t: t + first
    return lambda t: t + first + np.rint((t - t0) / (t1 - t0) * (last - first)).astype(np.int64)
