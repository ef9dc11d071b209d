"""Programs over a group's own sends and receives: any backend that has them, CPUs or GPUs."""

from collections.abc import Callable
from datetime import timedelta
from time import monotonic
from typing import Any

import torch

from hocket.base.errors import HocketError
from hocket.plugin.serve.agreement import exchange_words
from hocket.plugin.serve.binding import Binding
from hocket.plugin.serve.library import Library, ServedProgram
from hocket.plugin.serve.requests import Reduction
from hocket.schedule import Exchange, plan_exchanges
from hocket.schedule.exchange import STAGING, ExchangeMessage, RankPlan

__all__ = ["MessageTransport"]

# The largest tag that every MPI has; NCCL has none.
_TAG = 32767
# A larger workspace is not kept from call to call.
_KEPT_BYTES = 1 << 26
_FUNCTIONS: dict[Reduction, Callable[..., torch.Tensor]] = {
    Reduction.SUM: torch.add,
    Reduction.AVG: torch.add,
    Reduction.PROD: torch.mul,
    Reduction.MAX: torch.maximum,
    Reduction.MIN: torch.minimum,
}


class MessageTransport:
    """Goes through a program's exchange plan: the messages of a round as one group of the backend's, then the round's
    copies and reductions as operations on tensors.

    Messages are given to the backend itself, below the dispatcher, so that they count as no operations of the job.
    Making it is collective, and makes NCCL's communicator, which its first group of messages could only do if all ranks
    had one. Raises HocketError where the ranks of the group have different programs.
    """

    by_messages = True

    def __init__(self, backend: Any, device: torch.device, library: Library) -> None:
        self.lost = -1
        self._backend = backend
        self._device = device
        self._rank: int = backend.rank()
        self._exchange = self._as_one_group if backend.name() == "nccl" else self._one_by_one
        self._plans: dict[ServedProgram, RankPlan] = {}
        self._workspace = torch.empty(0, dtype=torch.uint8, device=device)
        exchange_words(backend, device, library, "")

    def close(self) -> None:
        """The backend is the job's: it notices by itself what is gone."""

    def run(self, binding: Binding, timeout: timedelta) -> None:
        plan = self._plan(binding.algorithm)
        source, target = binding.buffers(self._rank)
        memory = _Memory(binding, source, target, *self._scratch(binding, plan))
        for exchange in plan.exchanges:
            if exchange.sends or exchange.receives:
                self._exchange(exchange, memory, timeout)
            for step in exchange.local_steps:
                into = memory.at(step.target, step.chunks)
                if step.other is None:
                    into.copy_(memory.at(step.source, step.chunks))
                else:
                    memory.reduce(memory.at(step.source, step.chunks), memory.at(step.other, step.chunks), out=into)
        binding.finish(target)

    def _plan(self, algorithm: ServedProgram) -> RankPlan:
        if algorithm not in self._plans:
            program = algorithm.program
            self._plans[algorithm] = plan_exchanges(program, program.in_place).ranks[self._rank]
        return self._plans[algorithm]

    def _scratch(self, binding: Binding, plan: RankPlan) -> tuple[torch.Tensor, torch.Tensor]:
        """The program's scratch buffer and the plan's staging."""
        scratch_bytes = binding.algorithm.program.gpus[self._rank].scratch_chunks * binding.chunk_bytes
        needed = scratch_bytes + plan.staging_chunks * binding.chunk_bytes
        workspace = self._workspace
        if len(workspace) < needed:
            workspace = torch.empty(needed, dtype=torch.uint8, device=self._device)
            if needed <= _KEPT_BYTES:
                self._workspace = workspace
        return workspace[:scratch_bytes], workspace[scratch_bytes:needed]

    def _one_by_one(self, exchange: Exchange, memory: "_Memory", timeout: timedelta) -> None:
        begin, peer = monotonic(), -1
        pending: list[tuple[int, Any]] = []
        try:
            for issue, messages in ((self._backend.recv, exchange.receives), (self._backend.send, exchange.sends)):
                for message in messages:
                    peer = message.peer
                    pending.append((peer, issue([memory.of(message)], peer, _TAG)))
            for peer, work in pending:  # noqa: B007  # the handler names it
                work.wait(timeout)
        except RuntimeError as error:
            if monotonic() - begin < timeout.total_seconds():  # else it may only be late
                self.lost = peer
            raise HocketError(f"no message to or from rank {peer}: {error}") from error

    def _as_one_group(self, exchange: Exchange, memory: "_Memory", timeout: timedelta) -> None:
        """Between NCCL's group start and end. NCCL's watchdog keeps the time."""
        self._backend._start_coalescing()
        for message in exchange.sends:
            self._backend.send([memory.of(message)], message.peer, _TAG)
        for message in exchange.receives:
            self._backend.recv([memory.of(message)], message.peer, _TAG)
        self._backend._end_coalescing().wait()  # of the current stream, not of the host


class _Memory:
    """The buffers of a call, as elements that can be reduced (bytes, where nothing is)."""

    def __init__(
        self, binding: Binding, source: torch.Tensor, target: torch.Tensor, scratch: torch.Tensor, staging: torch.Tensor
    ) -> None:
        reduction = binding.request.reduction
        dtype = torch.uint8 if reduction is None else binding.dtype
        self._chunk = binding.chunk_bytes // dtype.itemsize
        self.reduce = _FUNCTIONS[reduction or Reduction.SUM]
        self._buffers = {
            name: data.view(dtype) for name, data in (("i", source), ("o", target), ("s", scratch), (STAGING, staging))
        }

    def at(self, place: tuple[str, int], chunks: int) -> torch.Tensor:
        buffer, offset = place
        return self._buffers[buffer][offset * self._chunk : (offset + chunks) * self._chunk]

    def of(self, message: ExchangeMessage) -> torch.Tensor:
        return self.at(message.place, message.chunks)
