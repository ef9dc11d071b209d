"""What NCCL's algorithms over switches have in common: heads, one a GPU, and how a call is cut for them.

Every channel loops over its part of the buffer, in each pass a chunk for every head (src/device/all_reduce.h of 2.30).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hocket.base.errors import ScheduleError
from hocket.nccl.head_chunks import head_chunk_bytes
from hocket.nccl.programs.chunking import SLOTS
from hocket.nccl.programs.request import NcclCall
from hocket.nccl.programs.split import split
from hocket.schedule import Actions, Kernel, Kind, Wait

__all__ = ["Heads", "each_channel", "finished", "in_order", "interleaved", "require_regular", "slots", "step_ps"]

_GB = 10**9
_PS = 10**6  # of a us


@dataclass(frozen=True)
class Heads:
    """`of[h][m]` is the rank that is head h in machine m; `machines[m]` its ranks."""

    of: tuple[tuple[int, ...], ...]
    machines: tuple[range, ...]

    @classmethod
    def found(cls, request: NcclCall, graph: str) -> "Heads":
        """The first GPUs of the channels that NCCL's search found."""
        require_regular(request)
        found = request.model.graphs[graph]
        local = dict.fromkeys(found["gpus"].reshape(found["channels"], -1)[:, 0].tolist())
        first = range(0, request.ranks, request.gpus)
        return cls(
            tuple(tuple(machine + gpu for machine in first) for gpu in local),
            tuple(range(machine, machine + request.gpus) for machine in first),
        )

    def __len__(self) -> int:
        return len(self.of)


def require_regular(request: NcclCall) -> None:
    """Raises ScheduleError for a communicator whose nodes differ, or whose ranks do not go node by node."""
    if not request.model.is_regular:
        raise ScheduleError(
            f"{request.name}: programs over switches are for nodes that are alike, whose ranks follow each other"
        )


def step_ps(request: NcclCall, *, between: bool = False) -> int:
    """NCCL's latency of a step inside a machine, or between two."""
    _, inside, other = request.model.timed_by(request.protocol).steps_us(request.algorithm, request.protocol)
    return round((other if between else inside) * _PS)


def in_order(actions: Actions, works: Iterable[int]) -> None:
    """A group of warps does its work of one pass after that of the pass before."""
    for work in works:
        actions.wait(work, Wait(work, lag=1))


def slots(works: Iterable[int]) -> list[Wait]:
    """For slots of connections that were full: the works that empty them have done so `SLOTS` passes ago."""
    return [Wait(work, lag=SLOTS) for work in works]


def each_channel(request: NcclCall, heads: int, grain: int) -> NDArray[np.int64]:
    """Bytes of every pass and chunk (passes x channels * heads), where each channel has a part of the buffer to itself:
    in its last pass the heads share what is left in multiples of `grain` bytes."""
    parts = split(request)
    cut = [
        _passes(
            part,
            head_chunk_bytes(request.model, request.term, part * request.blocks, 1, heads),
            heads,
            grain,
            request.blocks == 1,
        )
        for part in parts
    ]
    sizes = np.zeros((max(map(len, cut)), len(parts), heads), np.int64)
    for channel, passes in enumerate(cut):
        sizes[: len(passes), channel] = passes
    return sizes.reshape(len(sizes), -1)


def interleaved(request: NcclCall, chunks: int) -> NDArray[np.int64]:
    """The same of an all_reduce in which the channels take turns, as over CollNet: in every pass the next chunks of
    the buffer, so many for each channel. Raises ScheduleError for the others, which are not simulated."""
    if request.kind is not Kind.ALL_REDUCE:
        raise ScheduleError(f"{request.name}: over several machines only its AllReduce is simulated; take Ring")
    each = request.channels * chunks
    chunk = head_chunk_bytes(request.model, request.term, request.size_bytes, request.channels, chunks)
    begin = np.arange(-(-request.size_bytes // (each * chunk)) * each).reshape(-1, each) * chunk
    return np.clip(request.size_bytes - begin, 0, chunk)


def _passes(part: int, chunk: int, heads: int, grain: int, shared: bool) -> list[list[int]]:
    """Of a channel: for a part that the heads share, or of which each has its own."""
    each = chunk * (heads if shared else 1)
    full, left = divmod(part, each)
    passes = [[chunk] * heads] * full
    if left and shared:
        last = -(-left // (heads * grain)) * grain
        passes += [[min(max(left - head * last, 0), last) for head in range(heads)]]
    elif left:
        passes += [[left] * heads]
    return passes


def finished(
    request: NcclCall, sizes: NDArray[np.int64], actions: Actions, owners: Sequence[int] = (-1,), heads: int = 1
) -> Kernel:
    """The kernel whose chunks are the `owners`' in turn. NCCL's bandwidth is that of the whole call: each of the
    `heads`, which take the chunks in turn, has the share of it that the one with most bytes works on (of small calls
    few heads have any)."""
    of_head = sizes.sum(axis=0).reshape(-1, heads).sum(axis=0)
    return Kernel(
        name=request.name,
        kind=request.kind,
        num_ranks=request.ranks,
        size_bytes=request.size_bytes,
        bandwidth=int(request.timed_bandwidth * _GB * of_head.max() / max(1, of_head.sum())),
        chunk_bytes=sizes,
        owner=np.resize(np.array(owners, np.int32), sizes.shape[1]),
        actions=tuple(actions),
    )
