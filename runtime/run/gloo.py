"""torch.distributed's stock gloo backend on this machine's processes: its messages, and its own collectives."""

import os
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.distributed as dist

from hocket.base.enums import assert_never, not_here
from hocket.runtime.engine.group_messages import GroupMessages
from hocket.runtime.run.datatypes import Array, ReduceOp
from hocket.runtime.run.job import RunTask
from hocket.schedule.collective import Kind

__all__ = ["Gloo"]

_OPS = {
    ReduceOp.SUM: dist.ReduceOp.SUM,
    ReduceOp.PROD: dist.ReduceOp.PRODUCT,
    ReduceOp.MAX: dist.ReduceOp.MAX,
    ReduceOp.MIN: dist.ReduceOp.MIN,
}


class Gloo:
    """A group of the ranks of a task, which have a folder in common."""

    def __init__(self, task: RunTask, folder: Path, rank: int) -> None:
        self._task, self._rank = task, rank
        # The host's name need not resolve for processes of one machine.
        os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
        if not dist.is_initialized():
            dist.init_process_group("gloo", init_method=f"file://{folder}/store", rank=rank, world_size=task.num_ranks)
        device = torch.device("cpu")
        self.messages = GroupMessages(dist.group.WORLD._get_backend(device), device)

    def own(self, source: Array, target: Array) -> None:
        """gloo's collective."""
        kind, root, op = self._task.kind, self._task.root, _OPS[self._task.op]
        send, receive = (self._tensor(data) for data in (source, target))
        if kind.shares_buffer:
            receive.copy_(send)
        match kind:
            case Kind.ALL_REDUCE:
                dist.all_reduce(receive, op)
            case Kind.REDUCE:
                dist.reduce(receive, root, op)
            case Kind.BROADCAST:
                dist.broadcast(receive, root)
            case Kind.ALL_GATHER:
                dist.all_gather_into_tensor(receive, send)
            case Kind.REDUCE_SCATTER:
                dist.reduce_scatter_tensor(receive, send, op)
            case Kind.ALL_TO_ALL:
                dist.all_to_all_single(receive, send)
            case Kind.GATHER:
                dist.gather(send, self._shares(receive) if self._rank == root else None, root)
            case Kind.SCATTER:
                dist.scatter(receive, self._shares(send) if self._rank == root else None, root)
            case Kind.CUSTOM:
                not_here(kind)
            case _:
                assert_never(kind)

    def _tensor(self, data: Array) -> Any:
        """A tensor on the same memory, of the task's type, some of which numpy lacks."""
        return torch.from_numpy(data.view(np.uint8)).view(getattr(torch, self._task.data_type))

    def _shares(self, tensor: Any) -> list[Any]:
        return list(tensor.chunk(self._task.num_ranks))
