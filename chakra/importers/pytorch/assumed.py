"""Puts what whoever imports says into what a rank's profile does not tell: sizes, groups, DeepEP's operations."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from hocket.base.errors import FormatError
from hocket.base.units import format_bytes
from hocket.chakra.importers.pytorch.c10d import Described
from hocket.chakra.importers.pytorch.host import HostEvent, What
from hocket.chakra.importers.pytorch.issues import Issue
from hocket.chakra.importers.pytorch.kineto import Kineto
from hocket.chakra.importers.rank import Notes
from hocket.chakra.importers.told import EXPERT_OPERATIONS, Told
from hocket.chakra.profiled import UNSIZED

__all__ = ["assume_groups", "assume_sizes", "expert_issues"]


def assume_sizes(issues: Sequence[Issue], told: Told, notes: Notes) -> None:
    """Gives operations without a size the one that was told for their kind."""
    for issue in issues:
        described = issue.described
        if described.num_bytes < 0 and described.kind in told.sizes:
            size = told.sizes[described.kind]
            issue.described = replace(described, num_bytes=size, per_member=False)
            notes[f"{described.kind} without recorded size: taken to be of {format_bytes(size)}, as told"] += 1


def assume_groups(
    rank: int, world: int, issues: Sequence[Issue], told: Told, groups: dict[str, tuple[int, ...]], notes: Notes
) -> None:
    """Gives operations without a group the one that was told for their kind, and adds it to the rank's `groups`.

    Raises FormatError where such groups do not make up the job, or the sizes of tensors show another number of ranks.
    """
    for issue in issues:
        described = issue.described
        if issue.group is None and not issue.is_gloo and described.kind in told.groups:
            size, stride = told.groups[described.kind]
            name = _group(rank, world, described.kind, told, groups)
            if described.members not in (0, size):
                raise FormatError(
                    f"--group {described.kind}={size}: the sizes of its tensors show {described.members} ranks a group"
                )
            issue.group = name
            text = f"{size} ranks, {stride} apart" if stride > 1 else f"{size} ranks in sequence"
            notes[f"{described.kind} without recorded group: taken to be of {text}, as told"] += 1


def expert_issues(
    rank: int, world: int, kineto: Kineto, told: Told, groups: dict[str, tuple[int, ...]], notes: Notes
) -> dict[int, Issue]:
    """DeepEP's kernels that were told a size, as all_to_alls by the index of their event; the others stay computation,
    which `notes` counts."""
    return dict(_expert_issues(rank, world, kineto, told, groups, notes))


def _expert_issues(
    rank: int, world: int, kineto: Kineto, told: Told, groups: dict[str, tuple[int, ...]], notes: Notes
) -> Iterator[tuple[int, Issue]]:
    for index, event in enumerate(kineto.device):
        operation = event.expert_operation
        if operation == "notify" and told.sizes.keys() & set(EXPERT_OPERATIONS):
            host = HostEvent(
                What.DIRECT, event.name, event.start, 0, -1, event.start, event.end, external=event.external
            )
            notes["DeepEP's notify, in which ranks wait for each other: barriers"] += 1
            yield index, Issue(host, Described("barrier", 0), _group(rank, world, "dispatch", told, groups), host)
        elif operation and operation not in told.sizes:
            sizes = "--size dispatch=BYTES --size combine=BYTES make it communication"
            notes[f"DeepEP's {operation}, whose size no profile tells: {UNSIZED} at its recorded time; {sizes}"] += 1
        elif operation:
            size = told.sizes[operation]
            described = Described("all_to_all", size, dtype="")
            host = HostEvent(
                What.DIRECT, event.name, event.start, 0, -1, event.start, event.end, described, external=event.external
            )
            name = _group(rank, world, operation, told, groups)
            among = f"{len(groups[name])} ranks"
            notes[f"DeepEP's {operation}: an all_to_all of {format_bytes(size)} among {among}, as told"] += 1
            yield index, Issue(host, described, name, host)


def _group(rank: int, world: int, operation: str, told: Told, groups: dict[str, tuple[int, ...]]) -> str:
    """The name of the rank's group for an operation, all ranks where nothing was told; added to `groups`."""
    size, stride = told.groups.get(operation, (world, 1))
    if world % (size * stride):
        raise FormatError(f"--group {operation}={size}:{stride}: such groups do not make up the job's {world} ranks")
    first = rank // (size * stride) * size * stride + rank % stride
    members = tuple(range(first, first + size * stride, stride))
    known: Mapping[tuple[int, ...], str] = {ranks: name for name, ranks in reversed(groups.items())}
    name = known.get(members, f"of {size} ranks, {stride} apart")
    groups[name] = members
    return name
