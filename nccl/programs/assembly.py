"""Thread blocks of all ranks into a program."""

from collections.abc import Sequence

from hocket.nccl.programs.request import NcclCall
from hocket.schedule import Gpu, Kind, Program, ThreadBlock

__all__ = ["assemble"]


def assemble(
    request: NcclCall, blocks: Sequence[Sequence[ThreadBlock]], chunks: int, channels: int, scratch: int = 0
) -> Program:
    """The program of which rank r runs `blocks[r]`, on a buffer of `chunks` chunks; right in place and out of place."""
    block = chunks // request.ranks
    inputs = block if request.kind is Kind.ALL_GATHER else chunks
    outputs = block if request.kind is Kind.REDUCE_SCATTER else chunks
    return Program(
        name=request.name,
        kind=request.kind,
        chunks_per_loop=chunks,
        num_channels=channels,
        protocol=request.protocol,
        in_place=True,
        out_of_place=True,
        min_bytes=0,
        max_bytes=0,
        gpus=tuple(Gpu(inputs, outputs, scratch, tuple(of_rank)) for of_rank in blocks),
        root=request.root,
    )
