"""Program to MSCCL XML: ASCII, LF, double quotes, one element a line, as every runtime's tokenizer wants it."""

from collections.abc import Iterator

from hocket.base.errors import ScheduleError
from hocket.schedule import Gpu, Program, Step
from hocket.translator.msccl.document import read_document
from hocket.translator.msccl.findings import Finding, Severity
from hocket.translator.msccl.profile import Profile
from hocket.translator.msccl.profiles import find_profile
from hocket.translator.msccl.rules import check

__all__ = ["LimitError", "check_limits", "to_xml", "to_xml_noted"]

_HARMLESS = (Severity.SUSPECT, Severity.NOTE)


class LimitError(ScheduleError):
    """A program is not what a runtime loads, selects and runs, by a `rule` (empty where the error is told on, with a
    file's name, say): lowered in another way it may be."""

    def __init__(self, message: str, rule: str = "") -> None:
        super().__init__(message)
        self.rule = rule


def to_xml(program: Program, profile: str | Profile) -> str:
    """The program as MSCCL XML text for one runtime.

    Raises LimitError with the place, the number, the limit and a remedy when the runtime would not load, select or run
    it; ScheduleError for a collective it does not have.
    """
    return to_xml_noted(program, profile)[0]


def to_xml_noted(program: Program, profile: str | Profile) -> tuple[str, tuple[Finding, ...]]:
    """The text, and what is suspicious or worth a note of it for that runtime; errors as of `to_xml`."""
    chosen = find_profile(profile)
    name = program.name or "program"
    if program.kind not in chosen.collective_names:
        known = ", ".join(chosen.collective_names)
        raise ScheduleError(f"{name} does not fit {chosen.name}: it has no collective {program.kind}; it has {known}")
    # the runtimes' tokenizer ends values at quotes and decodes no entities
    if len(name) > chosen.max_name or not (name.isascii() and name.isprintable()) or set(name) & set('"<>&'):
        raise ScheduleError(
            f"{name!r} cannot be a name for {chosen.name}: it must be at most {chosen.max_name} printable ASCII "
            "characters without quotes, <, > and &; give another with --name"
        )
    text = "\n".join(_lines(program, chosen)) + "\n"
    findings = tuple(finding for finding, _ in check(read_document(text, name), chosen))
    for finding in findings:
        if finding.severity not in _HARMLESS:
            place = f"{finding.element}: " if finding.element else ""
            message = f"{name} does not fit {chosen.name}: {place}{finding.message}; {finding.remedy}"
            raise LimitError(message, finding.rule)
    return text, findings


def check_limits(program: Program, profile: str | Profile) -> None:
    """Raises ScheduleError when the runtime would not load, select or run the program, as `to_xml`."""
    to_xml(program, profile)


def _lines(program: Program, profile: Profile) -> Iterator[str]:
    yield (
        f'<algo name="{program.name}" proto="{program.protocol}" nchannels="{program.num_channels}" '
        f'nchunksperloop="{program.chunks_per_loop}" ngpus="{program.num_ranks}" '
        f'coll="{profile.collective_names[program.kind]}" inplace="{program.in_place:d}" '
        f'outofplace="{program.out_of_place:d}" minBytes="{program.min_bytes}" '
        f'maxBytes="{profile.max_attribute(program.max_bytes)}" runtime="{profile.name}">'
    )
    for rank, gpu in enumerate(program.gpus):
        yield from _gpu_lines(rank, gpu)
    yield "</algo>"


def _gpu_lines(rank: int, gpu: Gpu) -> Iterator[str]:
    yield (
        f'  <gpu id="{rank}" i_chunks="{gpu.input_chunks}" o_chunks="{gpu.output_chunks}" '
        f's_chunks="{gpu.scratch_chunks}">'
    )
    for number, block in enumerate(gpu.thread_blocks):
        yield f'    <tb id="{number}" send="{block.send}" recv="{block.receive}" chan="{block.channel}">'
        for position, step in enumerate(block.steps):
            yield _step_line(position, step)
        yield "    </tb>"
    yield "  </gpu>"


def _step_line(position: int, step: Step) -> str:
    return (
        f'      <step s="{position}" type="{step.type}" srcbuf="{step.src_buffer}" srcoff="{step.src_offset}" '
        f'dstbuf="{step.dst_buffer}" dstoff="{step.dst_offset}" cnt="{step.count}" depid="{step.depend_block}" '
        f'deps="{step.depend_step}" hasdep="{step.has_dependents:d}"/>'
    )
