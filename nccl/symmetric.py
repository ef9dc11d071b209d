"""What runs where the buffers are in symmetric windows (`ncclCommWindowRegister` with NCCL_WIN_COLL_SYMMETRIC): kernels
that read and write the other GPUs' memory over NVLink, or copy engines.

Of src/sym_kernels.cc (2.27: src/symmetric.cc, 2.31: src/tuning/sym_model.cc) `ncclSymkPickKernel` and its model, which
all releases share; of src/enqueue.cc when copy engines take a call. Inside one NVLink domain, each call alone.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from hocket.base.errors import TopologyError
from hocket.nccl.model import NcclModel
from hocket.topology.formats.nccl.machine import LinkTarget

__all__ = ["SymmetricCall", "symmetric_calls"]

#: In place of a kernel's name: `cudaMemcpy` by copy engines, which nothing is expected of.
_COPY_ENGINES = "copy engines"

_GBPS = (1 << 30) / 1e6  # GiB/s in bytes a us
_MOST_BLOCKS = 64
_LL_BYTES = 9  # of the bus for a byte by LL: twice the bytes, some processing
_PENALTY = np.float32(0.025)  # of a kernel's time for each block
_LL_LIMIT, _LIMIT = 2 << 30, 64 << 30  # bytes on the bus from which kernels are out
_COPIED = 8 << 20  # elements of a rank from which Blackwell gathers by copy engines (NCCL_SYM_CE_THRESHOLD)


@dataclass(frozen=True, slots=True)
class _Kernel:
    """`ll`: by flags beside the data; `multicast`: it needs NVSwitches that do; `in_switch`: few blocks suffice."""

    name: str
    ll: bool = False
    multicast: bool = False
    in_switch: bool = False


_KERNELS = {
    "AllReduce": (
        _Kernel("AllReduce_AGxLL_R", ll=True),
        _Kernel("AllReduce_AGxLLMC_R", ll=True, multicast=True),
        _Kernel("AllReduce_RSxLD_AGxST"),
        _Kernel("AllReduce_RSxLDMC_AGxSTMC", multicast=True, in_switch=True),
    ),
    "AllGather": (
        _Kernel("AllGather_LL", ll=True),
        _Kernel("AllGather_LLMC", ll=True, multicast=True),
        _Kernel("AllGather_ST"),
        _Kernel("AllGather_STMC", multicast=True, in_switch=True),
    ),
    "ReduceScatter": (
        _Kernel("ReduceScatter_LL", ll=True),
        _Kernel("ReduceScatter_LD"),
        _Kernel("ReduceScatter_LDMC", multicast=True, in_switch=True),
    ),
}


@dataclass(frozen=True, slots=True)
class SymmetricCall:
    """What a call of `bytes` (of all_gather and reduce_scatter the whole buffer) runs: the `kernel`, what NCCL expects
    of it (0: nothing) and its `blocks`. `kernel` is "" where the buffers change nothing."""

    bytes: int
    kernel: str
    time_us: float = 0
    blocks: int = 0


def symmetric_calls(
    model: NcclModel, collective: str, sizes: Sequence[int], *, element_bytes: int = 4, zero: bool = False
) -> list[SymmetricCall]:
    """Of floats of `element_bytes` that are summed; `zero`: NCCL_CTA_POLICY=2, copy engines wherever they can.

    Raises TopologyError where the GPUs are not one NVLink domain of NVSwitches or pairs.
    """
    _require_one_domain(model)
    gathers = collective in ("AllGather", "ReduceScatter")
    return [
        _call(model, collective, size, size // model.ranks if gathers else size, element_bytes, zero) for size in sizes
    ]


def _require_one_domain(model: NcclModel) -> None:
    source = model.machine.source
    if model.machines > 1:
        raise TopologyError(
            f"{source}: several NVLink domains: what symmetric windows run there goes by GIN, which is not modelled:"
            " --buffers symmetric is for one"
        )
    for _, gpu in model.machine.job_gpus():
        if not any(link.to is LinkTarget.SWITCH for link in gpu.nvlinks) and model.ranks > 2:
            raise TopologyError(f"{source}: NCCL runs symmetric kernels where NVLink joins each GPU to each other")


def _call(model: NcclModel, collective: str, size: int, part: int, element_bytes: int, zero: bool) -> SymmetricCall:
    release = model.release.code
    blackwell = min(gpu.sm for _, gpu in model.machine.gpus()) >= 100
    if collective == "AllGather":
        copied = release >= 2900 and blackwell and part > _COPIED * element_bytes
        if (zero and release >= 2800) or copied:
            return SymmetricCall(size, _COPY_ENGINES)
    best = SymmetricCall(size, "", 1e30, 999)
    for kernel in _usable(model, collective, part):
        time, blocks = _expected(model, collective, kernel, part, blackwell)
        if _penalized(time, blocks) < _penalized(np.float32(best.time_us), best.blocks):
            best = SymmetricCall(size, kernel.name, float(time), blocks)
    return best if best.kernel else SymmetricCall(size, "")


def _penalized(time: np.float32, blocks: int) -> np.float32:
    return np.float32(time * (np.float32(1) + _PENALTY * np.float32(blocks)))


def _usable(model: NcclModel, collective: str, part: int) -> Iterator[_Kernel]:
    on_bus = part * (1 if collective == "AllReduce" else model.ranks)
    multicasts = model.channels[1] > 0 and (model.ranks > 2 or model.release.code < 2900)
    for kernel in _KERNELS.get(collective, ()):
        if on_bus < (_LL_LIMIT if kernel.ll else _LIMIT) and (multicasts or not kernel.multicast):
            yield kernel


def _expected(model: NcclModel, collective: str, kernel: _Kernel, part: int, blackwell: bool) -> tuple[np.float32, int]:
    """us, and the fewest blocks that come within 2.5 % of it (`queryModel_lsa`)."""
    ranks, reduces_all = model.ranks, collective == "AllReduce"
    least, most = model.settings.min_ctas, _MOST_BLOCKS
    times = 1.0
    if kernel.ll:
        on_bus = ranks * part * _LL_BYTES
        times = 1.1 if kernel.multicast else 1.0
    elif kernel.in_switch:
        most = -(-(32 if blackwell else 16) // ranks)
        on_bus = part // ranks + part if reduces_all else (ranks - 1) * part
        times = ranks if reduces_all else 0.55 * ranks
    else:
        on_bus = 2 * part * (ranks - 1) // ranks if reduces_all else (ranks - 1) * part
    most = min(most, model.settings.max_ctas)
    latency, of_block, peak = _hardware(collective, kernel, blackwell)

    def modelled(blocks: int) -> float:
        bandwidth = _soft_least(blocks * of_block * times, peak, of_block)
        return latency + _soft_positive(on_bus / bandwidth - 1)

    time = np.float32(modelled(most))
    for blocks in range(least, most):
        if (fewer := modelled(blocks)) <= 1.025 * float(time):
            return np.float32(fewer), blocks
    return time, most


def _hardware(collective: str, kernel: _Kernel, blackwell: bool) -> tuple[float, float, float]:
    """us of a call, bytes/us of a block, and of all."""
    reduces_all = collective == "AllReduce"
    in_switch = kernel.in_switch and reduces_all
    if not blackwell:
        return 4.5 if kernel.ll else 7.8, (65 if reduces_all else 44) * _GBPS, (480 if in_switch else 320) * _GBPS
    latency = (8.5 if collective == "AllGather" else 11) if kernel.ll else 19.5 if reduces_all else 13
    return latency, 55 * _GBPS, (1000 if in_switch else 600) * _GBPS


def _soft_least(value: float, most: float, softness: float) -> float:
    return most - softness * math.log1p((math.exp(most / softness) - 1) * math.exp(-value / softness))


def _soft_positive(value: float) -> float:
    return value if value >= 100 else math.log1p(math.exp(value))
