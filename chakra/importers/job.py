"""Puts imported ranks together: groups numbered alike on all, one origin of time."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from hocket.base.errors import FormatError
from hocket.chakra.importers.rank import Notes, RankTrace
from hocket.chakra.job_metadata import GROUP_DESCRIPTIONS
from hocket.chakra.losses import with_losses
from hocket.chakra.renaming import group_names, rename_groups
from hocket.chakra.trace import Trace

__all__ = ["ImportedJob", "assemble"]

# Members in group order, and which of the groups with these members, in the order of the rank's list.
_GroupKey = tuple[tuple[int, ...], int]


@dataclass(frozen=True)
class ImportedJob:
    """The traces by rank, `world` ranks in all; groups "1", "2", ... ("0": all ranks); what could not be known."""

    traces: dict[int, Trace]
    world: int
    groups: dict[str, tuple[int, ...]]
    notes: Notes

    @property
    def missing(self) -> list[int]:
        """Ranks of the job without a trace."""
        return [rank for rank in range(self.world) if rank not in self.traces]


def assemble(ranks: Sequence[RankTrace], notes: Notes, source: str, told_world: int | None = None) -> ImportedJob:
    """The job of these ranks, of which there are `told_world` in all, where somebody says so.

    Raises FormatError, naming `source`, where there is none, one rank comes twice or the files tell of more ranks.
    """
    if not ranks:
        raise FormatError(f"{source}: no rank's trace is in these files")
    by_rank = {rank.rank: rank for rank in ranks}
    if len(by_rank) < len(ranks):
        twice = sorted(rank for rank in by_rank if sum(other.rank == rank for other in ranks) > 1)
        raise FormatError(f"{source}: several files are of rank {twice[0]}; import one job at a time")
    largest = max([max(by_rank), *(member for rank in ranks for group in rank.groups.values() for member in group)])
    world = max([largest + 1, *(rank.world for rank in ranks if rank.world is not None)])
    if told_world is not None and world > told_world:
        raise FormatError(f"{source}: these files tell of {world} ranks, --world of {told_world}")
    world = told_world or world
    numbers = _numbers([rank.groups for rank in ranks], world)
    used: set[_GroupKey] = set()
    origin = min((int(rank.trace.start_us.min()) for rank in ranks if len(rank.trace)), default=0)
    traces = {}
    for number in sorted(by_rank):
        rank = by_rank[number]
        keys = _keys(rank.groups)
        used |= {keys[name] for name in group_names(rank.trace)}
        named = rename_groups(rank.trace, {name: numbers[key] for name, key in keys.items()})
        metadata = named.metadata | {"rank": number, "world_size": world} | _described(rank, keys, numbers)
        metadata = with_losses(metadata, notes.lost.get(number, {}))
        start_us = (named.start_us - np.uint64(origin)).astype(np.uint64)
        traces[number] = replace(named, metadata=metadata, start_us=start_us)
    groups = {numbers[key]: key[0] for key in sorted(used) if numbers[key] != "0"}
    return ImportedJob(traces, world, groups, notes)


def _described(rank: RankTrace, keys: dict[str, _GroupKey], numbers: dict[_GroupKey, str]) -> dict[str, object]:
    """Metadata: what the rank's groups are for, `NUMBER=DESCRIPTION` each, where the format tells that."""
    told = {numbers[keys[name]]: text for name, text in rank.descriptions.items() if name in keys}
    return {GROUP_DESCRIPTIONS: [f"{number}={text}" for number, text in sorted(told.items())]} if told else {}


def _keys(groups: dict[str, tuple[int, ...]]) -> dict[str, _GroupKey]:
    """What identifies each group on all ranks; names need not."""
    seen: dict[tuple[int, ...], int] = defaultdict(int)
    keys = {}
    for name, members in groups.items():
        keys[name] = members, seen[members]
        seen[members] += 1
    return keys


def _numbers(groups: Sequence[dict[str, tuple[int, ...]]], world: int) -> dict[_GroupKey, str]:
    everybody = tuple(range(world)), 0
    keys = sorted({key for of_rank in groups for key in _keys(of_rank).values()} - {everybody})
    return {everybody: "0"} | {key: str(number) for number, key in enumerate(keys, start=1)}
