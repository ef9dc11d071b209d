"""Numbers of thread blocks: a runtime keeps that of one that is waited for in few bits."""

from dataclasses import replace

import numpy as np

from hocket.schedule import Gpu, Program, Steps
from hocket.translator.msccl.profile import Profile

__all__ = ["renumber"]


def renumber(program: Program, profile: Profile) -> Program:
    """The program with the thread blocks that others wait for first, on each rank where one of them has a number that
    the runtime cannot keep. On a rank where more are waited for than it can number, some still have."""
    return replace(program, gpus=tuple(_awaited_first(gpu, profile.max_dependency_block) for gpu in program.gpus))


def _awaited_first(gpu: Gpu, largest: int) -> Gpu:
    if len(gpu.thread_blocks) <= largest + 1:
        return gpu
    awaited = np.unique(np.concatenate([block.rows["depend_block"] for block in gpu.thread_blocks]))
    if awaited[-1] <= largest:
        return gpu
    order = np.argsort(~np.isin(np.arange(len(gpu.thread_blocks)), awaited), kind="stable")
    number = np.empty(len(order) + 1, np.int32)
    number[order], number[-1] = np.arange(len(order)), -1
    blocks = []
    for old in order.tolist():
        rows = gpu.thread_blocks[old].rows.copy()
        rows["depend_block"] = number[rows["depend_block"]]
        blocks.append(replace(gpu.thread_blocks[old], steps=Steps(rows)))
    return replace(gpu, thread_blocks=tuple(blocks))
