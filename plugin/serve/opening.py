"""The engine of a group: made at its first use, of what its backend and the tensors' device allow."""

import os

import torch
import torch.distributed as dist
from torch.distributed.constants import default_pg_timeout

from hocket.base.enums import StrEnum
from hocket.base.errors import HocketError
from hocket.plugin.serve.counts import Counts
from hocket.plugin.serve.engine import Engine
from hocket.plugin.serve.messages import MessageTransport
from hocket.plugin.serve.native import NativeTransport
from hocket.plugin.serve.streams import HostStreams, SideStream
from hocket.runtime.engine.library import Library

__all__ = ["ENGINE_VARIABLE", "EngineName", "chosen_engine", "open_engine"]

#: Names an `EngineName`.
ENGINE_VARIABLE = "HOCKET_ALGORITHMS_ENGINE"


class EngineName(StrEnum):
    """`auto`: the native engine where there can be one, else the group's own messages; the others: that or nothing."""

    AUTO = "auto"
    NATIVE = "native"
    P2P = "p2p"


def chosen_engine() -> EngineName:
    """What the environment asks for. Raises HocketError for what is no engine."""
    name = os.environ.get(ENGINE_VARIABLE) or EngineName.AUTO
    try:
        return EngineName(name)
    except ValueError:
        raise HocketError(f"{ENGINE_VARIABLE}={name}: give one of {', '.join(EngineName)}") from None


def open_engine(group: dist.ProcessGroup, device: torch.device, library: Library, counts: Counts) -> Engine | str:
    """For tensors of one device; or why there can be none. Collective where there can be one, and raises as
    `chosen_engine`, `NativeTransport` and `MessageTransport`."""
    wanted = chosen_engine()
    backend = group._get_backend(device)
    name = backend.name()
    if missing := library.missing(group.size()):
        return missing
    if device.type == "cuda" and name != "nccl":
        return f"CUDA tensors of backend {name}"
    native = device.type == "cpu" and name == "gloo"
    if wanted is EngineName.NATIVE and not native:
        return f"backend {name}, which the native engine does not replace"
    transport = (
        NativeTransport(backend, library)
        if native and wanted is not EngineName.P2P
        else MessageTransport(backend, device, library)
    )
    timeout = backend.options._timeout if hasattr(backend, "options") else default_pg_timeout  # MPI's has none
    streams = SideStream(device) if device.type == "cuda" else HostStreams()
    return Engine(group, transport, streams, timeout, counts)
