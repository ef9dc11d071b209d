"""Where a group's work is done beside the caller's: on a CUDA stream of its own; on CPUs, on a thread (`engine`)."""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, Protocol

import torch

__all__ = ["HostStreams", "Mark", "SideStream", "Streams"]

#: A point in a stream's work; None where there are no streams.
Mark = Any


class Streams(Protocol):
    @property
    def enqueue(self) -> bool:
        """Whether work is only enqueued by who issues it, which takes no time to speak of."""

    def future(self) -> "torch.futures.Future[list[torch.Tensor]]":
        """A future whose waiters' streams wait for the stream on which it is set."""

    def running(self, tensors: Sequence[torch.Tensor]) -> AbstractContextManager[None]:
        """Within, work on `tensors` comes after all that the caller's stream was given so far, and beside what it will
        be given."""

    def mark(self) -> Mark:
        """To be called within `running`: the end of the work so far."""

    def join(self, mark: Mark) -> None:
        """What the caller's stream is given from now on comes after the mark."""


class HostStreams:
    """CPUs: what is called is done when it returns."""

    enqueue = False

    def future(self) -> "torch.futures.Future[list[torch.Tensor]]":
        return torch.futures.Future()

    def running(self, tensors: Sequence[torch.Tensor]) -> AbstractContextManager[None]:
        return nullcontext()

    def mark(self) -> Mark:
        return None

    def join(self, mark: Mark) -> None:
        pass


class SideStream:
    """A GPU: one more stream, in the order that ProcessGroupNCCL gives its own. The host never waits.

    `cuda` is the part of `torch.cuda` that is used.
    """

    enqueue = True

    def __init__(self, device: torch.device, cuda: Any = torch.cuda) -> None:
        self._device = device
        self._cuda = cuda
        self._side = cuda.Stream(device)

    def future(self) -> "torch.futures.Future[list[torch.Tensor]]":
        return torch.futures.Future(devices=[self._device])

    @contextmanager
    def running(self, tensors: Sequence[torch.Tensor]) -> Iterator[None]:
        self._side.wait_stream(self._cuda.current_stream(self._device))
        for tensor in tensors:
            tensor.record_stream(self._side)  # its memory may be another's only when the side stream is done, too
        with self._cuda.stream(self._side):
            yield

    def mark(self) -> Mark:
        mark = self._cuda.Event()
        mark.record(self._side)
        return mark

    def join(self, mark: Mark) -> None:
        self._cuda.current_stream(self._device).wait_event(mark)
