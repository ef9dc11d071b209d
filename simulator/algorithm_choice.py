"""Which algorithm each collective follows, and its plan in the engine."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from hocket import schedule as schedules
from hocket.base.collectives import BARRIER
from hocket.base.errors import ScheduleError
from hocket.base.late_imports import late_imports
from hocket.base.strict_yaml import nearest
from hocket.schedule import NAMED_KINDS, Collective, Kind, Schedule
from hocket.schedule.algorithms import ALGORITHMS, Pattern, pattern
from hocket.schedule.algorithms.place import Place
from hocket.simulator.auto_algorithms import auto_candidates
from hocket.simulator.collective_plan import CollectivePlan
from hocket.simulator.workload import CollectiveCall
from hocket.topology import Topology

with late_imports(__name__):
    from hocket.nccl import NcclModel
    from hocket.nccl.programs.spec import nccl_names
    from hocket.simulator.spelled_out import CallPlan
    from hocket.simulator.stock import LibraryCalls, nccl_programs

__all__ = [
    "AUTO",
    "DEFAULT_ALGORITHMS",
    "LIBRARY",
    "SCHEDULE_SUFFIX",
    "AlgorithmChooser",
    "algorithm_names",
    "require_algorithm",
]

AUTO = "auto"
LIBRARY = "library"
"""What the machine's stock library runs, as an algorithm."""
_FEW = 64  # ranks times chunks of a rank, up to which patterns are kept: some MB each at most
SCHEDULE_SUFFIX = ".schedule"
#: What messages in a group do, where that differs from DEFAULT_ALGORITHMS.
MESSAGES_AS: dict[str, str] = {Kind.ALL_GATHER: "direct"}
DEFAULT_ALGORITHMS: dict[str, str] = {
    kind: "ring" if kind.cut_by_rank and (kind.reduces or kind.spreads) else "direct" for kind in NAMED_KINDS
} | {BARRIER: "double_binary_tree"}


def algorithm_names() -> tuple[str, ...]:
    """What `--algorithm` knows by name."""
    return (LIBRARY, AUTO, *ALGORITHMS, *nccl_names())


def require_algorithm(kind: str, name: str, others: Iterable[str]) -> None:
    """Raises ScheduleError for the name of an algorithm of `kind` that is no native one, none of the `others`, and no
    file's."""
    if name not in others and name not in ALGORITHMS and not name.endswith(SCHEDULE_SUFFIX):
        known = nearest(name, algorithm_names())
        raise ScheduleError(f"{kind}: '{name}' is not an algorithm; {known}, or a file ending in {SCHEDULE_SUFFIX}")


