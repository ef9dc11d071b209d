"""Makes the traces of all ranks of a job from those of some.

A rank that is missing does what the known one of its pipeline stage does that is nearest to it: its groups are those of
the known rank, moved to where it stands in the grid of ranks, its messages go as far, roots are the same members of its
groups.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np
from numpy.typing import NDArray

from hocket.base.errors import TraceError
from hocket.base.rank_names import name_ranks
from hocket.chakra.agreement import SAME_SIZE
from hocket.chakra.job_metadata import ASSUMED_WORLD
from hocket.chakra.renaming import group_names, rename_groups
from hocket.chakra.subset import subset
from hocket.chakra.trace import NodeType, Trace, members_of
from hocket.workload.completion.grid import PIPELINE, RankGrid
from hocket.workload.completion.known import KnownRanks
from hocket.workload.completion.messages import channels_of, pipeline_dimension

__all__ = ["Completion"]

#: The attribute of a filled trace's metadata that has the known rank's number.
_COMPLETED_FROM = "completed_from"
_EVERYBODY = ("", "0")
# The number of the ranks of a group in their order (`_Counterparts`), and which of the groups with these ranks.
_GroupKey = tuple[int, int]


@dataclass(frozen=True)
class _Role:
    """What ranks that do alike do, in the numbers of the known rank `template`."""

    template: int
    trace: Trace
    changes: Counter[str]

    @cached_property
    def collectives(self) -> dict[str, tuple[tuple[int, int], ...]]:
        """Of each group, the type of each collective in order, and its size where that must be the same on all."""
        trace = self.trace
        rows = np.flatnonzero(trace.type == NodeType.COMM_COLL)
        same = np.isin(trace.comm_type[rows], SAME_SIZE)
        sizes = np.where(same, trace.comm_bytes[rows], -1)
        found: dict[str, list[tuple[int, int]]] = {}
        for row, kind, size in zip(rows, trace.comm_type[rows].tolist(), sizes.tolist(), strict=True):
            found.setdefault(trace.text(trace.process_group, row), []).append((kind, size))
        return {name: tuple(calls) for name, calls in found.items()}


class _Counterparts:
    """The groups like those of the known ranks, wherever a rank stands in the grid; each found once and numbered."""

    def __init__(self, known: KnownRanks, grid: RankGrid, spans: Mapping[str, frozenset[int]]) -> None:
        self._known, self._grid, self._spans = known, grid, spans
        self._numbers: dict[tuple[int, ...], int] = {}
        self._found: dict[tuple[str, tuple[int, ...]], int] = {}
        self._coordinates: dict[str, dict[int, set[int]]] = {}
        for name, spanned in spans.items():
            places = [grid.place(rank) for rank in members_of(name, known.groups, grid.num_ranks)]
            self._coordinates[name] = {dimension: {place[dimension] for place in places} for dimension in spanned}

    def has(self, name: str, rank: int) -> bool:
        """Whether a rank is in its group like this one."""
        place = self._grid.place(rank)
        return all(place[dimension] in found for dimension, found in self._coordinates[name].items())

    def number(self, name: str, rank: int) -> int:
        """The number of the ranks of the rank's group like this one."""
        spanned = self._spans[name]
        apart = tuple(at for dimension, at in enumerate(self._grid.place(rank)) if dimension not in spanned)
        if (name, apart) not in self._found:
            members = members_of(name, self._known.groups, self._grid.num_ranks)
            moved = self._grid.counterparts(members, spanned, rank)
            self._found[name, apart] = self._numbers.setdefault(moved, len(self._numbers))
        return self._found[name, apart]

    def members(self, number: int) -> tuple[int, ...]:
        """Those ranks, in the group's order."""
        return list(self._numbers)[number]


