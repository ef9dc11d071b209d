"""What buffers that a user registered (`ncclCommRegister`) change of NCCL's choices and launches."""

import numpy as np
from numpy.typing import NDArray

from hocket.nccl.model import Choices, NcclModel
from hocket.nccl.names import ALGORITHMS, PROTOCOLS

__all__ = ["registered_choices"]

_NVLS, _SIMPLE = ALGORITHMS.index("NVLS"), PROTOCOLS.index("Simple")
_NVLS_WARPS = 20
_FAST = 400  # GB/s of a reduce_scatter by NVLS and CollNet


def registered_choices(model: NcclModel, choices: Choices, efficient: bool) -> Choices:
    """The choices with the channels that NVLS needs where it reads and writes the buffers themselves
    (`ncclNvlsRegResourcesQuery` of src/transport/nvls.cc); `efficient` (NCCL_CTA_POLICY=1): all_gather and
    reduce_scatter go by NVLS where that takes no more channels than what was chosen (src/enqueue.cc)."""
    algorithm, channels, warps = choices.algorithm.copy(), choices.channels.copy(), choices.warps.copy()
    protocol = choices.protocol.copy()
    if model.channels[1] == 0 or choices.collective in ("Broadcast", "Reduce"):
        return choices
    needed = _needed(model, choices.collective)
    if efficient and choices.collective != "AllReduce" and _may_be_efficient(model, choices.collective):
        by_nvls = needed <= channels
        algorithm[by_nvls], protocol[by_nvls], warps[by_nvls] = _NVLS, _SIMPLE, _NVLS_WARPS
    in_switch = np.isin(algorithm, (_NVLS, ALGORITHMS.index("NVLSTree")))
    channels[in_switch] = needed
    time = _times(model, choices, algorithm)
    return Choices(choices.collective, choices.bytes, algorithm, protocol, time, channels, warps)


def _needed(model: NcclModel, collective: str) -> int:
    """Channels; each GPU of a machine is the head of a part."""
    blackwell = min(gpu.sm for _, gpu in model.machine.gpus()) >= 100
    one = model.machines == 1
    if collective == "AllGather":
        factor = 4 if one else 6
    elif collective == "ReduceScatter":
        factor = (6 if blackwell else 5) if one else 7 if _nvls_bandwidth(model, collective) > _FAST else 6
    elif one:
        factor = 8 if blackwell else 4
    else:
        fast_nics = model.release.code >= 3007 and min(net.speed for net in model.machine.nets()) >= 8000 * 96
        factor = (10 if fast_nics else 7) if blackwell else 6
    heads = model.ranks // model.machines
    return max(model.settings.min_ctas, min(model.settings.max_ctas, -(-8 * factor // heads)))


def _nvls_bandwidth(model: NcclModel, collective: str) -> float:
    return model.terms(collective, 1)[_NVLS * len(PROTOCOLS) + _SIMPLE].bandwidth


def _may_be_efficient(model: NcclModel, collective: str) -> bool:
    """Not where NVLS is out, nor over NVLink domains of several hosts, nor against NCCL_ALGO or NCCL_PROTO."""
    usual = type(model.settings)()
    settings = model.settings
    restricted = settings.algorithms != usual.algorithms or settings.protocols != usual.protocols
    out = model.terms(collective, 1)[_NVLS * len(PROTOCOLS) + _SIMPLE].out
    return not restricted and not out and model.domain == 1


def _times(model: NcclModel, choices: Choices, algorithm: NDArray[np.int32]) -> NDArray[np.float32]:
    """What the model expects of what runs."""
    time = choices.time_us.copy()
    for at in np.flatnonzero(algorithm != choices.algorithm).tolist():
        time[at] = model.terms(choices.collective, int(choices.bytes[at]))[_NVLS * len(PROTOCOLS) + _SIMPLE].time_us
    return time
