"""torch.distributed's own call of each collective, whatever the backend and the tensors' device."""

from typing import Any

import torch
import torch.distributed as dist

from hocket.base.enums import assert_never, not_here
from hocket.runtime.run.datatypes import ReduceOp
from hocket.schedule.collective import Kind

__all__ = ["call", "tensor_of"]

_OPS = {
    ReduceOp.SUM: dist.ReduceOp.SUM,
    ReduceOp.PROD: dist.ReduceOp.PRODUCT,
    ReduceOp.MAX: dist.ReduceOp.MAX,
    ReduceOp.MIN: dist.ReduceOp.MIN,
}


def call(kind: Kind, send: Any, receive: Any, root: int, op: ReduceOp, is_root: bool, num_ranks: int) -> None:
    """From the tensor `send` to `receive`; those with one buffer work in `receive` alone."""
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
            dist.gather(send, list(receive.chunk(num_ranks)) if is_root else None, root)
        case Kind.SCATTER:
            dist.scatter(receive, list(send.chunk(num_ranks)) if is_root else None, root)
        case Kind.CUSTOM:
            not_here(kind)
        case _:
            assert_never(kind)


def tensor_of(data: Any, data_type: str) -> Any:
    """A tensor on the memory of numpy's array, of a type of which numpy may lack the name."""
    return torch.from_numpy(data.view("uint8")).view(getattr(torch, data_type))
