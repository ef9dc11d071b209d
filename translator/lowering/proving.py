"""A program as the text that a runtime reads, proved from that text."""

from dataclasses import dataclass
from pathlib import Path

from hocket.base.errors import DeadlockError
from hocket.base.files import write_file
from hocket.base.units import exact_bytes, format_limit
from hocket.schedule import FIFO_DEPTH, Program, Proof, execute, least_safe_count
from hocket.translator.formats.program_json import from_program_json, to_program_json
from hocket.translator.lowering.lowering import Candidate
from hocket.translator.msccl.findings import Finding
from hocket.translator.msccl.profile import Profile
from hocket.translator.msccl.profiles import find_profile
from hocket.translator.msccl.residency import residency_findings
from hocket.translator.msccl.slices import largest_of_count, least_count
from hocket.translator.msccl.xml_read import from_xml
from hocket.translator.msccl.xml_write import to_xml_noted

__all__ = ["Translated", "prove"]


@dataclass(frozen=True, slots=True)
class Translated:
    """The text of a file, the program that a runtime will read from it, what was proved of it (with connections that
    hold `slots` messages, and others), the ways to lower the schedule that were tried, the one taken first, and what is
    suspicious or worth a note of the text for that runtime."""

    text: str
    program: Program
    profile: Profile
    slots: int
    proofs: tuple[Proof, ...]
    candidates: tuple[Candidate, ...] = ()
    notes: tuple[Finding, ...] = ()

    def write(self, path: Path | str) -> None:
        """Writes the text to a file."""
        write_file(path, self.text)


def prove(
    program: Program,
    profile: str | Profile,
    slots: int | None = None,
    xml: tuple[str, tuple[Finding, ...]] | None = None,
) -> Translated:
    """The program as text for one runtime, proved with connections of `slots` messages of one chunk each, so that every
    size is covered, and with those of the protocol and messages of whole steps. Without `slots` the first have the
    protocol's depth too, and as many chunks as the window's largest size leaves in a message. `xml`: what
    `to_xml_noted` made of the program, where it was written already.

    Raises ScheduleError or DeadlockError when it does not fit the runtime or the proof fails.
    """
    chosen, depth = find_profile(profile), FIFO_DEPTH[program.protocol]
    notes: tuple[Finding, ...] = ()
    if chosen.reads_xml:
        text, notes = xml or to_xml_noted(program, chosen)
        read = from_xml(text, program.name, profile=chosen.name, root=program.root)
    else:
        text = to_program_json(program)
        read = from_program_json(text, program.name)
    count = 1 if slots else least_count(read, chosen)
    try:
        proofs = (execute(read, fifo_depth=slots or depth, max_count=count), execute(read, fifo_depth=depth))
    except DeadlockError as error:
        least = least_safe_count(read, fifo_depth=depth)
        if slots or least is None:
            raise
        largest = largest_of_count(read, chosen, least)
        remedy = f"it is right up to {format_limit(largest)}: give --max-bytes {exact_bytes(largest)}"
        raise DeadlockError(*error.args, remedy) from error
    notes += tuple(residency_findings([len(gpu.thread_blocks) for gpu in read.gpus], chosen.name, None))
    return Translated(text, read, chosen, slots or depth, proofs, notes=notes)
