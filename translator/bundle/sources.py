"""What a bundle is made from: schedules and programs of one collective."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from hocket.base.errors import ScheduleError
from hocket.schedule import Collective, Program, Schedule, load_expanded
from hocket.topology import Topology
from hocket.translator.msccl.xml_read import read_xml

__all__ = ["Source", "Sources", "read_source", "sources_of"]


@dataclass(frozen=True, slots=True)
class Source:
    """A file and its collective, of the size that it is best at: a schedule's own, a program's largest. `has_coarser`:
    others of the bundle's sources have fewer chunks, and are taken where these do not fit the runtime."""

    path: Path
    collective: Collective
    content: Schedule | Program
    has_coarser: bool = False

    @property
    def size_bytes(self) -> int:
        return max(self.collective.size_bytes, 1)


@dataclass(frozen=True, slots=True)
class Sources:
    """Files of one collective in the order of their sizes; `topology`, `ranks`: where their times are told."""

    collective: Collective
    topology: Topology
    ranks: tuple[int, ...]
    members: tuple[Source, ...]


def sources_of(members: Sequence[Source], topology: Topology | None = None) -> Sources:
    """Schedules and programs together, for their own network or for `topology`, which programs alone need.

    Raises ScheduleError for two that do not belong together.
    """
    first = members[0]
    for source in members:
        if _identity(source.collective) != _identity(first.collective):
            raise ScheduleError(
                f"{source.path} is {_identity(source.collective)}, but {first.path} is {_identity(first.collective)}: "
                "a bundle is for one collective"
            )
    schedules = [(source.path, source.content) for source in members if isinstance(source.content, Schedule)]
    for path, schedule in schedules:
        here, there = schedule.topology, schedules[0][1].topology
        if topology is None and here.fingerprint != there.fingerprint:
            raise ScheduleError(
                f"{path} is for {here.name}, but {schedules[0][0]} is for {there.name}; say with --topology where the "
                "bundle is to run"
            )
        if schedule.ranks.tolist() != schedules[0][1].ranks.tolist():
            raise ScheduleError(f"{path} and {schedules[0][0]} are for different groups of ranks")
    if topology is None and not schedules:
        raise ScheduleError(f"{first.path}: an XML does not say for which network it is; give --topology")
    return Sources(
        first.collective,
        schedules[0][1].topology if topology is None else topology,
        tuple(schedules[0][1].ranks.tolist() if schedules else range(first.collective.num_ranks)),
        tuple(sorted(members, key=lambda source: source.size_bytes)),
    )


def _identity(collective: Collective) -> str:
    root = f" from or to root {collective.root}" if collective.rooted else ""
    return f"{collective.kind} on {collective.num_ranks} ranks{root}"


def read_source(path: Path, root: int | None = None) -> Source:
    """A file; `root`: of a rooted program whose steps do not tell it. Raises FormatError for one that cannot be read,
    ScheduleError for a program that does not say up to which size it is good."""
    if path.suffix != ".xml":
        schedule = load_expanded(path)
        return Source(path, schedule.collective, schedule)
    program = read_xml(path, root=root)
    if not program.max_bytes:
        raise ScheduleError(f"{path}: maxBytes is open; give it the largest size that the file is good at")
    if program.max_bytes < 0:
        raise ScheduleError(f"{path}: its maxBytes selects no call; give it the largest size that the file is good at")
    return Source(path, Collective(program.kind, program.num_ranks, program.max_bytes, root=program.root), program)
