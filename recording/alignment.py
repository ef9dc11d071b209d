"""Brings the ranks' times onto one clock, rank 0's where it was recorded, and says how well each is known."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from hocket.base.rank_names import name_ranks
from hocket.recording.parts.part import Part
from hocket.recording.waits import NONE

__all__ = ["SAME", "Clock", "Shift", "align", "describe_clocks"]

Numbers = NDArray[np.int64]

_A_STEP_NS = 10**9  # below, clocks are slewed or differ in pace


@dataclass(frozen=True)
class Clock:
    """How a rank's times came onto rank 0's clock.

    `source` is "same" (both on one machine), "ping-pongs" or "wall clocks". `offset_ns` was added at the rank's first
    measurement, and `drift_ppb` ns more for each second after it. `uncertainty_ns` is the most by which the offset was
    wrong where it was measured, half of a round trip; None for wall clocks, of which it is not known. With one
    measurement only (a rank that died) `drift_ppb` is None: the longer after it, the less is known. Its machine's wall
    clock was set by `stepped_ns` meanwhile.
    """

    rank: int
    source: str
    offset_ns: int
    drift_ppb: int | None
    uncertainty_ns: int | None
    stepped_ns: int = 0


@dataclass(frozen=True)
class Shift:
    """What is added to a rank's times: `offset` at time `since`, `gain` more over the next `span` ns; a span of 0: no
    drift."""

    offset: int
    since: int = 0
    span: int = 0
    gain: int = 0

    def __call__(self, times: Numbers) -> Numbers:
        """The times on the job's clock."""
        if self.span == 0:
            return times + self.offset if self.offset else times
        return times + self.offset + np.rint((times - self.since) / self.span * self.gain).astype(np.int64)

    def of_spans(self, ends: Numbers, lengths: Numbers) -> Numbers:
        """How long spans of time that end there last on the job's clock; NONE stays what it is."""
        if self.span == 0:
            return lengths
        known = lengths != NONE
        return np.where(known, self(ends) - self(ends - np.where(known, lengths, 0)), NONE)


SAME = Shift(0)


def align(parts: Sequence[Part]) -> tuple[list[Shift], list[Clock]]:
    """What brings each rank's times onto one clock, and how it was known.

    Ranks of one boot share one monotonic clock; others are shifted by their offsets to rank 0's, interpolated between
    the start and the end of the job; without any, by the difference of the machines' wall clocks.
    """
    reference = parts[0]
    one_machine = len({part.boot for part in parts}) == 1
    shifts, clocks = [], []
    for part in parts:
        # Without rank 0's stream its clock is still the one that offsets were measured against.
        if one_machine or (part.boot == reference.boot and (reference.rank == 0 or not part.offsets)):
            shifts.append(SAME)
            clocks.append(Clock(part.rank, "same", 0, 0, 0))
        elif part.offsets:
            shifts.append(_interpolated(part))
            clocks.append(_measured(part))
        else:
            difference = _wall_offset(part) - _wall_offset(reference)
            shifts.append(Shift(difference))
            clocks.append(Clock(part.rank, "wall clocks", difference, None, None))
    stepped = [part.head.stepped_ns for part in parts]
    return shifts, [replace(clock, stepped_ns=by) for clock, by in zip(clocks, stepped, strict=True)]


def describe_clocks(clocks: Sequence[Clock]) -> str:
    """How the times came together, for people."""
    return "; ".join([_sources(clocks), *_steps(clocks)])


def _steps(clocks: Sequence[Clock]) -> Iterator[str]:
    stepped = {clock.rank: clock.stepped_ns for clock in clocks if abs(clock.stepped_ns) >= _A_STEP_NS}
    if stepped:
        most = max(stepped.values(), key=abs)
        which = f"{'back' if most < 0 else 'forward'} by {abs(most) / 10**9:.1f} s"
        yield f"the wall clock of {name_ranks(stepped)} was set {which} meanwhile, by which no time here goes"


def _sources(clocks: Sequence[Clock]) -> str:
    if all(clock.source == "same" for clock in clocks):
        return "one clock (all ranks on one machine)"
    measured = [clock.uncertainty_ns for clock in clocks if clock.uncertainty_ns]
    parts = [f"ping-pongs, wrong by at most {max(measured) / 1000:.1f} us"] if measured else []
    once = [clock.rank for clock in clocks if clock.source == "ping-pongs" and clock.drift_ppb is None]
    parts += [f"measured only once, so that drift is not known, on ranks {once}"] if once else []
    unmeasured = [clock.rank for clock in clocks if clock.source == "wall clocks"]
    return "; ".join(parts + ([f"wall clocks only for ranks {unmeasured}"] if unmeasured else []))


def _wall_offset(part: Part) -> int:
    return part.meta.epoch_ns - part.meta.perf_ns


def _measured(part: Part) -> Clock:
    (t0, first, _), (t1, last, _) = part.offsets[0], part.offsets[-1]
    drift = None if t0 == t1 else (last - first) * 10**9 // (t1 - t0)
    uncertainty = max(round_trip for _, _, round_trip in part.offsets) // 2
    return Clock(part.rank, "ping-pongs", first, drift, uncertainty)


def _interpolated(part: Part) -> Shift:
    (t0, first, _), (t1, last, _) = part.offsets[0], part.offsets[-1]
    return Shift(first, t0, t1 - t0, last - first)
