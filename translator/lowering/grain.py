"""The coarsest chunks that a program can be said in: those that always go together are one."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from hocket.schedule import Gpu, Program
from hocket.translator.lowering.messages import Messages
from hocket.translator.lowering.placement import LocalCopy

__all__ = ["coarsest"]


def coarsest(
    shape: Program, messages: Messages, local: Sequence[LocalCopy]
) -> tuple[Program, Messages, Sequence[LocalCopy]]:
    """The same, which moves parts of a buffer that all ranks share, in chunks as large as all that moves is made of: a
    one-shot all_reduce, which sends whole buffers, in one. Runtimes run a program where its chunks divide a call's
    elements, so that fewer serve more calls.
    """
    columns = (messages.count, messages.src_offset, messages.dst_offset)
    steps = [value for step in local for value in (step.count, step.source_offset, step.destination_offset)]
    grain = int(np.gcd.reduce(np.concatenate([[shape.chunks_per_loop], *columns, steps]).astype(np.int64)))
    if grain == 1:
        return shape, messages, local
    gpus = tuple(Gpu(gpu.input_chunks // grain, gpu.output_chunks // grain, 0, ()) for gpu in shape.gpus)
    return (
        replace(shape, chunks_per_loop=shape.chunks_per_loop // grain, gpus=gpus),
        replace(
            messages,
            count=messages.count // grain,
            src_offset=messages.src_offset // grain,
            dst_offset=messages.dst_offset // grain,
        ),
        [
            replace(
                step,
                count=step.count // grain,
                source_offset=step.source_offset // grain,
                destination_offset=step.destination_offset // grain,
            )
            for step in local
        ],
    )
