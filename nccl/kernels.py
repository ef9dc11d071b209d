"""On what NCCL runs calls: channels, and the bytes that each moves at a time (src/enqueue.cc of 2.30)."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hocket.nccl.head_chunks import head_chunk_bytes
from hocket.nccl.model import NcclModel
from hocket.nccl.names import ALGORITHMS, PROTOCOLS
from hocket.nccl.releases import Release

__all__ = ["MESSAGE", "Kernels", "collective_kernels", "message_kernels", "message_protocols"]

#: The algorithm of messages from rank to rank, which reach no tuner.
MESSAGE = "SendRecv"

_KIB = 1 << 10
_MESSAGE_STEP = {"LL": 64 * _KIB, "Simple": 512 * _KIB}
_LL_OF_CHANNEL = 16 * _KIB


@dataclass(frozen=True, eq=False)
class Kernels:
    """How calls of some sizes run: columns over the sizes. `expected_us` is what NCCL expects (0: nothing),
    `channels` those that share a call's bytes, `chunk_bytes` what one moves at a time (0: the same at all sizes)."""

    expected_us: NDArray[np.float64]
    channels: NDArray[np.int64]
    chunk_bytes: NDArray[np.int64]


def collective_kernels(
    model: NcclModel, collective: str, algorithm: str, protocol: str, sizes: NDArray[np.int64]
) -> Kernels:
    """Of a collective by an algorithm and a protocol."""
    at = ALGORITHMS.index(algorithm) * len(PROTOCOLS) + PROTOCOLS.index(protocol)
    terms = [model.terms(collective, size)[at] for size in sizes.tolist()]
    expected = np.array([term.time_us for term in terms], np.float64)
    channels = np.array([model.channels_for(algorithm, protocol, size) for size in sizes.tolist()], np.int64)
    chunk = np.zeros(len(sizes), np.int64)
    if algorithm in ("NVLS", "NVLSTree"):
        heads = model.ranks // model.machines  # every GPU is the head of a part
        calls = zip(terms, sizes.tolist(), channels.tolist(), strict=True)
        chunk[:] = [head_chunk_bytes(model, term, size, on, heads) for term, size, on in calls]
    return Kernels(expected, channels, chunk)


def message_protocols(ranks: int, all_channels: int, sizes: NDArray[np.int64], release: Release) -> list[str]:
    """The protocol of a message of each size (bytes of one message), inside a machine of NVLink."""
    if release.ll_of_all_channels:
        most = np.full(len(sizes), _power_of_two(all_channels) * _LL_OF_CHANNEL)
    else:
        most = _message_channels(ranks, all_channels, sizes, "Simple") * _LL_OF_CHANNEL
    return ["LL" if small else "Simple" for small in sizes <= most]


def message_kernels(ranks: int, all_channels: int, protocol: str, sizes: NDArray[np.int64]) -> Kernels:
    """Of messages inside a machine of NVLink (`addP2pToPlan`), whose every rank talks to every other."""
    channels = _message_channels(ranks, all_channels, sizes, protocol)
    return Kernels(np.zeros(len(sizes)), channels, np.zeros(len(sizes), np.int64))


def _message_channels(ranks: int, all_channels: int, sizes: NDArray[np.int64], protocol: str) -> NDArray[np.int64]:
    """As many as all ranks can have at once; twice as many while a channel's part is more than 32 steps."""
    step = _MESSAGE_STEP[protocol]
    most = _power_of_two(all_channels)
    least = most
    while least * ranks > most and least > 1:
        least //= 2
    channels = np.clip(-(-sizes // (step // 8)), 1, least)
    for _ in range(most.bit_length()):
        channels = np.where((-(-sizes // channels) > 32 * step) & (channels <= most // 2), 2 * channels, channels)
    return channels


def _power_of_two(number: int) -> int:
    """The next one."""
    return 1 << (number - 1).bit_length()
