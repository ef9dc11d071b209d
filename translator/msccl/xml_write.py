"""Program to MSCCL XML: ASCII, LF, double quotes, one element a line, as every runtime's tokenizer wants it."""

from collections import Counter
from collections.abc import Sequence

import numpy as np

from hocket._core import translator as engine
from hocket.base.errors import ScheduleError
from hocket.schedule import BUFFERS, STEP_ROW, Gpu, Program, StepType
from hocket.translator.msccl.document import read_document
from hocket.translator.msccl.findings import Finding, Severity
from hocket.translator.msccl.profile import Profile
from hocket.translator.msccl.profiles import find_profile
from hocket.translator.msccl.rules import FEWER_BLOCKS, MAX_CHUNKS, TOO_MANY_BLOCKS, check

__all__ = ["LimitError", "check_limits", "check_thread_blocks", "numbers_fit", "to_xml", "to_xml_noted"]

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
    text = _text(program, chosen)
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


def check_thread_blocks(name: str, thread_blocks: Sequence[int], profile: Profile) -> None:
    """Raises LimitError where a rank of so many thread blocks (of each rank) has more than the runtime takes: what
    `to_xml` would say, without the text."""
    ranks = [rank for rank, number in enumerate(thread_blocks) if number > profile.max_thread_blocks]
    if ranks:
        more = f" (and {len(ranks) - 1} more)" if len(ranks) > 1 else ""
        raise LimitError(
            f"{name or 'program'} does not fit {profile.name}: <gpu> rank {ranks[0]}: {thread_blocks[ranks[0]]} thread "
            f"blocks, limit {profile.max_thread_blocks}{more}; {FEWER_BLOCKS}",
            TOO_MANY_BLOCKS,
        )


def numbers_fit(program: Program, profile: Profile, instances: int) -> bool:
    """Whether the numbers of a program that lowering made, so many times beside itself, are within the runtime's limits
    for calls of all sizes: what `check_limits` says of them, without the text. False: it takes that to tell.

    Instances have the same steps, in thread blocks and channels of their own: those alone grow, and chunks."""
    largest = profile.largest_bytes(profile.max_attribute(program.max_bytes))
    chunks = program.chunks_per_loop * instances
    return (
        chunks <= MAX_CHUNKS
        and (largest is None or chunks <= largest)
        and program.num_channels * instances <= profile.max_channels
        and int(program.rows["count"].max(initial=0)) <= profile.max_count
        and all(_numbers_fit(gpu, profile, instances) for gpu in program.gpus)
    )


def _numbers_fit(gpu: Gpu, profile: Profile, instances: int) -> bool:
    blocks = gpu.thread_blocks
    on_channels = Counter(block.channel for block in blocks)
    awaited = np.unique(np.concatenate([block.rows["depend_block"] for block in blocks])) if blocks else np.zeros(0)
    return (
        0 < len(blocks) * instances <= profile.max_thread_blocks
        and max(on_channels.values()) <= profile.max_blocks_per_channel
        and max(len(block.steps) for block in blocks) <= profile.max_steps
        # those that others wait for come first where the runtime cannot keep all numbers
        and int(np.count_nonzero(awaited >= 0)) * instances <= profile.max_dependency_block + 1
    )


def _text(program: Program, profile: Profile) -> str:
    head = (
        f'<algo name="{program.name}" proto="{program.protocol}" nchannels="{program.num_channels}" '
        f'nchunksperloop="{program.chunks_per_loop}" ngpus="{program.num_ranks}" '
        f'coll="{profile.collective_names[program.kind]}" inplace="{program.in_place:d}" '
        f'outofplace="{program.out_of_place:d}" minBytes="{program.min_bytes}" '
        f'maxBytes="{profile.max_attribute(program.max_bytes)}" runtime="{profile.name}">'
    )
    return f"{head}\n{_gpu_elements(program)}</algo>\n"


def _gpu_elements(program: Program) -> str:
    gpus, rows = program.gpus, program.rows
    blocks = [block for gpu in gpus for block in gpu.thread_blocks]
    columns = {name: np.ascontiguousarray(rows[name]) for name in STEP_ROW.names or ()}
    return engine.gpu_elements(
        chunks=np.array([(gpu.input_chunks, gpu.output_chunks, gpu.scratch_chunks) for gpu in gpus], np.int64).ravel(),
        first_block=np.cumsum([0, *(len(gpu.thread_blocks) for gpu in gpus)], dtype=np.int64),
        send=np.array([block.send for block in blocks], np.int32),
        receive=np.array([block.receive for block in blocks], np.int32),
        channel=np.array([block.channel for block in blocks], np.int32),
        first_step=np.cumsum([0, *(len(block.steps) for block in blocks)], dtype=np.int64),
        type=columns["type"],
        source_buffer=columns["src_buffer"],
        source_offset=columns["src_offset"],
        target_buffer=columns["dst_buffer"],
        target_offset=columns["dst_offset"],
        count=columns["count"],
        depend_block=columns["depend_block"],
        depend_step=columns["depend_step"],
        has_dependents=columns["has_dependents"].astype(np.uint8),
        types=list(map(str, StepType)),
        buffers=list(BUFFERS),
    )
