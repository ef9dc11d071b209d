"""How much of a channel's bytes NCCL moves at a time (`calcCollChunking` of src/enqueue.cc of 2.30; usual buffers)."""

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from hocket.nccl.programs.hops import Hops
from hocket.nccl.programs.nics import crossings
from hocket.nccl.programs.pace import pace
from hocket.nccl.programs.request import NcclCall
from hocket.schedule import Kind, Passes, Program

__all__ = ["SLOTS", "num_sendings", "passes"]

#: Of a connection's buffer.
SLOTS = 8
# What is passed on at a time, data, where chunks are cut: with LL and LL128 what 512 or 640 threads do in one go.
_LEAST_SLICE = {"Simple": 32 << 10, "LL": 4 << 10, "LL128": 38_400}
# Bytes of data in a slot; of LL half are flags, of LL128 a sixteenth.
_SLOT = {"Simple": 4 << 17, "LL": 32 << 10, "LL128": 576_000}
_WIRE = {"Simple": Fraction(1), "LL": Fraction(2), "LL128": Fraction(16, 15)}
_GRAIN = {"Simple": 512, "LL": 16, "LL128": 1920}
_RING_SLOTS = 4  # of a chunk, with Simple, of rings that every rank's data goes round


def passes(
    request: NcclCall,
    program: Program,
    shares: Sequence[int],
    around: int = 1,
    hops: int = 1,
    path: Hops | None = None,
) -> Passes:
    """The call of the program whose channels have `shares` bytes of a rank's part. `around` chunks take a share at a
    time, of the last pass as much as is left, evenly. All of a channel's bytes go over `hops` (where each rank sends
    some: 1); `path` is the longest that data takes, where the model's latency is that of a path."""
    parts = [_parts(request, share, around) for share in shares]
    table = np.zeros((max(map(len, parts)), len(parts)), np.int64)
    for channel, part in enumerate(parts):
        table[: len(part), channel] = part
    slices = _slices(request, int(table.max()))
    pieces = np.minimum(-(-table // _LEAST_SLICE[request.protocol]), slices).sum(axis=0)
    return Passes(
        size_bytes=request.size_bytes,
        chunk_bytes=table,
        fifo_depth=SLOTS // _slots(request) * slices,
        wire=_WIRE[request.protocol],
        slices=slices,
        least_slice=_LEAST_SLICE[request.protocol],
        pace=pace(request, int(pieces.max()), hops, path),
        crossings=crossings(request, program),
    )


def num_sendings(request: NcclCall, shares: Sequence[int], around: int = 1) -> int:
    """How often the step of a rank sends in all passes of such a program, on all channels."""
    chunks = [_chunk_bytes(request, share) for share in shares]
    largest = max(min(chunk, -(-share // around)) for chunk, share in zip(chunks, shares, strict=True))
    passes = sum(-(-share // (chunk * around)) for chunk, share in zip(chunks, shares, strict=True))
    return passes * _slices(request, largest)


def _slices(request: NcclCall, chunk: int) -> int:
    """Into how many a step cuts a chunk at most."""
    if _goes_round(request):
        return 1  # NCCL's constants were measured of steps one after the other: slices would hide latencies in bytes
    return 1 if request.protocol == "Simple" else -(-chunk // _LEAST_SLICE[request.protocol])


def _parts(request: NcclCall, share: int, around: int) -> list[int]:
    """Bytes of a channel's chunk in each pass."""
    chunk = _chunk_bytes(request, share)
    loops, rest = divmod(share, chunk * around)
    return [chunk] * loops + [-(-rest // around)] * (rest > 0)


def _chunk_bytes(request: NcclCall, channel_bytes: int) -> int:
    """Bytes of a chunk on a channel that has `channel_bytes` of a rank's part."""
    chunk = _SLOT[request.protocol] * _slots(request)
    size = channel_bytes * request.blocks
    if request.algorithm == "Tree" and request.protocol == "LL128":
        depth = 1 + (request.nodes.bit_length() - 1) + request.gpus / 10
        for least_loops, least_chunk in ((64, 128 << 10), (16, 32 << 10)):
            while size // chunk < depth * least_loops / request.gpus and chunk > least_chunk:
                chunk //= 2
    if request.algorithm == "PAT":
        loops = 32 if request.kind is Kind.ALL_GATHER else 16
        while chunk * loops > size and chunk > 64 << 10:
            chunk //= 2
    return chunk // _GRAIN[request.protocol] * _GRAIN[request.protocol]


def _slots(request: NcclCall) -> int:
    """Of a chunk."""
    return _RING_SLOTS if _goes_round(request) and request.protocol == "Simple" else 1


def _goes_round(request: NcclCall) -> bool:
    """Whether every rank's data goes round a ring."""
    return request.algorithm == "Ring" and request.kind not in (Kind.BROADCAST, Kind.REDUCE)
