"""Programs for runtimes that run no step that does several things."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from hocket.schedule import Gpu, Program, Step, StepType, ThreadBlock
from hocket.translator.msccl.profile import Profile

__all__ = ["unfuse"]

_SUMS = (StepType.RECEIVE_REDUCE_COPY, StepType.RECEIVE_REDUCE_SEND, StepType.RECEIVE_REDUCE_COPY_SEND)


def unfuse(program: Program, profile: Profile) -> Program:
    """The program as the profile's kernels can run it: what receives and reduces or sends at once becomes a receive, a
    local reduction and a send, in the same thread block, as RCCL's kernels want it.

    What is to be reduced is received into scratch of the thread block's own, which its next step may use again: the
    runtimes' blocks do one step after the other. Order, messages and results stay what they were.
    """
    known = np.array([kind in profile.step_types for kind in StepType])
    if known[program.rows["type"]].all():
        return program
    return replace(program, gpus=tuple(map(_unfused, program.gpus)))


def _unfused(gpu: Gpu) -> Gpu:
    scratch, blocks, last_part = gpu.scratch_chunks, [], []
    for block in gpu.thread_blocks:
        parts = [list(_parts(step, scratch)) for step in block.steps]
        scratch += max((step.count for step in block.steps if step.type in _SUMS), default=0)
        ends, end = [], -1
        for part in parts:
            end += len(part)
            ends.append(end)
        last_part.append(ends)
        blocks.append([step for part in parts for step in part])
    return Gpu(
        gpu.input_chunks,
        gpu.output_chunks,
        scratch,
        tuple(
            ThreadBlock(old.send, old.receive, old.channel, tuple(_waiting(step, last_part) for step in steps))
            for old, steps in zip(gpu.thread_blocks, blocks, strict=True)
        ),
    )


def _waiting(step: Step, last_part: list[list[int]]) -> Step:
    """The step, waiting for the last part of what it waited for."""
    if step.depend_block < 0:
        return step
    return replace(step, depend_step=last_part[step.depend_block][step.depend_step])


def _parts(step: Step, scratch: int) -> Iterator[Step]:
    """What a step does, one thing after the other, with `scratch` free from that chunk on; the first waits for what the
    step waits for, and the last says that it is done."""
    parts = list(_actions(step, scratch))
    for at, part in enumerate(parts):
        waits = (step.depend_block, step.depend_step) if at == 0 else (-1, -1)
        yield replace(
            part,
            depend_block=waits[0],
            depend_step=waits[1],
            has_dependents=step.has_dependents and at == len(parts) - 1,
        )


def _actions(step: Step, scratch: int) -> Iterator[Step]:
    own, target = (step.src_buffer, step.src_offset), (step.dst_buffer, step.dst_offset)
    spare = ("s", scratch)
    kind = step.type
    if kind == StepType.RECEIVE_COPY_SEND:
        yield Step(StepType.RECEIVE, *own, *target, step.count)
        yield Step(StepType.SEND, *target, *target, step.count)
    elif kind == StepType.RECEIVE_REDUCE_SEND:
        yield Step(StepType.RECEIVE, *own, *spare, step.count)
        yield Step(StepType.REDUCE, *own, *spare, step.count)
        yield Step(StepType.SEND, *spare, *target, step.count)
    elif kind in _SUMS:
        yield Step(StepType.RECEIVE, *own, *spare, step.count)
        if own != target:
            yield Step(StepType.COPY, *own, *target, step.count)
        yield Step(StepType.REDUCE, *spare, *target, step.count)
        if kind.sends:
            yield Step(StepType.SEND, *target, *target, step.count)
    else:
        yield step
