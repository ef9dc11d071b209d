"""How much NCCL moves at a time for each head (`calcCollChunking` of src/enqueue.cc, src/transport/nvls.cc of 2.30)."""

from hocket.nccl.model import NcclModel, Term
from hocket.nccl.names import PATH_TYPES

__all__ = ["head_chunk_bytes"]

_KIB = 1 << 10
_SLOW_NVLS = 150  # GB/s of an all_reduce over CollNet below which NVLS takes small chunks


def head_chunk_bytes(model: NcclModel, term: Term, size: int, channels: int, heads: int) -> int:
    """Bytes of a chunk where so many channels share `size` bytes among so many heads each, by NVLS, NVLSTree or
    CollNet, whose `term` of the model it is."""
    if term.algorithm == "CollNetDirect":
        return _halved(512, size, channels * heads, ((128, 128), (16, 64), (16, 32)))
    if term.algorithm == "CollNetChain":
        depth = model.ranks // model.machines
        return _halved(256, size, channels, ((64 * depth, 128), (8 * depth, 64), (depth, 32)))
    if term.algorithm == "NVLSTree":
        return _lowered(_most_of_tree(model), size, channels * heads, ((16, 128), (4, 64), (1, 32)))
    most = 128
    if model.machines > 1 and term.bandwidth < _SLOW_NVLS:
        most = 32
    return _lowered(most, size, channels * heads, ((64, 64), (8, 32), (2, 16)))


def _lowered(chunk: int, size: int, lanes: int, limits: tuple[tuple[int, int], ...]) -> int:
    """Bytes of a chunk of some KiB, or of less where the size does not fill so many passes of all lanes."""
    for passes, least in limits:
        if size < passes * lanes * chunk * _KIB:
            chunk = min(chunk, least)
    return chunk * _KIB


def _halved(chunk: int, size: int, lanes: int, limits: tuple[tuple[int, int], ...]) -> int:
    for passes, least in limits:
        while size // (lanes * chunk * _KIB) < passes and chunk > least:
            chunk //= 2
    return chunk * _KIB


def _most_of_tree(model: NcclModel) -> int:
    """KiB of a chunk of NVLSTree (`ncclNvlsTreeSm100Tuning`)."""
    gpus, nodes = model.ranks // model.machines, model.machines
    net = min(each.speed for each in model.machine.nets()) / 8000  # GB/s
    if min(gpu.sm for _, gpu in model.machine.gpus()) < 100 or net < 48:
        return 64 if nodes >= 4 else 128
    near = model.graphs["NVLS"]["type_inter"] <= PATH_TYPES.index("PXB")
    if nodes == 2:
        if gpus <= 4:
            return 256
        return 64 if gpus >= 16 or (gpus <= 8 and near and net < 96) else 128
    if net >= 96:
        return 256 if gpus <= 8 else 128 if gpus < 32 else 64
    return 64 if near else 128
