"""Several instances of a program beside each other, each on a part of every chunk."""

from dataclasses import replace

from hocket.schedule import Gpu, Program, Step, ThreadBlock

__all__ = ["part_chunks", "replicate"]


def part_chunks(program: Program) -> int:
    """Chunks of a rank's part of the buffers; of the whole buffer, where ranks have none of their own."""
    return program.chunks_per_loop // (1 if program.kind.shares_buffer else program.num_ranks)


def replicate(program: Program, instances: int) -> Program:
    """The program `instances` times beside itself: instance i does the i-th part of each rank's part of the buffers
    (`part_chunks`), with thread blocks and channels of its own. No step may reach over several parts: it would have no
    place that is contiguous in an instance.

    One thread block moves a part of a wide link's bandwidth only; more of them move more.
    """
    part = part_chunks(program)
    return replace(
        program,
        chunks_per_loop=program.chunks_per_loop * instances,
        num_channels=program.num_channels * instances,
        gpus=tuple(_Replicas(program, rank, part, instances).gpu() for rank in range(program.num_ranks)),
    )


class _Replicas:
    def __init__(self, program: Program, rank: int, part: int, instances: int) -> None:
        self._program = program
        self._gpu = program.gpus[rank]
        self._part = part
        self._instances = instances

    def gpu(self) -> Gpu:
        gpu, times = self._gpu, self._instances
        blocks = tuple(self._block(block, i) for i in range(times) for block in gpu.thread_blocks)
        return Gpu(gpu.input_chunks * times, gpu.output_chunks * times, gpu.scratch_chunks * times, blocks)

    def _block(self, block: ThreadBlock, instance: int) -> ThreadBlock:
        return ThreadBlock(
            block.send,
            block.receive,
            block.channel + instance * self._program.num_channels,
            tuple(self._step(step, instance) for step in block.steps),
        )

    def _step(self, step: Step, instance: int) -> Step:
        source, target = step.src_offset, step.dst_offset
        # the end that a step does not use is a peer's place, for information only
        if step.type.reads:
            source = self._offset(step.src_buffer, source, instance)
        if step.type.writes:
            target = self._offset(step.dst_buffer, target, instance)
        return replace(
            step,
            src_offset=source,
            dst_offset=target,
            depend_block=-1 if step.depend_block < 0 else step.depend_block + instance * len(self._gpu.thread_blocks),
        )

    def _offset(self, buffer: str, offset: int, instance: int) -> int:
        if offset < 0:
            return offset
        part = self._gpu.scratch_chunks if buffer == "s" else self._part
        number, inside = divmod(offset, part)
        return (number * self._instances + instance) * part + inside
