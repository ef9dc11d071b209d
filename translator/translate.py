"""Schedule or program to MSCCL XML file: written only when the very text has been read back, executed and proved."""

from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from hocket.core.errors import DeadlockError, ScheduleError
from hocket.core.files import atomic_write
from hocket.schedule import FIFO_DEPTH, Program, Proof, Schedule, execute
from hocket.translator.coarser import coarsen
from hocket.translator.lower import lower
from hocket.translator.profiles import Profile, ProfileName, find_profile
from hocket.translator.program_json import from_program_json, to_program_json
from hocket.translator.strategies import Candidate, Strategy, candidates, fewer_chunks, remedies, strategies
from hocket.translator.unfuse import retarget
from hocket.translator.xml_read import from_xml
from hocket.translator.xml_write import LimitError, to_xml

__all__ = ["Translation", "lower_best", "prove", "rewrite", "translate"]


@dataclass(frozen=True, slots=True)
class Translation:
    """The text of a file, the program that a runtime will read from it, what was proved of it (with connections that
    hold `slots` messages, and others), and the ways to lower the schedule that were tried, the one taken first."""

    text: str
    program: Program
    profile: Profile
    slots: int
    proofs: tuple[Proof, ...]
    candidates: tuple[Candidate, ...] = ()

    def write(self, path: Path | str) -> None:
        """Writes the text to a file."""
        with atomic_write(path) as file:
            file.write(self.text)


def translate(
    schedule: Schedule,
    path: Path | str,
    profile: str | ProfileName | Profile,
    *,
    protocol: str = "Simple",
    channels: int | None = None,
    slots: int | None = None,
    instances: int = 1,
    name: str | None = None,
    in_place: bool | None = None,
    min_bytes: int = 0,
    max_bytes: int = 0,
) -> Translation:
    """Writes the schedule as MSCCL XML for one runtime: what `lower_best` makes of it, with its arguments and errors;
    with these nothing is written."""
    translation = lower_best(
        schedule,
        profile,
        protocol=protocol,
        channels=channels,
        slots=slots,
        instances=instances,
        name=name,
        in_place=in_place,
        min_bytes=min_bytes,
        max_bytes=max_bytes,
    )
    translation.write(path)
    return translation


def lower_best(
    schedule: Schedule,
    profile: str | ProfileName | Profile,
    *,
    protocol: str = "Simple",
    channels: int | None = None,
    slots: int | None = None,
    instances: int = 1,
    name: str | None = None,
    in_place: bool | None = None,
    min_bytes: int = 0,
    max_bytes: int = 0,
) -> Translation:
    """The schedule as the quickest program for one runtime that could be proved; the arguments are those of `lower`,
    None: several are tried.

    The text is read back as that runtime reads it and executed symbolically, with connections of `slots` messages (or
    1, the least there can be) of one chunk each, so that every size is covered, and with those of the protocol. Raises
    ScheduleError or DeadlockError when the schedule does not fit the runtime or the proof fails. Where no way of
    lowering it fits, chunks that go the same way are made one, then connections share thread blocks.
    """
    chosen = find_profile(profile)

    @cache
    def coarser(factor: int) -> Schedule:
        return schedule if factor == 1 else coarsen(schedule, factor)

    def lowered(strategy: Strategy) -> Program:
        return lower(
            coarser(strategy.merged),
            chosen,
            protocol=protocol,
            channels=strategy.channels,
            slots=strategy.slots,
            instances=strategy.instances,
            paired=strategy.paired,
            name=name,
            in_place=in_place,
            min_bytes=min_bytes,
            max_bytes=max_bytes,
        )

    plain = list(strategies(schedule, channels, slots, instances))
    found = candidates(schedule, chosen, plain, lowered)
    if found[0].program is None and any(isinstance(each.error, LimitError) for each in found):
        for remedy in remedies(schedule, plain):
            found += candidates(schedule, chosen, remedy, lowered)
            if any(each.program for each in found):
                break
    try:
        return _first_proved(found, chosen)
    except LimitError as error:
        chunks = fewer_chunks(schedule, chosen)
        hint = f"; synthesize the schedule with --chunks {chunks} or fewer" if chunks else ""
        raise LimitError(f"{error}{hint}") from error


def _first_proved(found: list[Candidate], profile: Profile) -> Translation:
    """The first candidate that can be proved; raises the first error where there is none."""
    first_error: ScheduleError | DeadlockError | None = None
    for at, candidate in enumerate(found):
        if candidate.program is None:
            first_error = first_error or candidate.error
            continue
        try:
            translation = prove(candidate.program, profile, candidate.strategy.slots)
        except (ScheduleError, DeadlockError) as error:
            first_error = first_error or error
            continue
        return replace(translation, candidates=(candidate, *found[:at], *found[at + 1 :]))
    assert first_error is not None
    raise first_error


def rewrite(
    program: Program,
    path: Path | str,
    profile: str | ProfileName | Profile,
    *,
    name: str | None = None,
    min_bytes: int | None = None,
    max_bytes: int | None = None,
) -> Translation:
    """Writes a program (of another runtime, say) as MSCCL XML for one runtime, for the same sizes unless said.

    Steps that the runtime cannot run are taken apart; order and messages stay. Proved as `translate` proves, with
    connections as deep as the protocol's, at every splitting of steps into messages; the same errors.
    """
    chosen = find_profile(profile)
    largest = program.max_bytes or chosen.open_max_bytes if max_bytes is None else chosen.max_bytes(max_bytes)
    changed = replace(
        retarget(program, chosen),
        name=name or program.name or str(program.kind),
        min_bytes=program.min_bytes if min_bytes is None else min_bytes,
        max_bytes=largest,
    )
    translation = prove(changed, chosen)
    translation.write(path)
    return translation


def prove(program: Program, profile: str | ProfileName | Profile, slots: int | None = None) -> Translation:
    """The program as text for one runtime, proved with connections of `slots` messages (None: as many as the protocol's
    hold) of one chunk each, so that every size is covered, and with those of the protocol.

    Raises ScheduleError or DeadlockError when it does not fit the runtime or the proof fails.
    """
    chosen, depth = find_profile(profile), FIFO_DEPTH[program.protocol]
    if chosen.reads_xml:
        text = to_xml(program, chosen)
        read = from_xml(text, program.name, profile=chosen.name, root=program.root)
    else:
        text = to_program_json(program)
        read = from_program_json(text, program.name)
    proofs = (execute(read, fifo_depth=slots or depth, max_count=1), execute(read, fifo_depth=depth))
    return Translation(text, read, chosen, slots or depth, proofs)
