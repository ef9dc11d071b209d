"""Programs over a group's own sends and receives: any backend that has them, CPUs or GPUs."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist

from hocket._core import executor as native
from hocket.plugin.serve.agreement import exchange_words
from hocket.plugin.serve.binding import ENGINE_ELEMENTS, Binding
from hocket.plugin.serve.engine import NO_CAPTURE
from hocket.plugin.serve.native import run_bound
from hocket.plugin.serve.requests import Reduction
from hocket.plugin.torch import interfaces
from hocket.runtime.engine.group_messages import GroupMessages
from hocket.runtime.engine.library import ProgramChoice

__all__ = ["MessageTransport", "groups_messages"]

_FUNCTIONS: dict[Reduction, Callable[..., torch.Tensor]] = {
    Reduction.SUM: torch.add,
    Reduction.AVG: torch.add,
    Reduction.PROD: torch.mul,
    Reduction.MAX: torch.maximum,
    Reduction.MIN: torch.minimum,
}


def groups_messages(backend: Any) -> bool:
    """Whether a backend takes several messages as one, in any order, as those of devices have to."""
    supports = interfaces.BEGIN_MESSAGES.found is not None and interfaces.END_MESSAGES.found is not None
    return supports and (backend.name() == "nccl" or bool(getattr(backend, "supports_coalescing", False)))


class MessageTransport:
    """Making it is collective, and makes NCCL's communicator, which its first group of messages could only do if all
    ranks had one."""

    by_messages = True
    elements: Mapping[torch.dtype, int] = ENGINE_ELEMENTS

    def __init__(self, group: dist.ProcessGroup, backend: Any, device: torch.device) -> None:
        self._rank: int = backend.rank()
        self._group = group
        self._set_description = interfaces.DESCRIBE_GROUP.found
        grouped = device.type != "cpu"
        begin, end = (interfaces.BEGIN_MESSAGES.need(), interfaces.END_MESSAGES.need()) if grouped else (None, None)
        self._messages = GroupMessages(backend, device, begin, end)
        self._transport = self._messages.transport()
        self._parts: dict[int, native.Program] = {}
        self._calls = 0
        exchange_words(backend, device, "")

    @property
    def lost(self) -> int:
        return self._messages.lost

    def close(self) -> None:
        """The backend is the job's: it notices by itself what is gone."""

    def capture_refusal(self, binding: Binding) -> str:
        return NO_CAPTURE

    def run(self, binding: Binding, timeout: timedelta) -> None:
        reduction = binding.request.reduction
        self._messages.timeout = timeout
        self._messages.dtype = torch.uint8 if reduction is None else binding.dtype
        self._messages.function = _FUNCTIONS[reduction or Reduction.SUM]
        self._calls += 1
        buffers = binding.buffers(self._rank)
        self._messages.begin_call(buffers)
        with self._named(binding.choice.algorithm.name):
            run_bound(self._part(binding.choice), self._transport, binding, buffers, self._calls, timeout)
        self._messages.begin_call(())

    @contextmanager
    def _named(self, program: str) -> Iterator[None]:
        """Has what is enqueued bear the program's name: the group's description stands in Flight Recorder's entries, in
        what NCCL's watchdog dumps, and in the profiler's."""
        if self._set_description is None:
            yield
            return
        description = self._group.group_desc
        self._set_description(self._group, f"{description} by {program}")
        try:
            yield
        finally:
            self._set_description(self._group, description)

    def _part(self, choice: ProgramChoice) -> native.Program:
        if choice.number not in self._parts:  # always in one way with buffers: that of its collective's calls
            self._parts[choice.number] = choice.algorithm.exchanging_part(self._rank, choice.in_place)
        return self._parts[choice.number]
