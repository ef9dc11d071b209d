"""Programs over a group's own sends and receives: any backend that has them, CPUs or GPUs."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import torch

from hocket._core import executor as native
from hocket.plugin.serve.agreement import exchange_words
from hocket.plugin.serve.binding import Binding
from hocket.plugin.serve.native import run_bound
from hocket.plugin.serve.requests import Reduction
from hocket.runtime.engine.group_messages import GroupMessages
from hocket.runtime.engine.library import Library, ProgramChoice

__all__ = ["MessageTransport"]

_FUNCTIONS: dict[Reduction, Callable[..., torch.Tensor]] = {
    Reduction.SUM: torch.add,
    Reduction.AVG: torch.add,
    Reduction.PROD: torch.mul,
    Reduction.MAX: torch.maximum,
    Reduction.MIN: torch.minimum,
}


class MessageTransport:
    """Making it is collective, and makes NCCL's communicator, which its first group of messages could only do if all
    ranks had one. Raises HocketError where the ranks of the group have different programs."""

    by_messages = True

    def __init__(self, backend: Any, device: torch.device, library: Library) -> None:
        self._rank: int = backend.rank()
        self._messages = GroupMessages(backend, device)
        self._transport = self._messages.transport()
        self._parts: dict[int, native.Program] = {}
        self._calls = 0
        exchange_words(backend, device, library, "")

    @property
    def lost(self) -> int:
        return self._messages.lost

    def close(self) -> None:
        """The backend is the job's: it notices by itself what is gone."""

    def run(self, binding: Binding, timeout: timedelta) -> None:
        reduction = binding.request.reduction
        self._messages.timeout = timeout
        self._messages.dtype = torch.uint8 if reduction is None else binding.dtype
        self._messages.function = _FUNCTIONS[reduction or Reduction.SUM]
        self._calls += 1
        run_bound(self._part(binding.choice), self._transport, binding, self._rank, self._calls, timeout)

    def _part(self, choice: ProgramChoice) -> native.Program:
        if choice.number not in self._parts:  # always in one way with buffers: that of its collective's calls
            self._parts[choice.number] = choice.algorithm.exchanging_part(self._rank, choice.in_place)
        return self._parts[choice.number]
