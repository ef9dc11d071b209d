"""What is done with a recording: merged into traces; and the hook compiled that makes it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hocket.api import exported
from hocket.api.collect.request import CollectedMerge, HookBuild
from hocket.api.progress import Progress
from hocket.api.request import Request
from hocket.api.result import Report, Result
from hocket.base.cache import cache_folder
from hocket.plugin.installed import check_torch
from hocket.recording.merge import merge as merge_streams
from hocket.recording.summary import RecordingSummary
from hocket.recording.tables import render

__all__ = ["Collected", "build", "merge"]


@dataclass(eq=False, repr=False)
class Collected(Result):
    """Traces of a job in a folder: who said how much, and what is wrong; no `found` where the job's own first rank
    merged them. `exit_code` is the job's."""

    request: Request
    folder: Path
    found: RecordingSummary | None = None
    exit_code: int = 0

    def headline(self) -> str:
        return f"traces in {self.folder}"

    def summary(self) -> str:
        return render(self.found).rstrip("\n") if self.found else ""

    def info(self) -> Any:
        """`hocket.trace_info` of them."""
        return exported("trace_info")(self.folder)

    def simulate(self, topology: str, **options: Any) -> Any:
        """`hocket.simulate` of them on a topology."""
        return exported("simulate")(self.folder, topology, **options)


def merge(request: CollectedMerge, progress: Progress) -> Collected:
    kineto, profile = (None if path is None else Path(path) for path in (request.kineto, request.nccl_profile))
    return Collected(request, Path(request.folder), merge_streams(request.folder, kineto, profile))


def build(request: HookBuild, progress: Progress) -> Report:
    check_torch()
    from hocket.plugin.torch.native.library import build_library

    progress.say(f"compiling into {cache_folder()}, unless it is there")
    return Report(request, [str(build_library())])
