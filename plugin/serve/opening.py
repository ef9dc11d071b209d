"""The engine of a group: made at its first use, of what its backend and the tensors' device allow."""

import os
from typing import Any

import torch
import torch.distributed as dist
from torch.distributed.constants import default_pg_timeout

from hocket.base.enums import StrEnum, assert_never
from hocket.base.errors import HocketError
from hocket.plugin.serve.counts import Counts
from hocket.plugin.serve.cuda import CudaTransport
from hocket.plugin.serve.device import DeviceTransport
from hocket.plugin.serve.engine import Engine, Transport
from hocket.plugin.serve.messages import MessageTransport, groups_messages
from hocket.plugin.serve.native import NativeTransport
from hocket.plugin.serve.streams import HostStreams, SideStream
from hocket.plugin.torch import interfaces
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


def open_engine(group: dist.ProcessGroup, device: torch.device, library: Library | str, counts: Counts) -> Engine | str:
    """For tensors of one device, by the programs for the group; or why there can be none (`library` says so, too).
    Collective where there can be one, and raises as `chosen_engine` and the transports."""
    wanted = chosen_engine()
    backend = interfaces.BACKEND.need()(group, device)
    name = backend.name()
    if isinstance(library, str):
        return library
    if missing := library.missing(group.size()):
        return missing
    if device.type != "cpu" and not groups_messages(backend):
        return f"{device.type.upper()} tensors of backend {name}"
    native = device.type == "cpu" and name == "gloo"
    on_gpu = device.type == "cuda" and name == "nccl" and wanted is EngineName.DEVICE
    if wanted in (EngineName.NATIVE, EngineName.DEVICE) and not native and not on_gpu:
        return f"backend {name}, which the {wanted} engine does not replace"
    transport: Transport
    if on_gpu:
        transport = CudaTransport(group, backend, device, library)
    elif native:
        transport = _on_processors(wanted, group, backend, device, library)
    else:
        transport = MessageTransport(group, backend, device, library)
    timeout = interfaces.timeout_of(backend) or default_pg_timeout  # MPI's has none
    streams = HostStreams() if device.type == "cpu" else SideStream(device)
    return Engine(group, transport, streams, timeout, counts)


def _on_processors(
    wanted: EngineName, group: dist.ProcessGroup, backend: Any, device: torch.device, library: Library
) -> Transport:
    """For CPU tensors of gloo's groups."""
    match wanted:
        case EngineName.AUTO | EngineName.NATIVE:
            return NativeTransport(backend, library)
        case EngineName.DEVICE:
            return DeviceTransport(backend, library)
        case EngineName.P2P:
            return MessageTransport(group, backend, device, library)
        case _:
            assert_never(wanted)
