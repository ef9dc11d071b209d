"""Schedule to MSCCL XML file: written only when the very text has been read back, executed and proved."""

from dataclasses import dataclass
from pathlib import Path

from hocket.core.files import atomic_write
from hocket.schedule import FIFO_DEPTH, Program, Proof, Schedule, execute
from hocket.translator.lower import lower
from hocket.translator.profiles import Profile, ProfileName, find_profile
from hocket.translator.xml_read import from_xml
from hocket.translator.xml_write import to_xml

__all__ = ["Translation", "translate"]


@dataclass(frozen=True, slots=True)
class Translation:
    """A file that was written: the program that a runtime will read from it, and what was proved of it."""

    program: Program
    profile: Profile
    proofs: tuple[Proof, ...]


def translate(
    schedule: Schedule,
    path: Path | str,
    profile: str | ProfileName | Profile,
    *,
    protocol: str = "Simple",
    channels: int = 1,
    name: str | None = None,
    in_place: bool | None = None,
    min_bytes: int = 0,
    max_bytes: int = 0,
) -> Translation:
    """Writes the schedule as MSCCL XML for one runtime; the arguments are those of `lower`.

    The text is read back as that runtime reads it and executed symbolically, with connections of one message of one
    chunk (the least there can be, so every size is covered) and with those of the protocol. Raises ScheduleError or
    DeadlockError, with nothing written, when the schedule does not fit the runtime or the proof fails.
    """
    chosen = find_profile(profile)
    lowered = lower(
        schedule,
        chosen,
        protocol=protocol,
        channels=channels,
        name=name,
        in_place=in_place,
        min_bytes=min_bytes,
        max_bytes=max_bytes,
    )
    text = to_xml(lowered, chosen)
    program = from_xml(text, str(path), profile=chosen.name, root=lowered.root)
    proofs = (execute(program, fifo_depth=1, max_count=1), execute(program, fifo_depth=FIFO_DEPTH[protocol]))
    with atomic_write(path) as file:
        file.write(text)
    return Translation(program, chosen, proofs)
