"""torch.distributed's stock gloo backend on this machine's processes: its messages, and its own collectives."""

import os
from pathlib import Path

import torch
import torch.distributed as dist

from hocket.runtime.engine.group_messages import GroupMessages
from hocket.runtime.run.datatypes import Array
from hocket.runtime.run.job import RunTask
from hocket.runtime.run.torch_calls import call, tensor_of

__all__ = ["Gloo"]


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
        task = self._task
        send, receive = (tensor_of(data, task.data_type) for data in (source, target))
        if task.kind.shares_buffer:
            receive.copy_(send)
        call(task.kind, send, receive, task.root, task.op, self._rank == task.root, task.num_ranks)
