"""Programs on the native engine: CPU memory, connections of its own."""

import secrets
from datetime import timedelta
from typing import Any

import torch

from hocket._core import executor as native
from hocket.plugin.serve.address import own_address, shares_memory
from hocket.plugin.serve.agreement import exchange_words
from hocket.plugin.serve.binding import Binding
from hocket.plugin.serve.library import Library, ServedProgram

__all__ = ["NativeTransport"]

_MILLISECOND = timedelta(milliseconds=1)


class NativeTransport:
    """Making it is collective: the ranks tell each other where they listen.

    Raises HocketError where the ranks of the group have different programs, this one cannot listen, or
    HOCKET_ALGORITHMS_TRANSPORT is none.
    """

    by_messages = False

    def __init__(self, backend: Any, library: Library) -> None:
        self._rank: int = backend.rank()
        self._library = library
        token = secrets.randbits(63)
        host, nearby = own_address(), secrets.randbits(63) if shares_memory() else 0
        self._mesh = native.Mesh(self._rank, host, token, nearby)
        answers = exchange_words(backend, torch.device("cpu"), library, f"{host}|{self._mesh.port}|{token}|{nearby}")
        hosts, *numbers = zip(*(answer.split("|") for answer in answers), strict=True)
        ports, tokens, nearbys = (list(map(int, column)) for column in numbers)
        self._peers = list(hosts), ports, tokens, nearbys
        self._parts: dict[ServedProgram, native.Program] = {}
        self._calls = 0

    @property
    def lost(self) -> int:
        return self._mesh.lost

    def close(self) -> None:
        self._mesh.close()

    def run(self, binding: Binding, timeout: timedelta) -> None:
        limit_ms = timeout // _MILLISECOND
        part = self._parts.get(binding.algorithm)
        if part is None:
            part = binding.algorithm.part(self._rank)
            self._mesh.open(part, *self._peers, limit_ms)
            self._parts[binding.algorithm] = part
        self._calls += 1
        index = self._library.algorithms.index(binding.algorithm)
        # what all ranks of the call must agree on; tuples of integers have one hash everywhere
        signature = hash((self._calls, index, binding.size_bytes, binding.element, binding.operation)) & (1 << 64) - 1
        source, target = binding.buffers(self._rank)
        native.run(
            part,
            self._mesh,
            source.data_ptr(),
            target.data_ptr(),
            binding.chunk_bytes,
            binding.element,
            binding.operation,
            signature,
            limit_ms,
        )
        binding.finish(target)
