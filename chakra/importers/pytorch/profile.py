"""What the files of a job's ranks tell, and the ranks' traces made of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hocket.chakra.importers.lanes import build_lanes
from hocket.chakra.importers.pytorch.calls import call_of, calls_of
from hocket.chakra.importers.pytorch.device_trace import device_trace, issues_of_kernels
from hocket.chakra.importers.pytorch.grouping import RankIssues, find_groups
from hocket.chakra.importers.pytorch.host import HostEvent, ProcessGroup
from hocket.chakra.importers.pytorch.host_trace import host_trace
from hocket.chakra.importers.pytorch.issues import issues_of
from hocket.chakra.importers.pytorch.kineto import Kineto
from hocket.chakra.importers.pytorch.waits import waits_of
from hocket.chakra.importers.rank import Notes, RankTrace
from hocket.chakra.trace import Trace

__all__ = ["RankProfile", "traces_of"]


@dataclass(frozen=True)
class RankProfile:
    """A rank's process groups, what its host did in order, and its timeline, None where no times are told."""

    groups: Sequence[ProcessGroup]
    events: Sequence[HostEvent]
    kineto: Kineto | None


def traces_of(profiles: Mapping[int, RankProfile], world: int, notes: Notes) -> list[RankTrace]:
    """The traces of a job of at least `world` ranks: a group whose ranks are not listed has all."""
    world = max([world, *(group.size for profile in profiles.values() for group in profile.groups if not group.ranks)])
    issued = {rank: _issued(profile, world, notes) for rank, profile in profiles.items()}
    find_groups(issued)
    return [
        RankTrace(rank, world, _trace(rank, profile, issued[rank], notes), dict(issued[rank].groups))
        for rank, profile in profiles.items()
    ]


def _issued(profile: RankProfile, world: int, notes: Notes) -> RankIssues:
    groups = {group.name: group.members(world) for group in profile.groups if group.members(world)}
    if not groups:
        notes["process groups, which are not in the profile: all operations taken to be of all ranks"] += 1
        groups = {"0": tuple(range(world))}
    return RankIssues(issues_of(profile.events), groups)


def _trace(rank: int, profile: RankProfile, issued: RankIssues, notes: Notes) -> Trace:
    issues, groups, kineto = issued.issues, issued.groups, profile.kineto
    if kineto is None:
        calls = calls_of(issues, groups, waits_of(profile.events, issues, {}, notes), notes)
        return build_lanes(rank, calls, None, {"generator": "PyTorch ExecutionTraceObserver"})
    if kineto.device:
        of_kernel = issues_of_kernels(kineto, issues, notes)
        told = {issue: call_of(issue, groups, None, notes) for own in of_kernel.values() for issue in own}
        known = {issue: call for issue, call in told.items() if call is not None}
        return device_trace(rank, kineto, of_kernel, known, notes)
    return host_trace(rank, kineto, profile.events, issues, groups, notes)
