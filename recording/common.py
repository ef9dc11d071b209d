"""The part of a job that all ranks still have, where caps dropped a part of some streams: from one place in all on."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hocket.recording.calls import CallColumns, GroupKey
from hocket.recording.operations import PEER_TO_PEER
from hocket.recording.parts.part import Part, PartSection, open_part
from hocket.recording.parts.writing import write_part
from hocket.recording.recording import Recording
from hocket.recording.work import Tell, each

__all__ = ["common_parts"]

Kept = NDArray[np.bool_]
Numbers = NDArray[np.int64]
_NEVER = np.iinfo(np.int64).max


def common_parts(parts: Sequence[Part], path_of: Callable[[int], Path], jobs: int, tell: Tell) -> list[Part]:
    """The parts from the first training step on that all of them have whole and, in each group, from the first
    collective on that all of its members have; written anew as `path_of` the rank. The same parts where no cap took
    anything. Where scripts have no steps, a group of which a cut member has nothing left leaves all of them.

    Where scripts have no steps, messages have no place in common: they are left as they are. Collectives that some rank
    has taken part in but does not tell of are left out of all.
    """
    if any(part.head.holes for part in parts):
        parts = _without_holes(parts, path_of, jobs, tell)
    if not any(part.head.cut for part in parts):
        return list(parts)
    begin: int | None = max((part.head.first_step + part.head.cut for part in parts if len(part)), default=0)
    if begin is not None and any(len(part) and part.head.last_step < begin for part in parts):
        begin = None
    cuts = [_Cut(part.section, begin, {}, path_of(part.rank)) for part in parts]
    found = list(each(_first_of_groups, cuts, jobs, tell, "begins compared"))
    firsts: dict[GroupKey, int] = {}
    for key, first in (item for own in found for item in own.items()):
        firsts[key] = max(firsts.get(key, 0), first)
    if begin is None:  # else a cut member has all from that step on: what it lacks then, it never called
        for part, own in zip(parts, found, strict=True):
            lacked = [key for key in firsts if part.head.cut and part.rank in key[0] and key not in own]
            firsts |= dict.fromkeys(lacked, _NEVER)
    for _ in each(_write, [replace(cut, firsts=firsts) for cut in cuts], jobs, tell, "begins cut"):
        pass
    return [open_part(PartSection.whole(cut.path)) for cut in cuts]


@dataclass(frozen=True)
class _Cut:
    """A part that is to begin with a training step, if there is one, and with the `firsts` of its groups."""

    section: PartSection
    step: int | None
    firsts: dict[GroupKey, int]
    path: Path

    def load(self) -> Recording:
        """From the step on."""
        recording = open_part(self.section).load()
        return recording if self.step is None else _only(recording, recording.columns.step >= self.step)


@dataclass(frozen=True)
class _Holed:
    """A part that is to lose the collectives of these numbers in their groups."""

    section: PartSection
    numbers: dict[GroupKey, Numbers]
    path: Path


def _without_holes(parts: Sequence[Part], path_of: Callable[[int], Path], jobs: int, tell: Tell) -> list[Part]:
    missing: dict[GroupKey, list[Numbers]] = {}
    for key, first, count in (hole for part in parts for hole in part.head.holes):
        missing.setdefault(key, []).append(np.arange(first, first + count))
    numbers = {key: np.unique(np.concatenate(found)) for key, found in missing.items()}
    holed = [_Holed(part.section, numbers, path_of(part.rank)) for part in parts]
    for _ in each(_leave_out, holed, jobs, tell, "holes left out"):
        pass
    return [open_part(PartSection.whole(one.path)) for one in holed]


def _leave_out(holed: _Holed) -> None:
    part = open_part(holed.section)
    recording = part.load()
    kept = np.ones(len(recording), bool)
    for number, shape in enumerate(recording.shapes):
        if shape.kind not in PEER_TO_PEER and shape.group.key in holed.numbers:
            own = recording.columns.shape == number
            kept &= ~(own & np.isin(recording.columns.sequence, holed.numbers[shape.group.key]))
    write_part(_only(recording, kept), part.head.sources, holed.path)


def _first_of_groups(cut: _Cut) -> dict[GroupKey, int]:
    """The number of the first collective in each group."""
    recording = cut.load()
    found: dict[GroupKey, int] = {}
    columns = recording.columns
    for number, shape in enumerate(recording.shapes):
        if shape.kind not in PEER_TO_PEER and (own := columns.sequence[columns.shape == number]).size:
            key = shape.group.key
            found[key] = min(found.get(key, int(own.min())), int(own.min()))
    return found


def _write(cut: _Cut) -> None:
    recording, firsts = cut.load(), cut.firsts
    first = recording.by_shape(lambda shape: -1 if shape.kind in PEER_TO_PEER else firsts.get(shape.group.key, 0))
    kept = _only(recording, (first < 0) | (recording.columns.sequence >= first))
    write_part(kept, open_part(cut.section).head.sources, cut.path)


def _only(recording: Recording, kept: Kept) -> Recording:
    """Some of the calls."""
    if kept.all():
        return recording
    columns = {field.name: getattr(recording.columns, field.name)[kept] for field in fields(CallColumns)}
    return replace(recording, columns=CallColumns(**columns), uncommon=recording.uncommon + int((~kept).sum()))
