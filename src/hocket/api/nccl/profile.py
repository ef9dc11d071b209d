"""What the profiler plugin recorded of a job."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from hocket.api.nccl.request import NcclProfileReading
from hocket.api.progress import Progress
from hocket.api.result import Report
from hocket.chakra.importers.nccl.calls import unfinished
from hocket.chakra.importers.nccl.profile import (
    COLLECTIVE,
    POINT_TO_POINT,
    NcclProfile,
    profile_files,
    read_profile,
)
from hocket.recording.nccl.calls import CallsAlike, calls_alike

__all__ = ["ProfiledCalls", "perform"]

_HEADS = "size", "count", "type", "function", "algo", "proto", "chan", "ranks", "calls", "timed", "min", "avg"
_WIDTHS = 12, 12, -14, -14, -14, -7, 4, 5, 9, 9, 10, 10, 9, 9


@dataclass(eq=False, repr=False)
class ProfiledCalls(Report):
    """The calls of a job, those alike as one row."""

    calls: tuple[CallsAlike, ...] = ()

    def details(self) -> Mapping[str, Any]:
        rates = ("size_bytes", "algbw", "busbw")
        return {"calls": [asdict(row) | {name: getattr(row, name) for name in rates} for row in self.calls]}

    def headline(self) -> str:
        return f"{sum(row.calls for row in self.calls)} calls of {len(self.calls)} sorts"


def perform(request: NcclProfileReading, progress: Progress) -> ProfiledCalls:
    profiles = [read_profile(file) for file in profile_files(Path(request.path))]
    calls = tuple(calls_alike(profiles))
    units = _row("(B)", "(elements)", *[""] * 8, "(us)", "(us)", "(GB/s)", "(GB/s)")
    lines = [_row(*_HEADS, "algbw", "busbw"), units, *map(_calls, calls)]
    for profile in profiles:
        lines += _losses(profile)
    return ProfiledCalls(request, lines, calls=calls)


def _row(*cells: str) -> str:
    texts = (
        f"{cell:<{-width}}" if width < 0 else f"{cell:>{width}}" for cell, width in zip(cells, _WIDTHS, strict=True)
    )
    return " ".join(texts).rstrip()


def _calls(row: CallsAlike) -> str:
    def scaled(value: float | None, unit: float) -> str:
        return "-" if value is None else f"{value / unit:.2f}"

    return _row(
        *(str(row.size_bytes), str(row.count), row.datatype, row.function, row.algorithm or "-", row.protocol or "-"),
        *(str(number) for number in (row.channels, row.ranks, row.calls, row.timed)),
        *(scaled(time, 1e3) for time in (row.minimum_ns, row.average_ns)),
        *(scaled(bandwidth, 1e9) for bandwidth in (row.algbw, row.busbw)),
    )


def _losses(profile: NcclProfile) -> Iterator[str]:
    if profile.dropped:
        lost = sum(profile.dropped.values())
        yield f"{profile.path}: {lost} events got no record; HOCKET_NCCL_RECORDS sets how many have room at once"
    if profile.error:
        yield f"{profile.path}: ends early: {os.strerror(profile.error)}"
    hanging = unfinished(profile.select(COLLECTIVE | POINT_TO_POINT))
    if len(hanging):
        first = hanging[0]
        function = first["function"].decode(errors="replace")
        communicator = profile.communicators[int(first["communicator"])]
        yield (
            f"{profile.path}: {len(hanging)} calls were not finished, first {function} {int(first['sequence'])} of rank"
            f" {communicator.rank} on communicator {communicator.id:#x}"
        )
