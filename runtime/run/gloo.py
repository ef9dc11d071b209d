"""torch.distributed's stock gloo backend on this machine's processes."""

import os
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.distributed as dist

from hocket.runtime.run.backend import Pending
from hocket.runtime.run.datatypes import Array, DataType, ReduceOp
from hocket.schedule.collective import Kind

__all__ = ["GlooBackend"]

_OPS = {
    ReduceOp.SUM: dist.ReduceOp.SUM,
    ReduceOp.PROD: dist.ReduceOp.PRODUCT,
    ReduceOp.MAX: dist.ReduceOp.MAX,
    ReduceOp.MIN: dist.ReduceOp.MIN,
}


def _tensor(data: Array) -> Any:
    """A tensor on the same memory, as bytes: gloo moves no other type that numpy lacks."""
    return torch.from_numpy(data.view(np.uint8))


class GlooBackend:
    """A connection's channel is its gloo tag."""

    def __init__(self, folder: Path, rank: int, size: int) -> None:
        self.rank, self.size = rank, size
        # The host's name need not resolve for processes of one machine.
        os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
        dist.init_process_group("gloo", init_method=f"file://{folder}/store", rank=rank, world_size=size)

    def send(self, data: Array, peer: int, channel: int) -> Pending:
        work: Pending = dist.isend(_tensor(data), peer, tag=channel)
        return work

    def receive(self, data: Array, peer: int, channel: int) -> None:
        dist.recv(_tensor(data), peer, tag=channel)

    def barrier(self) -> None:
        dist.barrier()

    def gather_all(self, values: list[int]) -> list[list[int]]:
        mine = torch.tensor(values)
        everyone = [torch.empty_like(mine) for _ in range(self.size)]
        dist.all_gather(everyone, mine)
        return [row.tolist() for row in everyone]

    def collective(
        self, kind: Kind, source: Array, target: Array, data_type: DataType, op: ReduceOp, root: int
    ) -> None:
        element = getattr(torch, data_type.name)
        send, receive = _tensor(source).view(element), _tensor(target).view(element)
        if kind in (Kind.ALL_REDUCE, Kind.REDUCE, Kind.BROADCAST):
            receive.copy_(send)
        match kind:
            case Kind.ALL_REDUCE:
                dist.all_reduce(receive, _OPS[op])
            case Kind.REDUCE:
                dist.reduce(receive, root, _OPS[op])
            case Kind.BROADCAST:
                dist.broadcast(receive, root)
            case Kind.ALL_GATHER:
                dist.all_gather_into_tensor(receive, send)
            case Kind.REDUCE_SCATTER:
                dist.reduce_scatter_tensor(receive, send, _OPS[op])
            case Kind.ALL_TO_ALL:
                dist.all_to_all_single(receive, send)
            case Kind.GATHER:
                dist.gather(send, list(receive.chunk(self.size)) if self.rank == root else None, root)
            case Kind.SCATTER:
                dist.scatter(receive, list(send.chunk(self.size)) if self.rank == root else None, root)
