"""Programs by the device interpreter on the NVIDIA GPUs of one machine: in symmetric memory, one launch a call."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist

from hocket._core import device as native
from hocket.base.errors import HocketError
from hocket.plugin.serve.agreement import exchange_words
from hocket.plugin.serve.binding import DEVICE_ELEMENTS, Binding
from hocket.plugin.serve.device import wired
from hocket.plugin.serve.failure_watch import FailureWatch
from hocket.plugin.serve.loaded import LoadedPrograms
from hocket.plugin.torch import interfaces
from hocket.runtime.device.compiler import assemble, compiler_version
from hocket.runtime.device.driver import LoadedKernel
from hocket.runtime.device.sharing import machine_word, require_no_objection, require_one_machine
from hocket.runtime.device.source import ELEMENTS, LANES, SWITCH_KERNEL, switch_source
from hocket.runtime.device.vendors import vendor_of
from hocket.runtime.device.wiring import SLOT_BYTES
from hocket.runtime.engine.library import Library

__all__ = ["CudaTransport", "words_told"]

_MILLISECOND = timedelta(milliseconds=1)
_NAMES = list(ELEMENTS)
_DeviceTables = tuple[native.Tables, torch.Tensor, torch.Tensor] | tuple[native.SwitchTables, torch.Tensor]
#: Thread blocks of all groups' programs on each device: those of one that are placed wait for those that are not.
_blocks: dict[torch.device, int] = {}


class CudaTransport:
    """Making it is collective: each rank has a window that the others write to.

    Raises NoSharedMemory, on all ranks alike, where they are not on one machine, one has no run-time compiler, or its
    programs have more thread blocks than its GPU has multiprocessors: all must run at once.
    """

    by_messages = False
    elements: Mapping[torch.dtype, int] = DEVICE_ELEMENTS

    def __init__(self, group: dist.ProcessGroup, backend: Any, device: torch.device, library: Library) -> None:
        self._rank, size = backend.rank(), backend.size()
        self._library, self._device = library, device
        self._wiring, self._number = wired(library, size)
        properties = torch.cuda.get_device_properties(device)
        amds = str(getattr(properties, "gcnArchName", ""))  # gfx942:sramecc+:xnack-
        self._architecture = amds.partition(":")[0] or f"sm_{properties.major}{properties.minor}"
        require_one_machine(exchange_words(backend, device, machine_word()))
        require_no_objection(exchange_words(backend, device, self._objection(properties)))
        _blocks[device] = _blocks.get(device, 0) + self._wiring.most_blocks
        self._window = self._wiring.window()
        self._switches = self._wiring.switch_window(LANES, self._window)
        self._open_window(group)
        self._words = torch.zeros(self._places()[-1] // 8, dtype=torch.int64, device=device)
        served = [library.algorithms[number] for number in self._number]
        programs = [algorithm.connected for algorithm in served if not algorithm.over_switches]
        scratch = max((gpu.scratch_chunks for program in programs for gpu in program.gpus), default=0)
        self._scratch = torch.empty(max(16, 2 * scratch * SLOT_BYTES), dtype=torch.uint8, device=device)
        #: The word in which the device says that it gave up, as the host sees it once a call is done.
        self._told = torch.zeros(1, dtype=torch.int64, pin_memory=True)
        told = self._told  # not this object, which ends the watch when it goes
        FailureWatch(self, f"rank {self._rank} of {size}", lambda: words_told(told))
        self._loaded = LoadedPrograms(self._tables_of, self._kernel_of)

    def _objection(self, properties: Any) -> str:
        """What hinders this rank; "": nothing."""
        blocks, most = _blocks.get(self._device, 0) + self._wiring.most_blocks, properties.multi_processor_count
        if blocks > most:
            return (
                f"{blocks} thread blocks of all groups' programs, and its GPU runs {most}: translate with fewer "
                "--channels or --instances"
            )
        vendor = vendor_of(self._architecture)
        return "" if compiler_version(vendor) else f"no {vendor.compiler}, the run-time compiler of its GPU"

    def _open_window(self, group: dist.ProcessGroup) -> None:
        empty, rendezvous = interfaces.SYMMETRIC_EMPTY.need(), interfaces.SYMMETRIC_RENDEZVOUS.need()
        size = self._window.bytes if self._switches is None else self._switches.bytes
        self._own = empty(size, dtype=torch.uint8, device=self._device)
        self._own.zero_()
        self._symmetric = rendezvous(self._own, group.group_name)
        torch.cuda.synchronize(self._device)
        self._symmetric.barrier()  # nobody writes to a window that is not zeroed
        torch.cuda.synchronize(self._device)

    def _places(self) -> list[int]:
        """Where in its words the state's parts lie, in bytes, and where they end."""
        blocks, connections = self._wiring.most_blocks, self._window.connections
        places = [0]
        for count in (1, 1, 1, blocks, connections, connections, blocks):
            places.append(places[-1] + count * native.LINE_BYTES)
        return places

    @property
    def lost(self) -> int:
        failure = _failure(self._told)
        return -1 if failure is None else failure[0]

    def close(self) -> None:
        """Tells the others that this rank gives up, beside a kernel that may wait."""
        with torch.cuda.device(self._device), torch.cuda.stream(torch.cuda.Stream(self._device)):
            for peer in range(self._wiring.num_ranks):
                self._symmetric.get_buffer(peer, (1,), torch.int64).fill_(self._rank + 1)

    def capture_refusal(self, binding: Binding) -> str:
        return self._loaded.lacks(binding)

    def run(self, binding: Binding, timeout: timedelta) -> None:
        with torch.cuda.device(self._device):  # the driver takes the current one's context, and its default stream
            self._run(binding, timeout)

    def _run(self, binding: Binding, timeout: timedelta) -> None:
        if words := words_told(self._told):
            raise HocketError(f"a call before this one: {words}")
        choice = binding.choice
        number = self._number[choice.number]
        size, limit_ms = (choice.number, binding.size_bytes), timeout // _MILLISECOND
        way = self._wiring.way(number, binding.element, binding.operation, size, limit_ms, binding.is_mean)
        source, target = binding.buffers(self._rank)
        places = source.data_ptr(), target.data_ptr()
        blocks, launch = self._launch(binding, places, way)
        stream = torch.cuda.current_stream(self._device).cuda_stream
        self._loaded.kernel(binding).launch(blocks, LANES, stream, launch)
        failure_word = self._places()[2] // 8
        self._told.copy_(self._words[failure_word : failure_word + 1], non_blocking=True)
        binding.finish(target, is_divided=self._wiring.divides(number))

    def _launch(self, binding: Binding, places: tuple[int, int], way: native.Way) -> tuple[int, bytes]:
        """Thread blocks, and what the kernel is told, for a call on input and output at those addresses."""
        tables, *copies = self._loaded.tables(binding)
        of_call = self._library.native, binding.choice.number, self._rank, *places
        how = binding.padded_bytes, binding.element_bytes, way, self._symmetric.buffer_ptrs_dev
        copied = [copy.data_ptr() for copy in copies]
        *state, met, _ = (self._words.data_ptr() + place for place in self._places())
        if isinstance(tables, native.Tables):
            blocks, steps = copied
            scratch = self._scratch.data_ptr()
            launch = native.launch_bytes(tables, self._window, *of_call, *how, blocks, steps, scratch, state)
            return tables.num_blocks, launch
        assert self._switches is not None
        (runs,) = copied
        # without such an address, as without NVSwitches, the kernel reads and writes all windows one by one
        multicast = self._symmetric.multicast_ptr
        failure = state[2]
        launch = native.switch_launch_bytes(tables, self._switches, *of_call, *how, multicast, runs, failure, met)
        return self._switches.num_blocks, launch

    def _tables_of(self, binding: Binding) -> _DeviceTables:
        """The program's tables, and their copies on the device: of blocks and of steps, or of runs of chunks."""
        choice = binding.choice
        tables = self._wiring.tables(self._number[choice.number], self._rank, choice.algorithm.device_part(self._rank))
        if isinstance(tables, native.Tables):
            return tables, self._copied(tables.blocks), self._copied(tables.steps)
        return tables, self._copied(tables.runs)

    def _copied(self, table: bytes) -> torch.Tensor:
        return torch.frombuffer(bytearray(table or bytes(16)), dtype=torch.uint8).to(self._device)

    def _kernel_of(self, binding: Binding) -> LoadedKernel:
        kind = self._architecture, _NAMES[binding.element], binding.operation
        if binding.choice.algorithm.over_switches:
            return LoadedKernel(assemble(*kind, switch_source), SWITCH_KERNEL)
        return LoadedKernel(assemble(*kind))


def _failure(told: torch.Tensor) -> tuple[int, str] | None:
    """The peer, and what to say."""
    return native.failure_of(int(told[0]) & (1 << 64) - 1)


def words_told(told: torch.Tensor) -> str | None:
    """What a device said of its failure in that word; None where it did not."""
    failure = _failure(told)
    return None if failure is None else failure[1]
