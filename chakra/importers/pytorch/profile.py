"""What the files of a job's ranks tell, and the ranks' traces made of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from hocket.chakra.importers.lanes import build_lanes
from hocket.chakra.importers.pytorch.assumed import assume_groups, assume_sizes, expert_issues
from hocket.chakra.importers.pytorch.calls import PROFILES, Untold, call_of, calls_of
from hocket.chakra.importers.pytorch.device_trace import device_trace, issues_of_kernels
from hocket.chakra.importers.pytorch.grouping import RankIssues, find_groups, share_sizes
from hocket.chakra.importers.pytorch.host import HostEvent, ProcessGroup
from hocket.chakra.importers.pytorch.host_trace import host_trace
from hocket.chakra.importers.pytorch.issues import issues_of
from hocket.chakra.importers.pytorch.kineto import Kineto
from hocket.chakra.importers.pytorch.waits import waits_of
from hocket.chakra.importers.pytorch.world import World
from hocket.chakra.importers.rank import Notes, RankTrace
from hocket.chakra.importers.told import NOTHING_TOLD, Told
from hocket.chakra.job_metadata import ASSUMED_WORLD
from hocket.chakra.losses import Loss
from hocket.chakra.trace import Trace

__all__ = ["RankProfile", "traces_of"]


@dataclass(frozen=True)
class RankProfile:
    """A rank's process groups, what its host did in order, and its timeline, None where no times are told; `untimed` is
    what the host did of which the timeline knows nothing, `source` the files, where they do not tell a group."""

    groups: Sequence[ProcessGroup]
    events: Sequence[HostEvent]
    kineto: Kineto | None
    untimed: Sequence[HostEvent] = ()
    source: Untold = PROFILES


def traces_of(
    profiles: Mapping[int, RankProfile], world: World, notes: Notes, told: Told = NOTHING_TOLD
) -> list[RankTrace]:
    """The traces of a job: a group whose ranks are not listed has all."""
    if not world.is_told:
        notes[f"how many ranks the job has: taken to be {world.ranks}; --world tells"] += 1
    issued = {rank: _issued(rank, profile, world, told, notes) for rank, profile in profiles.items()}
    find_groups(issued)
    if shared := share_sizes(issued):
        notes["sizes of collectives, which other ranks of their group recorded"] += shared
    return [
        RankTrace(
            rank,
            world.ranks,
            _of_world(world, _trace(rank, profile, issued[rank], world.ranks, told, notes)),
            dict(issued[rank].groups),
            {group.name: group.description for group in profile.groups if group.description},
        )
        for rank, profile in profiles.items()
    ]


def _of_world(world: World, trace: Trace) -> Trace:
    """The trace, whose metadata say so where nobody told how many ranks there are."""
    return trace if world.is_told else replace(trace, metadata={**trace.metadata, **ASSUMED_WORLD})


def _issued(rank: int, profile: RankProfile, world: World, told: Told, notes: Notes) -> RankIssues:
    groups = {group.name: group.members(world.ranks) for group in profile.groups if group.members(world.ranks)}
    untimed = issues_of(profile.untimed)
    for issue in untimed:
        issue.is_timed = False
    issues = [*issues_of(profile.events), *untimed]
    assume_sizes(issues, told, notes)
    if not groups and world.is_known:
        notes["process groups, which are not in the profile: all operations taken to be of all ranks"] += 1
        groups = {"0": world.everybody}
        for issue in issues:
            if issue.described.kind not in told.groups and issue.described.members in (0, world.ranks):
                issue.group = issue.group or "0"
    assume_groups(rank, world.ranks, issues, told, groups, notes)
    return RankIssues(issues, groups, profile.kineto.threads if profile.kineto else {})


def _trace(rank: int, profile: RankProfile, issued: RankIssues, world: int, told: Told, notes: Notes) -> Trace:
    issues, groups, kineto = issued.issues, issued.groups, profile.kineto
    if kineto is None:
        waits = waits_of(rank, profile.events, issues, {}, notes)
        calls = calls_of(rank, issues, groups, waits, notes, profile.source)
        return build_lanes(rank, calls, None, {"generator": "PyTorch ExecutionTraceObserver"})
    if kineto.device:
        of_kernel = issues_of_kernels(rank, kineto, issues, notes)
        of_kernel |= {at: [issue] for at, issue in expert_issues(rank, world, kineto, told, groups, notes).items()}
        done = [issue for own in of_kernel.values() for issue in own]
        found = {issue: call_of(rank, issue, groups, None, notes, profile.source) for issue in done}
        known = {issue: call for issue, call in found.items() if call is not None}
        return device_trace(rank, kineto, of_kernel, known, notes)
    for issue in issues:
        if not issue.is_timed:
            kind = issue.described.kind
            loss = Loss.of_call(kind, "its time: Kineto's profile, which was recorded without it, tells none")
            notes.lose(rank, loss, f"{kind}: only in the execution trace, Kineto's profile has no such call: left out")
    timed = [issue for issue in issues if issue.is_timed]
    return host_trace(rank, kineto, profile.events, timed, groups, notes, profile.source)
