"""Program to MSCCL XML: ASCII, LF, double quotes, one element a line, as every runtime's tokenizer wants it."""

from collections.abc import Iterator

from hocket.schedule import Gpu, Program, Step
from hocket.translator.limits import check_limits
from hocket.translator.profiles import Profile, ProfileName, find_profile

__all__ = ["to_xml"]


def to_xml(program: Program, profile: str | ProfileName | Profile) -> str:
    """The program as MSCCL XML text for one runtime. Raises ScheduleError when it does not fit (`check_limits`)."""
    chosen = find_profile(profile)
    check_limits(program, chosen)
    return "\n".join(_lines(program, chosen)) + "\n"


def _lines(program: Program, profile: Profile) -> Iterator[str]:
    yield (
        f'<algo name="{program.name}" proto="{program.protocol}" nchannels="{program.num_channels}" '
        f'nchunksperloop="{program.chunks_per_loop}" ngpus="{program.num_ranks}" '
        f'coll="{profile.collective_names[program.kind]}" inplace="{program.in_place:d}" '
        f'outofplace="{program.out_of_place:d}" minBytes="{program.min_bytes}" maxBytes="{program.max_bytes}">'
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
