"""What the kernels of the hook in Python share: the open stream, and which operation wrote where."""

import itertools
import threading
from collections.abc import Callable, Iterable
from typing import Any

import torch

from hocket.plugin.torch import interfaces
from hocket.plugin.torch.hook import LIMIT
from hocket.recording.stream import MappedStream

__all__ = ["HookOutput", "WrittenAddresses"]


class HookOutput:
    """The stream that is written to, once it is open, and the numbers of threads in it."""

    def __init__(self) -> None:
        self.stream: MappedStream | None = None
        self.write: Callable[[str], None] = lambda line: None
        self._threads: dict[int, int] = {}
        self._thread_ids = itertools.count()

    def open(self, stream: MappedStream) -> None:
        """Everything is written to this stream from now on."""
        self.stream = stream
        self.write = stream.write

    def thread(self) -> int:
        """The calling thread's number."""
        thread = threading.get_ident()
        number = self._threads.get(thread)
        if number is None:
            number = self._threads[thread] = next(self._thread_ids)
        return number


class WrittenAddresses:
    """Which recorded operation writes at an address: `wait_tensor` is told tensors, not operations."""

    def __init__(self) -> None:
        self._written: dict[int, int] = {}

    def __bool__(self) -> bool:
        return bool(self._written)

    def clear(self) -> None:
        """No operation is known any more."""
        self._written.clear()

    def note(self, tensors: Iterable[torch.Tensor], operation: int) -> None:
        """An operation was issued that writes these."""
        if len(self._written) >= LIMIT:
            self._written.clear()
        for tensor in tensors:
            self._written[_address(tensor)] = operation

    def forget(self, tensors: Iterable[torch.Tensor]) -> None:
        """What is waited for there next is not the recorded operation that wrote there before."""
        for tensor in tensors:
            self._written.pop(_address(tensor), None)

    def find(self, tensor: torch.Tensor) -> int | None:
        """The operation that writes a tensor. Raises RuntimeError for one without data, while torch.compile traces."""
        return self._written.get(_address(tensor))

    def take(self, tensor: torch.Tensor) -> int | None:
        """The same, and forgets it."""
        return self._written.pop(_address(tensor), None)


def _address(tensor: Any) -> int:
    """What `wait_tensor` knows a tensor by: where its data lies, or what would hold data were there any."""
    address: int = tensor.data_ptr() or interfaces.storage_address(tensor)
    return address
