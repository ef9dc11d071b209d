"""What is done with a recording: merged into traces; and the hook compiled that makes it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from hocket.api import exported
from hocket.api.collect.request import CollectedMerge, CollectionRequest, HookBuild
from hocket.api.progress import Progress
from hocket.api.request import Request
from hocket.api.result import Report, Result
from hocket.base.cache import cache_folder
from hocket.base.errors import ExitCode, RequestError
from hocket.base.rank_names import name_ranks
from hocket.chakra.job_folders import find_job
from hocket.plugin.installed import check_torch
from hocket.recording.merge import merge as merge_streams
from hocket.recording.pinning import window_folder
from hocket.recording.strictness import count_failures
from hocket.recording.summary import RecordingSummary
from hocket.recording.tables import render

__all__ = ["Collected", "build", "checked", "merge"]


@dataclass(eq=False, repr=False)
class Collected(Result):
    """Traces of a job in a folder: who said how much, and what is wrong; no `found` where the job's own first rank
    merged them. `exit_code` is the job's, or 1 where the check that was asked for failed: `warnings` say on what."""

    request: Request
    folder: Path
    found: RecordingSummary | None = None
    exit_code: int = 0
    warnings: Sequence[str] = ()

    def headline(self) -> str:
        return f"traces in {self.folder}"

    def summary(self) -> str:
        return render(self.found).rstrip("\n") if self.found else ""

    def details(self) -> Mapping[str, Any]:
        return {"folder": str(self.folder), "recorded": asdict(self.found) if self.found else None}

    def info(self) -> Any:
        """`hocket.trace_info` of them."""
        return exported("trace_info")(self.folder)

    def simulate(self, topology: str, **options: Any) -> Any:
        """`hocket.simulate` of them on a topology."""
        return exported("simulate")(self.folder, topology, **options)


def merge(request: CollectedMerge, progress: Progress) -> Collected:
    kineto, profile = (None if path is None else Path(path) for path in (request.kineto, request.nccl_profile))
    job, *others = (find_job(folder).path for folder in (request.folder, *request.others))
    if others and request.output is None:
        raise RequestError("several folders: name one for their traces with -o")
    folder = window_folder(job, request.window) if request.window else job
    output = None if request.output is None else Path(request.output)
    how: dict[str, Any] = {"others": others, "output": output, "jobs": request.jobs, "tell": progress.count}
    found = merge_streams(job, kineto, profile, request.window, **how)
    absent = sorted(set(range(found.world)) - {clock.rank for clock in found.clocks})
    if absent:
        folders = " ".join(map(str, (job, *others)))
        progress.note(
            f"{name_ranks(absent)} left no stream here; where nodes have folders of their own, bring theirs:"
            f" hocket collect merge {folders} OTHER_DIR ... -o DIR"
        )
    return checked(Collected(request, output or folder, found))


def checked(collected: Collected) -> Collected:
    """The same, held against what its request calls strict."""
    request = collected.request
    assert isinstance(request, CollectedMerge | CollectionRequest)
    if not (request.strict or request.strict_stragglers) or collected.exit_code:
        return collected
    failures = count_failures(collected.folder, request.strict_stragglers)
    if not failures:
        return collected
    told = ", ".join(f"{count} x {name}" for name, count in failures.items())
    return replace(collected, exit_code=ExitCode.CHECK_FAILED, warnings=(f"strict: {told}",))


def build(request: HookBuild, progress: Progress) -> Report:
    check_torch()
    from hocket.plugin.torch.native.library import build_library

    progress.say(f"compiling into {cache_folder()}, unless it is there")
    return Report(request, [str(build_library())])
