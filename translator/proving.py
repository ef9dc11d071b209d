"""A program as the text that a runtime reads, proved from that text."""

from dataclasses import dataclass
from pathlib import Path

from hocket.core.files import atomic_write
from hocket.schedule import FIFO_DEPTH, Program, Proof, execute
from hocket.translator.lowering import Candidate
from hocket.translator.profiles import Profile, ProfileName, find_profile
from hocket.translator.program_json import from_program_json, to_program_json
from hocket.translator.xml_read import from_xml
from hocket.translator.xml_write import to_xml

__all__ = ["Translation", "prove"]


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
