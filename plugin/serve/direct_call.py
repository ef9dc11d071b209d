"""A collective that is called from Python: as a request to programs, and as torch.distributed's own call."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
import torch.distributed as dist

from hocket.plugin.serve.bypass import stock_alone
from hocket.plugin.serve.requests import Request, checked, reduction_of
from hocket.schedule import Kind

__all__ = ["CALLED_KINDS", "DirectCall"]


@dataclass(frozen=True, slots=True)
class DirectCall:
    """`source` and `target`: the whole input and output of this rank, which may be one tensor; `op`: None where nothing
    is reduced; `root`: in the group, -1 where there is none."""

    kind: Kind
    source: torch.Tensor
    target: torch.Tensor
    op: Any = None
    root: int = -1

    @property
    def size_bytes(self) -> int:
        """Of the larger buffer, as nccl-tests counts."""
        return int(max(self.source.nbytes, self.target.nbytes))

    def request(self, rank: int) -> Request:
        """What it asks of a rank of the group. Raises Unserved where it is nothing for a program."""
        reduction = None if self.op is None else reduction_of(self.op)
        inputs = [] if self.kind is Kind.BROADCAST and rank != self.root else [self.source]
        return checked(Request(self.kind, inputs, [self.target], reduction, self.root))

    def run_stock(self, group: dist.ProcessGroup) -> None:
        """By torch.distributed, on the caller's stream."""
        with stock_alone():
            _STOCK[self.kind](self, group)


def _all_reduce(call: DirectCall, group: dist.ProcessGroup) -> None:
    if call.target is not call.source:
        call.target.copy_(call.source)
    dist.all_reduce(call.target, call.op, group)


def _all_gather(call: DirectCall, group: dist.ProcessGroup) -> None:
    dist.all_gather_into_tensor(call.target, call.source, group)


def _reduce_scatter(call: DirectCall, group: dist.ProcessGroup) -> None:
    dist.reduce_scatter_tensor(call.target, call.source, call.op, group)


def _all_to_all(call: DirectCall, group: dist.ProcessGroup) -> None:
    dist.all_to_all_single(call.target, call.source, group=group)


def _broadcast(call: DirectCall, group: dist.ProcessGroup) -> None:
    dist.broadcast(call.target, dist.get_global_rank(group, call.root), group)


_STOCK: dict[Kind, Callable[[DirectCall, dist.ProcessGroup], None]] = {
    Kind.ALL_REDUCE: _all_reduce,
    Kind.ALL_GATHER: _all_gather,
    Kind.REDUCE_SCATTER: _reduce_scatter,
    Kind.ALL_TO_ALL: _all_to_all,
    Kind.BROADCAST: _broadcast,
}

#: What a communicator has functions for.
CALLED_KINDS = tuple(_STOCK)
