"""What the files of a job's ranks tell, and the ranks' traces made of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hocket.chakra.importers.lanes import build_lanes
from hocket.chakra.importers.pytorch.assumed import assume_groups, assume_sizes, expert_issues
from hocket.chakra.importers.pytorch.calls import call_of, calls_of
from hocket.chakra.importers.pytorch.device_trace import device_trace, issues_of_kernels
from hocket.chakra.importers.pytorch.grouping import RankIssues, find_groups
from hocket.chakra.importers.pytorch.host import HostEvent, ProcessGroup
from hocket.chakra.importers.pytorch.host_trace import host_trace
from hocket.chakra.importers.pytorch.issues import issues_of
from hocket.chakra.importers.pytorch.kineto import Kineto
from hocket.chakra.importers.pytorch.waits import waits_of
from hocket.chakra.importers.rank import Notes, RankTrace
from hocket.chakra.importers.told import NOTHING_TOLD, Told
from hocket.chakra.trace import Trace

__all__ = ["RankProfile", "traces_of"]


@dataclass(frozen=True)
class RankProfile:
    """A rank's process groups, what its host did in order, and its timeline, None where no times are told."""

    groups: Sequence[ProcessGroup]
    events: Sequence[HostEvent]
    kineto: Kineto | None


def traces_of(
    profiles: Mapping[int, RankProfile], world: int, notes: Notes, told: Told = NOTHING_TOLD
) -> list[RankTrace]:
    """The traces of a job of at least `world` ranks: a group whose ranks are not listed has all."""
    world = max([world, *(group.size for profile in profiles.values() for group in profile.groups if not group.ranks)])
    issued = {rank: _issued(rank, profile, world, told, notes) for rank, profile in profiles.items()}
    find_groups(issued)
    return [
        RankTrace(
            rank,
            world,
            _trace(rank, profile, issued[rank], world, told, notes),
            dict(issued[rank].groups),
            {group.name: group.description for group in profile.groups if group.description},
        )
        for rank, profile in profiles.items()
    ]


def _issued(rank: int, profile: RankProfile, world: int, told: Told, notes: Notes) -> RankIssues:
    groups = {group.name: group.members(world) for group in profile.groups if group.members(world)}
    issues = issues_of(profile.events)
    assume_sizes(issues, told, notes)
    if not groups:
        notes["process groups, which are not in the profile: all operations taken to be of all ranks"] += 1
        groups = {"0": tuple(range(world))}
        for issue in issues:
            if issue.described.kind not in told.groups and issue.described.members in (0, world):
                issue.group = issue.group or "0"
    assume_groups(rank, world, issues, told, groups, notes)
    return RankIssues(issues, groups)


def _trace(rank: int, profile: RankProfile, issued: RankIssues, world: int, told: Told, notes: Notes) -> Trace:
    issues, groups, kineto = issued.issues, issued.groups, profile.kineto
    if kineto is None:
        calls = calls_of(issues, groups, waits_of(profile.events, issues, {}, notes), notes)
        return build_lanes(rank, calls, None, {"generator": "PyTorch ExecutionTraceObserver"})
    if kineto.device:
        of_kernel = issues_of_kernels(kineto, issues, notes)
        of_kernel |= {at: [issue] for at, issue in expert_issues(rank, world, kineto, told, groups, notes).items()}
        found = {issue: call_of(issue, groups, None, notes) for own in of_kernel.values() for issue in own}
        known = {issue: call for issue, call in found.items() if call is not None}
        return device_trace(rank, kineto, of_kernel, known, notes)
    return host_trace(rank, kineto, profile.events, issues, groups, notes)
