"""Where a group's work is done beside the caller's: on a device, on a stream; on CPUs, on a thread (`engine`)."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

import torch

__all__ = ["CallerStream", "HostStreams", "Mark", "SideStream", "Stash", "Streams", "is_capturing"]

#: A point in a stream's work; None where there are no streams.
Mark = Any


class Stash:
    """References to tensors that a stream works on, which is not theirs: without, who frees them would have their
    memory used by others before that stream is done.

    As NCCL's process group keeps them: until who issued the work has its own stream wait for the end, which costs
    nothing. Of work that nobody waits for they are recorded on the stream, for the allocator to ask when it is done.
    """

    __slots__ = ("_stream", "_tensors")

    def __init__(self, tensors: Sequence[torch.Tensor], stream: Any) -> None:
        self._tensors = list(tensors)
        self._stream = stream

    def release(self) -> None:
        """To be called when the caller's stream waits for the work's end."""
        self._tensors.clear()

    def __del__(self) -> None:
        for tensor in self._tensors:
            tensor.record_stream(self._stream)


class Streams(Protocol):
    @property
    def enqueue(self) -> bool:
        """Whether work is only enqueued by who issues it, which takes no time to speak of."""

    def future(self) -> "torch.futures.Future[list[torch.Tensor]]":
        """A future whose waiters' streams wait for the stream on which it is set."""

    def stash(self, tensors: Sequence[torch.Tensor]) -> Stash | None:
        """What keeps the tensors' memory for work on them; None where who issues it holds them long enough."""

    def running(self) -> Any:
        """Within, work comes after all that the caller's stream was given so far, and beside what it will be given."""

    def mark(self) -> Mark:
        """To be called within `running`: the end of the work so far."""

    def join(self, mark: Mark) -> None:
        """What the caller's stream is given from now on comes after the mark."""


class _CallersOrder:
    """What is done in the caller's own order: nothing is beside it that memory must be kept for, or that is awaited."""

    def stash(self, tensors: Sequence[torch.Tensor]) -> Stash | None:
        return None

    @contextmanager
    def running(self) -> Iterator[None]:
        yield

    def mark(self) -> Mark:
        return None

    def join(self, mark: Mark) -> None:
        pass


class HostStreams(_CallersOrder):
    """CPUs: what is called is done when it returns."""

    enqueue = False

    def future(self) -> "torch.futures.Future[list[torch.Tensor]]":
        return torch.futures.Future()


class CallerStream(_CallersOrder):
    """A GPU: the caller's own stream, in whose order everything is."""

    enqueue = True

    def __init__(self, device: torch.device) -> None:
        self._device = device

    def future(self) -> "torch.futures.Future[list[torch.Tensor]]":
        return torch.futures.Future(devices=[self._device])


class SideStream:
    """A GPU: one more stream, in the order that ProcessGroupNCCL gives its own. The host never waits."""

    enqueue = True

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._module: Any = getattr(torch, device.type)  # torch.cuda
        self._side = self._module.Stream(device)

    def future(self) -> "torch.futures.Future[list[torch.Tensor]]":
        return torch.futures.Future(devices=[self._device])

    def stash(self, tensors: Sequence[torch.Tensor]) -> Stash | None:
        return Stash(tensors, self._side)

    @contextmanager
    def running(self) -> Iterator[None]:
        self._side.wait_stream(self._module.current_stream(self._device))
        with self._module.stream(self._side):
            yield

    def mark(self) -> Mark:
        mark = self._module.Event()
        mark.record(self._side)
        return mark

    def join(self, mark: Mark) -> None:
        self._module.current_stream(self._device).wait_event(mark)


def is_capturing(device: torch.device) -> bool:
    """Whether this thread's current stream of the device captures a graph, so that nothing is done but remembered."""
    if device.type == "cpu":
        return False
    return bool(getattr(torch, device.type).is_current_stream_capturing())
