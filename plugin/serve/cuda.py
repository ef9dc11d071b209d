"""Programs by the device interpreter on the NVIDIA GPUs of one machine: in symmetric memory, one launch a call."""

import os
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist

from hocket._core import device as native
from hocket.base.errors import HocketError
from hocket.plugin.serve.agreement import exchange_words
from hocket.plugin.serve.binding import Binding
from hocket.plugin.serve.device import wired
from hocket.plugin.torch import interfaces
from hocket.runtime.device.compiler import assemble
from hocket.runtime.device.driver import LoadedKernel
from hocket.runtime.device.source import ELEMENTS, LANES
from hocket.runtime.device.wiring import SLOT_BYTES
from hocket.runtime.engine.library import Library

__all__ = ["CudaTransport"]

_MILLISECOND = timedelta(milliseconds=1)
_NAMES = list(ELEMENTS)
#: Thread blocks of all groups' programs on each device: those of one that are placed wait for those that are not.
_blocks: dict[torch.device, int] = {}


class CudaTransport:
    """Making it is collective: each rank has a window that the others write to.

    Raises HocketError where the ranks of the group have different programs, are not on one machine, or the
    programs have more thread blocks than the GPU has multiprocessors: all must run at once.
    """

    by_messages = False

    def __init__(self, group: dist.ProcessGroup, backend: Any, device: torch.device, library: Library) -> None:
        self._rank, size = backend.rank(), backend.size()
        self._library, self._device = library, device
        machines = set(exchange_words(backend, device, library, os.uname().nodename))
        if len(machines) > 1:
            raise HocketError(f"the device engine is for ranks of one machine, and these are on {len(machines)}")
        self._wiring, self._number = wired(library, size)
        properties = torch.cuda.get_device_properties(device)
        _blocks[device] = _blocks.get(device, 0) + self._wiring.most_blocks
        if _blocks[device] > properties.multi_processor_count:
            raise HocketError(
                f"the programs of this job's groups have {_blocks[device]} thread blocks a rank, which may all run at "
                f"once, and {properties.name} runs {properties.multi_processor_count}: translate them with fewer "
                "--channels or --instances"
            )
        amds = str(getattr(properties, "gcnArchName", ""))  # gfx942:sramecc+:xnack-
        self._architecture = amds.partition(":")[0] or f"sm_{properties.major}{properties.minor}"
        self._window = self._wiring.window()
        self._open_window(group)
        self._words = torch.zeros(self._places()[-1] // 8, dtype=torch.int64, device=device)
        programs = (library.algorithms[number].program for number in self._number)
        scratch = max(gpu.scratch_chunks for program in programs for gpu in program.gpus)
        self._scratch = torch.empty(max(16, 2 * scratch * SLOT_BYTES), dtype=torch.uint8, device=device)
        #: The word in which the device says that it gave up, as the host sees it once a call is done.
        self._told = torch.zeros(1, dtype=torch.int64, pin_memory=True)
        self._kernels: dict[tuple[int, int], LoadedKernel] = {}
        self._tables: dict[int, tuple[native.Tables, torch.Tensor, torch.Tensor]] = {}

    def _open_window(self, group: dist.ProcessGroup) -> None:
        empty, rendezvous = interfaces.SYMMETRIC_EMPTY.need(), interfaces.SYMMETRIC_RENDEZVOUS.need()
        self._own = empty(self._window.bytes, dtype=torch.uint8, device=self._device)
        self._own.zero_()
        self._symmetric = rendezvous(self._own, group.group_name)
        torch.cuda.synchronize(self._device)
        self._symmetric.barrier()  # nobody writes to a window that is not zeroed
        torch.cuda.synchronize(self._device)

    def _places(self) -> list[int]:
        """Where in its words the state's parts lie, in bytes, and where they end."""
        blocks, connections = self._wiring.most_blocks, self._window.connections
        places = [0]
        for count in (1, 1, 1, blocks, connections, connections):
            places.append(places[-1] + count * native.LINE_BYTES)
        return places

    @property
    def lost(self) -> int:
        failure = native.failure_of(int(self._told[0]) & (1 << 64) - 1)
        return -1 if failure is None else failure[0]

    def close(self) -> None:
        """Tells the others that this rank gives up, beside a kernel that may wait."""
        with torch.cuda.stream(torch.cuda.Stream(self._device)):
            for peer in range(self._wiring.num_ranks):
                self._symmetric.get_buffer(peer, (1,), torch.int64).fill_(self._rank + 1)

    def run(self, binding: Binding, timeout: timedelta) -> None:
        failure = native.failure_of(int(self._told[0]) & (1 << 64) - 1)
        if failure is not None:
            raise HocketError(f"a call before this one: {failure[1]}")
        choice = binding.choice
        number = self._number[choice.number]
        tables, blocks, steps = self._tables_of(number, binding)
        size, limit_ms = (choice.number, binding.size_bytes), timeout // _MILLISECOND
        way = self._wiring.way(number, binding.element, binding.operation, size, limit_ms, binding.is_mean)
        source, target = binding.buffers(self._rank)
        *state, _ = (self._words.data_ptr() + place for place in self._places())
        launch = native.launch_bytes(
            tables,
            self._window,
            self._library.native,
            choice.number,
            self._rank,
            source.data_ptr(),
            target.data_ptr(),
            binding.padded_bytes,
            binding.element_bytes,
            way,
            self._symmetric.buffer_ptrs_dev,
            blocks.data_ptr(),
            steps.data_ptr(),
            self._scratch.data_ptr(),
            state,
        )
        stream = torch.cuda.current_stream(self._device).cuda_stream
        self._kernel(binding.element, binding.operation).launch(tables.num_blocks, LANES, stream, launch)
        failure_word = self._places()[2] // 8
        self._told.copy_(self._words[failure_word : failure_word + 1], non_blocking=True)
        binding.finish(target, is_divided=True)

    def _tables_of(self, number: int, binding: Binding) -> tuple[native.Tables, torch.Tensor, torch.Tensor]:
        """The program's tables, and their copies on the device: of blocks, and of steps."""
        if number not in self._tables:
            part = binding.choice.algorithm.part(self._rank)
            tables = self._wiring.tables(number, self._rank, part)
            self._tables[number] = tables, self._copied(tables.blocks), self._copied(tables.steps)
        return self._tables[number]

    def _copied(self, table: bytes) -> torch.Tensor:
        return torch.frombuffer(bytearray(table or bytes(16)), dtype=torch.uint8).to(self._device)

    def _kernel(self, element: int, operation: int) -> LoadedKernel:
        if (element, operation) not in self._kernels:
            self._kernels[element, operation] = LoadedKernel(assemble(self._architecture, _NAMES[element], operation))
        return self._kernels[element, operation]
