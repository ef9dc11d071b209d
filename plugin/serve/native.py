"""Programs on the engine's own connections: CPU memory."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import torch

from hocket._core import executor as native
from hocket.plugin.serve.agreement import exchange_words
from hocket.plugin.serve.binding import ENGINE_ELEMENTS, Binding
from hocket.plugin.serve.engine import NO_CAPTURE
from hocket.runtime.engine.address import own_address, shares_memory
from hocket.runtime.engine.connections import Connections
from hocket.runtime.engine.library import ProgramChoice

__all__ = ["NativeTransport", "run_bound"]

_MILLISECOND = timedelta(milliseconds=1)


class NativeTransport:
    """Making it is collective: the ranks tell each other where they listen.

    Raises HocketError where this one cannot listen, or HOCKET_ALGORITHMS_TRANSPORT is none.
    """

    by_messages = False
    elements: Mapping[torch.dtype, int] = ENGINE_ELEMENTS

    def __init__(self, backend: Any) -> None:
        self._rank: int = backend.rank()

        def tell(words: str) -> list[str]:
            return exchange_words(backend, torch.device("cpu"), words)

        self._connections = Connections(self._rank, tell, own_address(), shares_memory())
        self._parts: dict[int, native.Program] = {}
        self._calls = 0

    @property
    def lost(self) -> int:
        return self._connections.mesh.lost

    def close(self) -> None:
        self._connections.mesh.close()

    def capture_refusal(self, binding: Binding) -> str:
        return NO_CAPTURE

    def run(self, binding: Binding, timeout: timedelta) -> None:
        self._calls += 1
        part = self._part(binding.choice, timeout // _MILLISECOND)
        run_bound(part, self._connections.mesh, binding, binding.buffers(self._rank), self._calls, timeout)

    def _part(self, choice: ProgramChoice, limit_ms: int) -> native.Program:
        if choice.number not in self._parts:
            part = choice.algorithm.part(self._rank)
            self._connections.open(part, limit_ms)
            self._parts[choice.number] = part
        return self._parts[choice.number]


def run_bound(
    part: native.Program,
    transport: native.Transport,
    binding: Binding,
    buffers: tuple[torch.Tensor, torch.Tensor],
    call: int,
    timeout: timedelta,
) -> None:
    """Serves a request in its buffers; `call` counts those of the group."""
    number, element, operation = binding.choice.number, binding.element, binding.operation
    # what all ranks of the call must agree on; tuples of integers have one hash everywhere
    signature = hash((call, number, binding.size_bytes, element, operation)) & (1 << 64) - 1
    source, target = buffers
    addresses, limit_ms = (source.data_ptr(), target.data_ptr()), timeout // _MILLISECOND
    native.run(part, transport, *addresses, binding.choice.chunk_bytes, element, operation, signature, limit_ms)
    binding.finish(target)
