"""Whether timelines are of one job, as far as they tell."""

from collections.abc import Callable, Mapping
from itertools import combinations, pairwise
from pathlib import Path

from hocket.base.errors import FormatError
from hocket.chakra.importers.pytorch.execution_trace import ExecutionTrace
from hocket.chakra.importers.pytorch.kineto import Kineto

__all__ = ["ONE_JOB", "require_one_job", "require_one_recording"]

ONE_JOB = "give the files of one job and one profile"
_CLOCKS_DIFFER = 10**9  # ns by which hosts' clocks may


def require_one_job(timelines: Mapping[int, tuple[Path, Kineto]]) -> None:
    """Raises FormatError, naming two files, where timelines by rank are of jobs of different sizes, backends or
    versions of NCCL, list other members of a process group that both are in, have no step in common, or were recorded
    at different times."""
    for said, told in _FACTS.items():
        seen: dict[object, Path] = {}
        for path, kineto in timelines.values():
            if (value := told(kineto)) is not None:
                seen.setdefault(value, path)
        if len(seen) > 1:
            (value, path), (other_value, other) = list(seen.items())[:2]
            raise _two_jobs(path, f"of a job {said.format(value)}", other, f"of one {said.format(other_value)}")
    _require_same_groups(timelines)
    _require_same_time(timelines)


def require_one_recording(host: Path, trace: ExecutionTrace, timeline: Path, kineto: Kineto) -> None:
    """Raises FormatError, naming both files of a rank, where both give their host's calls record function ids and no
    call of the one has id and name of one of the other: ids count from the start of a process, so that two recordings
    of a job share them by chance, but not what they stand for. A file that was cut off may lack what it shared."""
    told = {(event.function, event.name) for event in trace.events if event.function}
    timed = {(event.function, event.name) for event in kineto.events if event.function}
    is_cut = trace.is_cut or kineto.is_cut
    if told and timed and not told & timed and not is_cut:
        raise _two_jobs(host, "an execution trace", timeline, "the profile of another recording: they share no call")


_FACTS: Mapping[str, Callable[[Kineto], object]] = {
    "of {} ranks": lambda kineto: kineto.world,
    "with the backend {}": lambda kineto: kineto.backend or None,
    "with NCCL {}": lambda kineto: kineto.nccl_version or None,
}


def _require_same_groups(timelines: Mapping[int, tuple[Path, Kineto]]) -> None:
    """A group is listed by all of its members."""
    listed = {rank: {group.ranks for group in kineto.listed if group.ranks} for rank, (_, kineto) in timelines.items()}
    for rank, groups in listed.items():
        for members in sorted(groups):
            for other in members:
                if listed.get(other) and members not in listed[other]:
                    said = f"in a process group of ranks {list(members)}"
                    raise _two_jobs(timelines[rank][0], said, timelines[other][0], f"of rank {other}, not in it")


def _require_same_time(timelines: Mapping[int, tuple[Path, Kineto]]) -> None:
    steps = {path: {number for _, number in kineto.steps} for path, kineto in timelines.values() if kineto.steps}
    for (path, own), (other, others) in combinations(steps.items(), 2):
        if not own & others:
            raise _two_jobs(path, f"of {_shown(own)}", other, f"of {_shown(others)}")
    spans = sorted((*_span(kineto), path) for path, kineto in timelines.values() if kineto.device or kineto.operations)
    for (_, end, path), (begin, _, other) in pairwise(spans):
        if begin > end + _CLOCKS_DIFFER:
            raise _two_jobs(path, "of an earlier time", other, f"of {(begin - end) / 1e9:.0f} s after its end")


def _shown(steps: set[int]) -> str:
    return f"steps {min(steps)} to {max(steps)}"


def _span(kineto: Kineto) -> tuple[int, int]:
    """The ns since the epoch in which things happened."""
    events = kineto.device or kineto.operations
    return kineto.base + min(event.start for event in events), kineto.base + max(event.end for event in events)


def _two_jobs(path: Path, said: str, other: Path, other_said: str) -> FormatError:
    return FormatError(f"{path}: {said}, but {other} is {other_said}; {ONE_JOB}")