class Completion:
    """The whole job: `groups` as in `TraceSet`, `notes` what was assumed, in words; `trace` makes a rank's trace when
    it is asked for: ranks of a role share all columns but the ends of messages and the roots.

    Raises TraceError, naming ranks and groups, where the known ranks do not tell what the others do, or what they would
    do does not fit together.
    """

    def __init__(self, known: KnownRanks, grid: RankGrid) -> None:
        self.num_ranks = grid.num_ranks
        self._known, self._grid = known, grid
        self._spans = self._spanned()
        self._counterparts = _Counterparts(known, grid, self._spans)
        self.missing = [rank for rank in range(self.num_ranks) if rank not in known.traces]
        self._alone = self._dimensions_alone()
        dimension = pipeline_dimension(grid, known.traces) if self.missing else None
        self._pipeline = dimension
        self._require_stages()
        self._own = {rank: _Role(rank, trace, Counter()) for rank, trace in known.traces.items()}
        self._roles: dict[tuple[int, frozenset[str]], _Role] = {}
        self._role_of = {rank: self._role(rank) for rank in range(self.num_ranks)}
        self.groups = dict(known.groups)
        self._names_of = self._named_groups()
        self._check_collectives()
        self._check_messages()
        self.notes = list(self._assumed())

    def trace(self, rank: int) -> Trace:
        """A rank's trace: its own, or one made of another's, whose metadata say so."""
        role = self._role_of[rank]
        metadata = {key: value for key, value in role.trace.metadata.items() if key not in ASSUMED_WORLD}
        metadata |= {"rank": rank, "world_size": self.num_ranks}
        if rank in self._known.traces:
            return replace(role.trace, metadata=metadata)
        metadata |= {_COMPLETED_FROM: role.template, "assumptions": self.notes}
        moved = replace(
            role.trace,
            metadata=metadata,
            comm_src=self._moved(role.trace.comm_src, role.template, rank),
            comm_dst=self._moved(role.trace.comm_dst, role.template, rank),
            root=self._moved_roots(role, rank),
        )
        return rename_groups(moved, self._names_of[rank])

    def _spanned(self) -> dict[str, frozenset[int]]:
        """The dimensions that each group of the known ranks spans."""
        spans = {}
        for rank, trace in self._known.traces.items():
            place = f"{self._known.paths.get(rank, '')}: rank {rank}"
            if rank >= self.num_ranks:
                raise TraceError(f"{place}: the job has {self.num_ranks} ranks, 0 to {self.num_ranks - 1}")
            for name in group_names(trace):
                try:
                    members = members_of(name, self._known.groups, self.num_ranks)
                except KeyError as error:
                    raise TraceError(f"{place}: no file tells the ranks of its group '{name}'") from error
                if rank not in members or max(members) >= self.num_ranks:
                    raise TraceError(
                        f"{place}: its group '{name}' is of ranks {list(members)[:8]}: expected it among them, and "
                        f"ranks of a job of {self.num_ranks}"
                    )
                spans[name] = self._grid.spanned(members, name)
        return spans

    def _dimensions_alone(self) -> list[str]:
        """Named dimensions of several ranks along which no known rank communicates. Raises TraceError for a pipeline,
        whose stages do."""
        along = {dimension for spanned in self._spans.values() for dimension in spanned}
        for rank, trace in self._known.traces.items():
            calls = trace.process_group[trace.type == NodeType.COMM_COLL]
            if any(not trace.text(calls, row) for row in range(len(calls))):  # of all ranks
                along |= {*range(len(self._grid.sizes))}
            for channel in channels_of(self._grid, rank, trace):
                along |= {dimension for dimension, step in enumerate(channel.offset) if step}
        grid = self._grid
        alone = [
            grid.names[at] for at, size in enumerate(grid.sizes) if size > 1 and grid.names[at] and at not in along
        ]
        if PIPELINE in alone and self.missing:
            raise TraceError(
                f"no known rank sends or receives along {PIPELINE}, so they are no stages of a pipeline: give"
                " --parallel the plan that the job had"
            )
        return alone

    def _role(self, rank: int) -> _Role:
        if rank in self._own:
            return self._own[rank]
        alike = [known for known in self._known.traces if self._stage(known) == self._stage(rank)]
        template = min(alike, key=lambda known: self._distance(known, rank))
        names = group_names(self._known.traces[template])
        lacking = frozenset(name for name in names if not self._counterparts.has(name, rank))
        key = template, lacking
        if key not in self._roles:
            changes: Counter[str] = Counter()
            trace = _without_groups(self._known.traces[template], lacking, changes)
            self._roles[key] = _Role(template, trace, changes)
        return self._roles[key]

    def _distance(self, known: int, rank: int) -> tuple[int, int]:
        own, other = self._grid.place(known), self._grid.place(rank)
        return sum(a != b for a, b in zip(own, other, strict=True)), known

    def _stage(self, rank: int) -> int:
        """Of the pipeline; 0 where there is none."""
        return 0 if self._pipeline is None else self._grid.place(rank)[self._pipeline]

    def _require_stages(self) -> None:
        """A stage's order of passes, its share of the model and its messages are in no other stage's profile."""
        known = {self._stage(rank) for rank in self._known.traces}
        lacking = sorted({self._stage(rank) for rank in self.missing} - known)
        if lacking:
            ranks = [next(rank for rank in self.missing if self._stage(rank) == stage) for stage in lacking]
            raise TraceError(
                f"no known rank is of {'stage' if len(lacking) == 1 else 'stages'} {', '.join(map(str, lacking))} of"
                f" the pipeline, whose passes no other stage tells: give the profile of one rank of each, such as"
                f" {name_ranks(ranks)}"
            )

    def _named_groups(self) -> dict[int, dict[str, str]]:
        """For each rank that is filled the names of its groups by those that its known rank has; adds to `groups`."""
        by_key: dict[_GroupKey, str] = {}
        for rank in self._known.traces:
            by_key |= {key: name for name, key in self._keys(rank, rank).items()}
        number = max((int(name) for name in self.groups if name.isdecimal()), default=0)
        found: dict[int, dict[str, str]] = {}
        for rank in self.missing:
            keys = self._keys(self._role_of[rank].template, rank)
            for key in keys.values():
                if key not in by_key:
                    number += 1
                    by_key[key] = str(number)
                    self.groups[str(number)] = self._counterparts.members(key[0])
            found[rank] = {name: by_key[key] for name, key in keys.items()}
        return found

    def _keys(self, template: int, rank: int) -> dict[str, _GroupKey]:
        """What identifies the rank's groups on all ranks, by the names that the known rank has for its own."""
        seen: Counter[int] = Counter()
        keys: dict[str, _GroupKey] = {}
        for name in self._names_in_order[template]:
            number = self._counterparts.number(name, rank)
            is_everybody = name in _EVERYBODY and name not in self._known.groups
            keys[name] = number, -1 if is_everybody else seen[number]
            seen[number] += not is_everybody
        return keys

    @cached_property
    def _names_in_order(self) -> dict[int, list[str]]:
        """The groups of each known rank that its trace uses, in the order of the job's list of groups."""
        order = {name: place for place, name in enumerate(self._known.groups)}
        return {
            rank: sorted(group_names(trace), key=lambda name: order.get(name, -1))
            for rank, trace in self._known.traces.items()
        }

    def _moved(self, ranks: NDArray[np.int64], template: int, rank: int) -> NDArray[np.int64]:
        """The ranks as far from `rank` as these are from `template`; -1 stays."""
        return _mapped(ranks, lambda other: self._grid.moved(rank, self._grid.offset(template, other)))

    def _moved_roots(self, role: _Role, rank: int) -> NDArray[np.int64]:
        trace = role.trace
        roots = trace.root
        for index in np.unique(trace.process_group[roots >= 0]).tolist():
            name = trace.strings[index] if index >= 0 else ""
            rows = (trace.process_group == index) & (roots >= 0)
            spans = self._spans.get(name, frozenset(range(len(self._grid.sizes))))
            moved = _mapped(trace.root[rows], partial(self._counterpart, spans, rank))
            roots = roots.copy() if roots is trace.root else roots
            roots[rows] = moved
        return roots

    def _counterpart(self, spans: frozenset[int], rank: int, root: int) -> int:
        return self._grid.counterparts((root,), spans, rank)[0]

    def _check_collectives(self) -> None:
        """The ranks of each group must have the same collectives in it."""
        seen: dict[str, tuple[int, tuple[tuple[int, int], ...]]] = {}
        for rank in range(self.num_ranks):
            role = self._role_of[rank]
            names = self._names_of.get(rank, {})
            for own, calls in role.collectives.items():
                name = names.get(own, own)
                first, theirs = seen.setdefault(name, (rank, calls))
                if theirs is not calls and theirs != calls:
                    self._refuse(name, first, rank, len(theirs), len(calls))
        joined: Counter[str] = Counter()
        for rank in range(self.num_ranks):
            names = self._names_of.get(rank, {})
            joined.update({names.get(own, own) for own in self._role_of[rank].collectives})
        for name, count in joined.items():
            members = members_of(name, self.groups, self.num_ranks)
            if count < len(members):
                absent = next(rank for rank in members if name not in self._joins(rank))
                self._refuse(name, seen[name][0], absent, len(seen[name][1]), 0)

    def _joins(self, rank: int) -> set[str]:
        names = self._names_of.get(rank, {})
        return {names.get(own, own) for own in self._role_of[rank].collectives}

    def _refuse(self, name: str, first: int, second: int, theirs: int, own: int) -> None:
        what = f"{theirs} and {own} collectives" if theirs != own else f"{own} collectives of other kinds or sizes"
        raise TraceError(
            f"group '{name}': rank {first} ({self._origin(first)}) and rank {second} ({self._origin(second)}) would "
            f"join {what}: are these profiles of the same steps of one job? A rank whose role no known one has needs "
            "its own profile, and --parallel says how ranks are laid out"
        )

    def _origin(self, rank: int) -> str:
        if rank in self._known.traces:
            return self._known.paths.get(rank, "known")
        return f"made of rank {self._role_of[rank].template}"

    def _check_messages(self) -> None:
        """Every send must have its recv, of the same size."""
        channels = {id(role): channels_of(self._grid, role.template, role.trace) for role in self._role_of.values()}
        for rank, role in self._role_of.items():
            for channel, sizes in channels[id(role)].items():
                peer = self._grid.moved(rank, channel.offset)
                theirs = channels[id(self._role_of[peer])].get(channel.other_end(self._grid), ())
                if theirs != sizes:
                    verb, other = ("sends", "receives") if channel.is_send else ("receives", "sends")
                    raise TraceError(
                        f"rank {rank} ({self._origin(rank)}) {verb} {len(sizes)} messages of {sum(sizes)} bytes, "
                        f"and their other end, rank {peer} ({self._origin(peer)}), {other} {len(theirs)} of "
                        f"{sum(theirs)}: are these profiles of the same steps? Of a pipeline, give the profile of a "
                        "rank of each stage that differs"
                    )

    def _assumed(self) -> Iterator[str]:
        if not self.missing:
            yield f"no rank of the {self.num_ranks} is missing"
            return
        yield f"ranks are laid out as {self._grid}"
        for name in self._alone:
            yield f"ranks do not communicate along {name}, as no known one does"
        made: dict[int, list[int]] = {}
        for rank in self.missing:
            made.setdefault(id(self._role_of[rank]), []).append(rank)
        for ranks in made.values():
            role = self._role_of[ranks[0]]
            changes = ", ".join(f"{count} {change}" for change, count in role.changes.items() if count)
            yield f"{name_ranks(ranks)} as rank {role.template}{': ' if changes else ''}{changes}"
        yield "filled ranks compute as long, and begin when, the rank did that they are made of"
        if self._is_rooted():
            yield "roots of filled ranks' collectives are the same members of their groups"

    def _is_rooted(self) -> bool:
        return any((role.trace.root >= 0).any() for role in self._roles.values())


def _without_groups(trace: Trace, names: frozenset[str], changes: Counter[str]) -> Trace:
    """The trace without the collectives of groups that the rank is not in."""
    if not names:
        return trace
    is_lacking = np.array([text in names for text in (*trace.strings, "")], np.bool_)
    keep = ~((trace.type == NodeType.COMM_COLL) & is_lacking[trace.process_group])
    changes["collectives of groups that it is not in left out"] += int((~keep).sum())
    return subset(trace, keep)[0]


def _mapped(ranks: NDArray[np.int64], new: Callable[[int], int]) -> NDArray[np.int64]:
    """The ranks by their new numbers; shares the column where no rank is in it."""
    old = np.unique(ranks[ranks >= 0])
    if not len(old):
        return ranks
    numbers = np.array([new(int(rank)) for rank in old], np.int64)
    place = np.searchsorted(old, ranks).clip(max=len(old) - 1)
    return np.where(ranks >= 0, numbers[place], ranks)
