"""The sends and receives of a process group of torch.distributed: any backend that has them, CPUs or GPUs."""

import ctypes
from collections.abc import Callable, Sequence
from datetime import timedelta
from time import monotonic
from typing import Any

import torch

from hocket._core import executor as native
from hocket.base.errors import HocketError

__all__ = ["GroupMessages"]

# The largest tag that every MPI has; NCCL has none.
_TAG = 32767
# A larger workspace on a device is not kept from call to call.
_KEPT_BYTES = 1 << 26

#: Rank, address and bytes of a message.
_Message = tuple[int, int, int]


class GroupMessages:
    """What the engine asks of a group. Messages are given to the backend itself, below the dispatcher, so that they
    count as no operations of the job. On a device everything is enqueued on the current stream.

    `timeout` is of the calls to come; `dtype` and `function` say what a device reduces in them, and how; `lost` is the
    rank whose message failed, -1 where none did.

    `begin` and `end`, methods of the backend, make one of the messages between them, in any order, as those of devices
    have to be.
    """

    def __init__(
        self,
        backend: Any,
        device: torch.device,
        begin: Callable[[Any], None] | None = None,
        end: Callable[[Any], Any] | None = None,
    ) -> None:
        self.lost = -1
        self.timeout = timedelta(minutes=30)
        self.dtype = torch.uint8
        self.function: Callable[..., torch.Tensor] = torch.add
        self._backend = backend
        self._device = device
        self._kept: list[torch.Tensor] = []
        self._taken: list[torch.Tensor] = []
        self._buffers: Sequence[torch.Tensor] = ()
        self._begin, self._end = begin, end
        self._exchange = self._one_by_one if begin is None else self._as_one_group

    def transport(self) -> native.Messages:
        return native.Messages(self, self._device.type != "cpu")

    def begin_call(self, buffers: Sequence[torch.Tensor]) -> None:
        """The bytes on a device that the next call works on, beside what it will `take`; none after the last."""
        self._buffers = buffers
        self._taken.clear()

    def exchange(self, sends: Sequence[_Message], receives: Sequence[_Message]) -> None:
        """All messages of a round. Raises HocketError, naming the rank of one that failed."""
        self._exchange(sends, receives)

    def take(self, num_bytes: int) -> int:
        """Address of memory on the device, until the next call: kept from one to the next up to a bound."""
        at = len(self._taken)
        if at == len(self._kept):
            self._kept.append(torch.empty(0, dtype=torch.uint8, device=self._device))
        memory = self._kept[at]
        if len(memory) < num_bytes:
            memory = torch.empty(num_bytes, dtype=torch.uint8, device=self._device)
            if num_bytes <= _KEPT_BYTES:
                self._kept[at] = memory
        self._taken.append(memory)
        return int(memory.data_ptr())

    def copy(self, source: int, target: int, num_bytes: int) -> None:
        self._at(target, num_bytes).copy_(self._at(source, num_bytes))

    def reduce(self, left: int, right: int, out: int, num_bytes: int) -> None:
        parts = (self._at(address, num_bytes).view(self.dtype) for address in (left, right))
        self.function(*parts, out=self._at(out, num_bytes).view(self.dtype))

    def _at(self, address: int, num_bytes: int) -> torch.Tensor:
        """Memory as bytes."""
        if self._device.type == "cpu":
            return torch.frombuffer((ctypes.c_ubyte * num_bytes).from_address(address), dtype=torch.uint8)
        for memory in (*self._buffers, *self._taken):
            begin = address - memory.data_ptr()
            if 0 <= begin <= memory.nbytes - num_bytes:
                return memory[begin : begin + num_bytes]
        raise HocketError(f"a program left its buffers: {num_bytes} bytes at {address:#x} are in none of them")

    def _one_by_one(self, sends: Sequence[_Message], receives: Sequence[_Message]) -> None:
        begin, peer = monotonic(), -1
        pending: list[tuple[int, Any]] = []
        try:
            for issue, messages in ((self._backend.recv, receives), (self._backend.send, sends)):
                for peer, address, num_bytes in messages:
                    pending.append((peer, issue([self._at(address, num_bytes)], peer, _TAG)))
            for peer, work in pending:  # noqa: B007  # the handler names it
                work.wait(self.timeout)
        except RuntimeError as error:
            if monotonic() - begin < self.timeout.total_seconds():  # else it may only be late
                self.lost = peer
            raise HocketError(f"no message to or from rank {peer}: {error}") from error

    def _as_one_group(self, sends: Sequence[_Message], receives: Sequence[_Message]) -> None:
        """Between NCCL's group start and end. NCCL's watchdog keeps the time."""
        assert self._begin is not None and self._end is not None  # as __init__ chose
        self._begin(self._backend)
        for peer, address, num_bytes in sends:
            self._backend.send([self._at(address, num_bytes)], peer, _TAG)
        for peer, address, num_bytes in receives:
            self._backend.recv([self._at(address, num_bytes)], peer, _TAG)
        self._end(self._backend).wait()  # of the current stream, not of the host
