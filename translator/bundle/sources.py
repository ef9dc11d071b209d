"""What a bundle is made from: schedules and programs of one collective, and how each becomes a program of a runtime."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from hocket.core.errors import DeadlockError, ScheduleError
from hocket.schedule import Collective, Program, Schedule, load_expanded
from hocket.topology import Topology
from hocket.translator.lowering import Lowering
from hocket.translator.profiles import Profile
from hocket.translator.proving import Translation, prove
from hocket.translator.translate import lower_best
from hocket.translator.unfuse import retarget
from hocket.translator.xml_read import read_xml

__all__ = ["Source", "Sources", "read_sources"]


@dataclass(frozen=True, slots=True)
class Source:
    """A file and its collective, of the size that it is best at: a schedule's own, a program's largest."""

    path: Path
    collective: Collective
    content: Schedule | Program

    @property
    def size_bytes(self) -> int:
        return max(self.collective.size_bytes, 1)

    def lowered(self, profile: Profile, lowering: Lowering) -> Translation | None:
        """A proved program for the lowering's kind of call, of any size; None: a program that is not for such calls.

        Raises ScheduleError or DeadlockError, naming the file, when there is none.
        """
        program, in_place = self.content, bool(lowering.in_place)
        try:
            if isinstance(program, Schedule):
                return lower_best(program, profile, replace(lowering, min_bytes=0, max_bytes=0, name=None))
            if not (program.in_place if in_place else program.out_of_place):
                return None
            only = replace(program, in_place=in_place, out_of_place=not in_place, name=program.name or self.path.stem)
            return prove(retarget(only, profile), profile)
        except (ScheduleError, DeadlockError) as error:
            call = "in-place" if in_place else "out-of-place"
            raise type(error)(f"{self.path}: {call} calls: {error}") from error


@dataclass(frozen=True, slots=True)
class Sources:
    """Files of one collective in the order of their sizes; `topology`, `ranks`: where their times are told."""

    collective: Collective
    topology: Topology
    ranks: tuple[int, ...]
    members: tuple[Source, ...]


def read_sources(paths: Sequence[Path], topology: Topology | None = None, root: int | None = None) -> Sources:
    """Reads schedules and programs, for their own network or for `topology`, which programs alone need; `root`: of a
    rooted program whose steps do not tell it.

    Raises FormatError for files that cannot be read, ScheduleError for two that do not belong together.
    """
    members = [_read(path, root) for path in paths]
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


def _read(path: Path, root: int | None) -> Source:
    if path.suffix != ".xml":
        schedule = load_expanded(path)
        return Source(path, schedule.collective, schedule)
    program = read_xml(path, root=root)
    if not program.max_bytes:
        raise ScheduleError(f"{path}: maxBytes is open; give it the largest size that the file is good at")
    if program.max_bytes < 0:
        raise ScheduleError(f"{path}: its maxBytes selects no call; give it the largest size that the file is good at")
    return Source(path, Collective(program.kind, program.num_ranks, program.max_bytes, root=program.root), program)
