"""Batches of messages: the dispatcher sees each message, but not that `batch_isend_irecv` issued several as one."""

from functools import wraps

import torch.distributed as dist

from hocket.plugin.torch.hook import Hook

__all__ = ["watch_batches"]


def watch_batches(hook: Hook) -> None:
    """Tells the hook of every batch. Comes before what imports the function, the rules of `torch.compile` included."""
    issue = dist.batch_isend_irecv

    @wraps(issue)
    def batch_isend_irecv(p2p_op_list: list[dist.P2POp]) -> list[dist.Work]:
        works: list[dist.Work] = []
        hook.begin_batch()
        try:
            works = issue(p2p_op_list)
        finally:
            hook.end_batch(works)
        return works

    dist.batch_isend_irecv = dist.distributed_c10d.batch_isend_irecv = batch_isend_irecv
