"""The engine of a group: made at its first use, of what its backend and the tensors' device allow."""

import os
from typing import Any

import torch
import torch.distributed as dist
from torch.distributed.constants import default_pg_timeout

from hocket.base.enums import StrEnum, assert_never
from hocket.base.errors import HocketError
from hocket.plugin.serve.agreement import disagreement
from hocket.plugin.serve.counts import Counts
from hocket.plugin.serve.cuda import CudaTransport
from hocket.plugin.serve.device import DeviceTransport
from hocket.plugin.serve.engine import Engine, Transport
from hocket.plugin.serve.messages import MessageTransport, groups_messages
from hocket.plugin.serve.native import NativeTransport
from hocket.plugin.serve.streams import HostStreams, SideStream, Streams
from hocket.plugin.torch import interfaces
from hocket.runtime.device.sharing import NoSharedMemory
from hocket.runtime.engine.library import Library

__all__ = ["ENGINE_VARIABLE", "EngineName", "chosen_engine", "open_engine"]

#: Names an `EngineName`.
ENGINE_VARIABLE = "HOCKET_ALGORITHMS_ENGINE"


class EngineName(StrEnum):
    """`auto`: the native engine where there can be one, else the group's own messages; the others: that or nothing.
    `device`: the interpreter for GPUs, on GPUs, and for CPU tensors on this machine's cores."""

    AUTO = "auto"
    NATIVE = "native"
    DEVICE = "device"
    P2P = "p2p"


def chosen_engine() -> EngineName:
    """What the environment asks for. Raises HocketError for what is no engine."""
    name = os.environ.get(ENGINE_VARIABLE) or EngineName.AUTO
    try:
        return EngineName(name)
    except ValueError:
        raise HocketError(f"{ENGINE_VARIABLE}={name}: give one of {', '.join(EngineName)}") from None


def open_engine(
    group: dist.ProcessGroup,
    device: torch.device,
    library: Library | str,
    counts: Counts,
    *,
    wanted: EngineName,
    purpose: str,
    streams: Streams | None = None,
) -> Engine | str:
    """For tensors of one device, by the programs for the group; or why there can be none (`library` says so, too), on
    all ranks alike. Collective where their backend can have one, for those who ask for the same `purpose`. `streams`:
    where its work is done (None: beside the caller's). Raises as the transports."""
    backend = interfaces.BACKEND.need()(group, device)
    if not isinstance(library, str):
        library = library.missing(group.size()) or library
    if device.type != "cpu" and not groups_messages(backend):
        return library if isinstance(library, str) else f"{device.type.upper()} tensors of backend {backend.name()}"
    timeout = interfaces.timeout_of(backend) or default_pg_timeout  # MPI's has none
    if differ := disagreement(group, backend, device, library, wanted, purpose, timeout):
        return differ
    if isinstance(library, str):
        return library
    if refusal := _refusal(wanted, backend.name(), device):
        return refusal
    why_messages = ""
    transport: Transport | None = None
    if wanted is EngineName.DEVICE:
        try:
            transport = _device_transport(group, backend, device, library)
        except NoSharedMemory as error:
            why_messages = f"no device engine: {error}"
    if transport is None:
        library = library.of_connections()
        if isinstance(library, str):
            return library
        transport = _transport(wanted, group, backend, device)
    streams = streams or (HostStreams() if device.type == "cpu" else SideStream(device))
    return Engine(group, transport, streams, timeout, library, counts, why_messages)


def _refusal(wanted: EngineName, backend: str, device: torch.device) -> str:
    """Why the engine that is asked for cannot serve a backend's tensors on the device; "" where it can."""
    match wanted:
        case EngineName.AUTO | EngineName.P2P:
            serves = True
        case EngineName.NATIVE:
            serves = _is_on_processors(backend, device)
        case EngineName.DEVICE:
            serves = _is_on_processors(backend, device) or _is_on_gpus(backend, device)
        case _:
            assert_never(wanted)
    return "" if serves else f"backend {backend}, which the {wanted} engine does not replace"


def _is_on_processors(backend: str, device: torch.device) -> bool:
    return device.type == "cpu" and backend == "gloo"


def _is_on_gpus(backend: str, device: torch.device) -> bool:
    return device.type == "cuda" and backend == "nccl"


def _device_transport(group: dist.ProcessGroup, backend: Any, device: torch.device, library: Library) -> Transport:
    """Raises NoSharedMemory where the ranks lack what the device engine needs."""
    if _is_on_gpus(backend.name(), device):
        return CudaTransport(group, backend, device, library)
    return DeviceTransport(backend, library)


def _transport(wanted: EngineName, group: dist.ProcessGroup, backend: Any, device: torch.device) -> Transport:
    """For programs of connections."""
    match wanted:
        case EngineName.AUTO | EngineName.NATIVE if _is_on_processors(backend.name(), device):
            return NativeTransport(backend)
        case EngineName.AUTO | EngineName.NATIVE | EngineName.DEVICE | EngineName.P2P:
            return MessageTransport(group, backend, device)
        case _:
            assert_never(wanted)
