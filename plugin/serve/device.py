"""Programs by the device interpreter: on this machine's cores, for the CPU tensors of ranks that share it."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import torch

from hocket._core import device as native
from hocket.plugin.serve.agreement import exchange_words
from hocket.plugin.serve.binding import DEVICE_ELEMENTS, Binding
from hocket.plugin.serve.engine import NO_CAPTURE
from hocket.runtime.device.threads import ThreadRank
from hocket.runtime.device.wiring import Wiring
from hocket.runtime.engine.library import Library

__all__ = ["DeviceTransport", "wired"]

_MILLISECOND = timedelta(milliseconds=1)


class DeviceTransport:
    """Making it is collective: the ranks map each other's windows. Raises NoSharedMemory, on all alike, where they
    cannot."""

    by_messages = False
    elements: Mapping[torch.dtype, int] = DEVICE_ELEMENTS

    def __init__(self, backend: Any, library: Library) -> None:
        rank, size = backend.rank(), backend.size()
        self._library = library

        def tell(words: str) -> list[str]:
            return exchange_words(backend, torch.device("cpu"), words)

        self._wiring, self._number = wired(library, size)
        self._device = ThreadRank(self._wiring, rank, tell)
        self._rank: int = rank
        self._tables: dict[int, native.Tables | native.SwitchTables] = {}

    @property
    def lost(self) -> int:
        return self._device.lost

    def close(self) -> None:
        self._device.close()

    def capture_refusal(self, binding: Binding) -> str:
        return NO_CAPTURE

    def run(self, binding: Binding, timeout: timedelta) -> None:
        choice = binding.choice
        number = self._number[choice.number]
        if number not in self._tables:
            self._tables[number] = self._device.tables(number, choice.algorithm.device_part(self._rank))
        size = (choice.number, binding.size_bytes)
        limit_ms = timeout // _MILLISECOND
        way = self._wiring.way(number, binding.element, binding.operation, size, limit_ms, binding.is_mean)
        source, target = binding.buffers(self._rank)
        self._device.run(
            self._library.native,
            choice.number,
            self._tables[number],
            (source.data_ptr(), target.data_ptr()),
            binding.padded_bytes,
            binding.element_bytes,
            way,
        )
        binding.finish(target, is_divided=self._wiring.divides(number))


def wired(library: Library, size: int) -> tuple[Wiring, dict[int, int]]:
    """The library's programs for groups of that size, the others having connections that its ranks lack; and where
    among them each is, by its position in the library. Names do not tell: two bundles may be called alike."""
    own = [number for number, algorithm in enumerate(library.algorithms) if algorithm.program.num_ranks == size]
    programs = [library.algorithms[number].program for number in own]
    return Wiring.of(programs), {number: place for place, number in enumerate(own)}