class AlgorithmChooser:
    """Builds the plan of each distinct call once.

    `algorithms` maps a kind (or `barrier`) to a native algorithm, a `.schedule` file, `auto`, one of NCCL's
    (`hocket.simulator.stock`, of whose machines `nccl` is the model), or `library`, which `library` says; kinds it
    lacks take DEFAULT_ALGORITHMS. Calls of a kind by a group (ranks of the topology) that `schedules` has one for
    follow it, whatever their size. A call that takes `auto` begins `launch_ps` (of each call, or of all) after its
    ranks have come to it; one that follows such a schedule likewise, or as a group of messages of the `library` does.
    Raises ScheduleError for an unknown kind or algorithm, and for a schedule that was made for another kind or
    topology.
    """

    def __init__(
        self,
        topology: Topology,
        algorithms: Mapping[str, str],
        nccl: NcclModel | None = None,
        library: LibraryCalls | None = None,
        launch_ps: int | Callable[[CollectiveCall], int] = 0,
        schedules: Mapping[tuple[str, tuple[int, ...]], Schedule] | None = None,
    ) -> None:
        self._launch_ps = launch_ps
        self._schedules = schedules or {}
        self._programs = nccl_programs(algorithms.values(), topology, nccl)
        self._library = library
        for kind, name in algorithms.items():
            if kind not in DEFAULT_ALGORITHMS:
                raise ScheduleError(f"'{kind}' is not a collective; there are {', '.join(DEFAULT_ALGORITHMS)}")
            if name not in self._programs and (name != LIBRARY or library is None):
                require_algorithm(kind, name, (AUTO,))
        self._topology = topology
        self._algorithms = DEFAULT_ALGORITHMS | dict(algorithms)
        self._files = {
            name: _load_for(kind, name, topology) for kind, name in algorithms.items() if name.endswith(SCHEDULE_SUFFIX)
        }

    def candidates(self, call: CollectiveCall) -> Iterable[CallPlan]:
        """The plans that the call may follow: the one that was asked for, or with `auto` all that can do it."""
        name, note = self._algorithms[call.kind], None
        own = self._schedules.get((call.kind, call.group))
        if own is not None and call.block_bytes is None:
            sized = _of_sizes(own.collective, call)
            launch_ps = self._library.launch_ps(call) if self._library is not None else self._launch_of(call)
            return [CollectivePlan(own, own.generator, sized=sized, launch_ps=launch_ps)]
        if name in self._files:
            schedule = self._files[name]
            if tuple(schedule.ranks.tolist()) == call.group and schedule.collective.root == call.root:
                scaled = replace(schedule, collective=_of_sizes(schedule.collective, call))
                return [CollectivePlan(scaled, Path(name).name)]
            note = f"{name} is for other ranks or another root than some {call.kind}: these use a native algorithm"
            name = DEFAULT_ALGORITHMS[call.kind]
        if name in self._programs:
            found = self._programs[name](call)
            if not isinstance(found, str):
                return [found]
            name, note = DEFAULT_ALGORITHMS[call.kind], f"{name}: {found}: these use a native algorithm"
        if name == LIBRARY:
            return [self._of_library(call)]
        if name != AUTO:
            return [self._native(name, call, note)]
        place = Place(self._topology, call.members)
        return auto_candidates(call.collective, place, lambda name: self._launched(name, call))

    def _of_library(self, call: CollectiveCall) -> CallPlan:
        assert self._library is not None  # the constructor saw it
        if len(call.group) < 2:  # the library does nothing
            return self._native(DEFAULT_ALGORITHMS[call.kind], call)
        found = self._library.follow(call)
        if not isinstance(found, str):
            return found
        messages = self._native(MESSAGES_AS.get(call.kind, DEFAULT_ALGORITHMS[call.kind]), call, _note_of(found))
        return replace(messages, launch_ps=self._library.launch_ps(call))

    def _launched(self, name: str, call: CollectiveCall) -> CollectivePlan:
        return replace(self._native(name, call), launch_ps=self._launch_of(call))

    def _launch_of(self, call: CollectiveCall) -> int:
        if len(call.group) < 2:
            return 0
        return self._launch_ps(call) if callable(self._launch_ps) else self._launch_ps

    def _native(self, name: str, call: CollectiveCall, note: str | None = None) -> CollectivePlan:
        collective = call.collective
        if collective.num_ranks * collective.chunks_per_rank > _FEW:
            return CollectivePlan(pattern(name, collective, self._topology, call.members), name, note)
        like = call if ALGORITHMS[name].by_size else replace(call, size_bytes=0, block_bytes=None)
        kept = _kept(name, like, self._topology)
        if isinstance(kept, str):
            raise ScheduleError(kept)
        return CollectivePlan(kept, name, note, collective)


def _note_of(why: str) -> str:
    return f"{why}: a kernel's launch and a step of NCCL's constants, then what the network takes"


@lru_cache(maxsize=512)
def _kept(name: str, call: CollectiveCall, topology: Topology) -> Pattern | str:
    """The pattern, kept for calls of other sizes; or why there is none."""
    try:
        return pattern(name, call.collective, topology, call.members)
    except ScheduleError as error:
        return str(error)


def _of_sizes(collective: Collective, call: CollectiveCall) -> Collective:
    return replace(collective, size_bytes=call.size_bytes, block_bytes=call.block_bytes)


def _load_for(kind: str, path: str, topology: Topology) -> Schedule:
    """The schedule in a file. Raises ScheduleError unless it is for this kind and this topology."""
    schedule = schedules.load_expanded(path)
    if schedule.collective.kind != kind:
        raise ScheduleError(f"{path} is a schedule for {schedule.collective.kind}, not for {kind}")
    # Whether switches compute changes no route.
    alike = (topology.fingerprint, replace(topology, in_network=()).fingerprint)
    if schedule.topology.fingerprint not in alike:
        raise ScheduleError(
            f"{path} was made for topology {schedule.topology.name}, which differs from {topology.name}:"
            " its routes mean nothing here; synthesize one for this topology"
        )
    return schedule
