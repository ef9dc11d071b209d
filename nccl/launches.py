"""On how many channels NCCL launches a collective: fewer than it was tuned for where their parts would be too small.

`scheduleCollTasksToPlan` of src/enqueue.cc shares a call out among channels in cells of some least traffic.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hocket.nccl.model import Choices, NcclModel
from hocket.nccl.names import ALGORITHMS, PROTOCOLS
from hocket.nccl.releases import Release

__all__ = ["Cells", "launched_channels", "share_out", "traffic_per_byte"]

_KIB = 1 << 10
_GRAIN = 16


@dataclass(frozen=True, slots=True)
class Cells:
    """`counts` of cells on each channel that is used, in order, of so many `bytes`; the last cell may have fewer."""

    bytes: int
    counts: tuple[int, ...]


def traffic_per_byte(collective: str, ranks: int) -> int:
    """What a byte of a rank's part adds to the traffic of each rank (`ncclFuncTrafficPerByte`)."""
    return {"AllReduce": 2, "AllGather": ranks, "ReduceScatter": ranks}.get(collective, 1)


def share_out(part: int, traffic: int, protocol: str, channels: int, most: int, release: Release) -> Cells:
    """`part` bytes of a rank, of which each is so much `traffic` (LL's four times as much), among the
    `channels` that were tuned, of `most` that there are."""
    least = (16 if release.code < 2900 else 32) * _KIB
    of_byte = traffic * (4 if protocol == "LL" else 1)
    whole = max(least, part * of_byte)
    per_channel = max(least, whole // channels) if release.code < 2900 else _up(whole // channels)
    cell = _up(-(-least // of_byte))
    cells = -(-part // cell)
    each = min(cells, -(-per_channel // (cell * of_byte)))
    if most == 1:
        return Cells(cell, (cells,))
    between, last = divmod(cells - each, each)
    counts = [each] * (1 + between) + [last] * (last > 0)
    if len(counts) > most:
        fewer, more = divmod(cells - each, most - 1)
        counts = [each] + [fewer] * (most - 2) + [fewer + more]
    return Cells(cell, tuple(counts))


def launched_channels(model: NcclModel, choices: Choices) -> NDArray[np.int32]:
    """Channels that carry each of the choices, each a call of its own. What reduces in the network keeps all."""
    traffic = traffic_per_byte(choices.collective, model.ranks)
    blocks = model.ranks if choices.collective in ("AllGather", "ReduceScatter") else 1
    rows = zip(*(column.tolist() for column in (choices.bytes, choices.algorithm, choices.channels)), strict=True)
    launched = []
    for (size, algorithm, channels), protocol in zip(rows, choices.protocol.tolist(), strict=True):
        name = ALGORITHMS[algorithm]
        in_network = name.startswith("CollNet") or (name == "NVLS" and model.machines > 1)
        if in_network or size < blocks:
            launched.append(channels)
            continue
        most = model.channels_of(name)
        cells = share_out(size // blocks, traffic, PROTOCOLS[protocol], channels, most, model.release)
        launched.append(len(cells.counts))
    return np.array(launched, np.int32)


def _up(number: int) -> int:
    return -(-number // _GRAIN) * _GRAIN
