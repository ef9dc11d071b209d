"""Whether a program fits a runtime: every hard limit, before the runtime rejects, ignores or crashes on it."""

from collections import Counter
from collections.abc import Iterator

from hocket.core.errors import ScheduleError
from hocket.schedule import Gpu, Kind, Program, ThreadBlock
from hocket.translator.profiles import Profile, ProfileName, find_profile

__all__ = ["check_limits"]


def check_limits(program: Program, profile: str | ProfileName | Profile) -> None:
    """Raises ScheduleError with rank, thread block, number, limit and remedy when the runtime would not run it."""
    chosen = find_profile(profile)
    problem = next(_problems(program, chosen), None)
    if problem is not None:
        raise ScheduleError(f"{program.name or 'program'} does not fit {chosen.name}: {problem}")


def _problems(program: Program, profile: Profile) -> Iterator[str]:
    if program.kind not in profile.collective_names:
        names = ", ".join(profile.collective_names)
        yield f"it has no collective {program.kind}; it has {names}"
    if len(program.name) > profile.max_name or '"' in program.name or not program.name.isprintable():
        yield f"the name must be at most {profile.max_name} printable characters without quotes"
    if program.max_bytes == 0 and profile.max_bytes_exclusive:
        yield "maxBytes is 0, with which no size selects the file; give a finite maxBytes"
    largest = program.max_bytes - profile.max_bytes_exclusive
    if program.max_bytes and largest // program.chunks_per_loop * program.chunks_per_loop < max(program.min_bytes, 1):
        yield (
            f"no size of minBytes {program.min_bytes} to maxBytes {program.max_bytes} selects the file: a size must be "
            f"a multiple of its {program.chunks_per_loop} chunks; give a wider range"
        )
    if program.num_channels > profile.max_channels:
        yield f"{program.num_channels} channels, limit {profile.max_channels}; use fewer channels"
    if program.num_ranks > profile.max_children:
        yield f"{program.num_ranks} gpus, limit {profile.max_children}; use fewer ranks"
    for rank, gpu in enumerate(program.gpus):
        for problem in _gpu_problems(program, gpu, profile):
            yield f"rank {rank}: {problem}"


def _gpu_problems(program: Program, gpu: Gpu, profile: Profile) -> Iterator[str]:
    blocks = gpu.thread_blocks
    most_blocks = min(profile.max_thread_blocks, profile.max_children)
    if not blocks:
        yield "no thread block, and no runtime launches a kernel of none; a rank must take part"
    if len(blocks) > most_blocks:
        yield f"{len(blocks)} thread blocks, limit {most_blocks}; use fewer channels or a schedule with fewer peers"
    nodes = 1 + program.num_ranks + len(blocks) + sum(len(block.steps) for block in blocks)
    if nodes > profile.max_nodes:
        yield f"{nodes} XML elements for this rank, limit {profile.max_nodes}; use fewer chunks"
    users = Counter(("send", block.channel) for block in blocks if block.send >= 0)
    users.update(("receive", block.channel) for block in blocks if block.receive >= 0)
    for (direction, channel), count in users.items():
        if count > profile.max_blocks_per_channel:
            limit = profile.max_blocks_per_channel
            yield f"{count} thread blocks {direction} on channel {channel}, limit {limit}; use more channels"
    if profile.checks_chunk_counts and program.kind is not Kind.CUSTOM:
        yield from _chunk_problems(program, gpu)
    for number, block in enumerate(blocks):
        for problem in _block_problems(block, profile):
            yield f"thread block {number}: {problem}"


def _chunk_problems(program: Program, gpu: Gpu) -> Iterator[str]:
    factors = {
        "i": program.num_ranks if program.kind is Kind.ALL_GATHER else 1,
        "o": program.num_ranks if program.kind is Kind.REDUCE_SCATTER else 1,
    }
    for buffer, chunks in (("i", gpu.input_chunks), ("o", gpu.output_chunks)):
        expected = program.chunks_per_loop // factors[buffer]
        if chunks not in (0, expected):
            loop = program.chunks_per_loop
            yield f"{buffer}_chunks is {chunks}; with nchunksperloop {loop} it must be {expected} (or 0)"


def _block_problems(block: ThreadBlock, profile: Profile) -> Iterator[str]:
    most_steps = min(profile.max_steps, profile.max_children)
    if len(block.steps) > most_steps:
        yield f"{len(block.steps)} steps, limit {most_steps}; use more channels or fewer chunks"
    for number, step in enumerate(block.steps):
        if step.type not in profile.step_types:
            yield f"step {number} is a fused {step.type}, which {profile.name} cannot run; translate its schedule anew"
        if step.count > profile.max_count:
            yield f"step {number} moves {step.count} chunks, limit {profile.max_count}; split the step"
        if max(step.src_offset, step.dst_offset) > profile.max_offset:
            yield f"step {number}: offsets are limited to {profile.max_offset}; use fewer chunks"
        if step.depend_block > profile.max_dependency_block:
            yield (
                f"step {number} waits for thread block {step.depend_block}, limit {profile.max_dependency_block}; "
                "use fewer thread blocks"
            )
