"""A rank's buffers on a device, beside those of the host in which values are made and checked."""

from typing import Any

from hocket.runtime.run.buffers import allocate, count_wrong, fill
from hocket.runtime.run.job import RunTask
from hocket.runtime.run.torch_calls import call, tensor_of

__all__ = ["PlacedBuffers"]


class PlacedBuffers:
    """For the calls of a task of one size, out of place or in place, with tensors on `device` (torch's), copied to and
    fro: on a CPU the host's own memory, unless `copied`."""

    def __init__(
        self, task: RunTask, rank: int, size: int, in_place: bool, device: Any, *, copied: bool = False
    ) -> None:
        self._task, self._rank, self._device = task, rank, device
        self._host = allocate(task, rank, size, in_place)
        self.input, self.output = (tensor_of(data, task.data_type) for data in (self._host.input, self._host.output))
        self._copied: list[tuple[Any, Any]] = []
        if copied or device.type != "cpu":
            self._place(in_place)

    def _place(self, in_place: bool) -> None:
        if not in_place:
            hosts = self.input, self.output
            self.input, self.output = (tensor.to(self._device, copy=True) for tensor in hosts)
            self._copied = [(hosts[0], self.input), (hosts[1], self.output)]
            return
        host = max(self.input, self.output, key=len)
        whole = host.to(self._device, copy=True)
        self.input, self.output = (self._part(whole, len(tensor)) for tensor in (self.input, self.output))
        self._copied = [(host, whole)]

    def _part(self, whole: Any, count: int) -> Any:
        """NCCL's rule: the smaller buffer is the rank's share of the larger."""
        return whole if count == len(whole) else whole.narrow(0, self._rank * count, count)

    def fill(self) -> None:
        """The input's values, in place; zeros in all else."""
        fill(self._task, self._rank, self._host)
        for host, placed in self._copied:
            placed.copy_(host)

    def call(self) -> None:
        """The collective, once."""
        task = self._task
        is_root = self._rank == task.root
        call(task.kind, self.input, self.output, task.root, task.op, is_root, task.num_ranks)

    def wrong(self) -> int:
        """Elements of the result, and of the caller's input, that are not as they must be."""
        for host, placed in self._copied:
            host.copy_(placed)
        return count_wrong(self._task, self._rank, self._host)
