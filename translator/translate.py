"""Schedule or program to MSCCL XML file: written only when the very text has been read back, executed and proved."""

from dataclasses import dataclass, replace
from pathlib import Path

from hocket.core.errors import DeadlockError, ScheduleError
from hocket.core.files import atomic_write
from hocket.schedule import FIFO_DEPTH, Program, Proof, Schedule, execute
from hocket.translator.lower import lower
from hocket.translator.profiles import Profile, ProfileName, find_profile
from hocket.translator.strategies import Candidate, Strategy, candidates, strategies
from hocket.translator.unfuse import retarget
from hocket.translator.xml_read import from_xml
from hocket.translator.xml_write import to_xml

__all__ = ["Translation", "rewrite", "translate"]


@dataclass(frozen=True, slots=True)
class Translation:
    """A file that was written: the program that a runtime will read from it, what was proved of it, and the ways to
    lower the schedule that were tried, the one taken first."""

    program: Program
    profile: Profile
    proofs: tuple[Proof, ...]
    candidates: tuple[Candidate, ...]


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
    """Writes the schedule as MSCCL XML for one runtime; the arguments are those of `lower`, None: several are tried.

    The text is read back as that runtime reads it and executed symbolically, with connections of `slots` messages (or
    1, the least there can be) of one chunk each, so that every size is covered, and with those of the protocol. Raises
    ScheduleError or DeadlockError, with nothing written, when the schedule does not fit the runtime or the proof fails.
    """
    chosen = find_profile(profile)

    def lowered(strategy: Strategy) -> Program:
        return lower(
            schedule,
            chosen,
            protocol=protocol,
            channels=strategy.channels,
            slots=strategy.slots,
            instances=strategy.instances,
            name=name,
            in_place=in_place,
            min_bytes=min_bytes,
            max_bytes=max_bytes,
        )

    found = candidates(schedule, list(strategies(schedule, channels, slots, instances)), lowered)
    first_error: ScheduleError | DeadlockError | None = None
    for at, candidate in enumerate(found):
        if candidate.program is None:
            first_error = first_error or candidate.error
            continue
        try:
            program, proofs = _write(candidate.program, path, chosen, candidate.strategy.slots)
        except (ScheduleError, DeadlockError) as error:
            first_error = first_error or error
            continue
        return Translation(program, chosen, proofs, (candidate, *found[:at], *found[at + 1 :]))
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
    written, proofs = _write(changed, path, chosen, FIFO_DEPTH[program.protocol])
    return Translation(written, chosen, proofs, ())


def _write(program: Program, path: Path | str, profile: Profile, slots: int) -> tuple[Program, tuple[Proof, ...]]:
    """Writes the program if it can be proved with connections of `slots` messages of one chunk, so that every size is
    covered, and with those of the protocol."""
    text = to_xml(program, profile)
    read = from_xml(text, str(path), profile=profile.name, root=program.root)
    proofs = (execute(read, fifo_depth=slots, max_count=1), execute(read, fifo_depth=FIFO_DEPTH[program.protocol]))
    with atomic_write(path) as file:
        file.write(text)
    return read, proofs
