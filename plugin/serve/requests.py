"""What a `c10d::*` operation asks for, as collectives on flat buffers."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
import torch.distributed as dist

from hocket.base.enums import StrEnum
from hocket.plugin.serve.reduction_types import reduction_reader
from hocket.schedule import Kind

__all__ = ["REQUESTS", "Reduction", "Request", "Unserved", "checked", "reduction_of", "requests_of"]

RedOpType = dist.ReduceOp.RedOpType
Arguments = dict[str, Any]


class Unserved(Exception):
    """Why a call runs the stock algorithm, in words of which there are few: calls are counted by them."""


class Reduction(StrEnum):
    """The first four are the engine's, by position."""

    SUM = "sum"
    PROD = "prod"
    MAX = "max"
    MIN = "min"
    AVG = "avg"


_REDUCTIONS = {
    RedOpType.SUM: Reduction.SUM,
    RedOpType.PRODUCT: Reduction.PROD,
    RedOpType.MAX: Reduction.MAX,
    RedOpType.MIN: Reduction.MIN,
    RedOpType.AVG: Reduction.AVG,
}


@dataclass(frozen=True, slots=True)
class Request:
    """One collective. A rank's input (output) buffer is its tensors' elements one after another; empty where the rank
    has none. `root`: in the group, -1 where there is none; `reduction`: None where nothing is added up."""

    kind: Kind
    inputs: list[torch.Tensor]
    outputs: list[torch.Tensor]
    reduction: Reduction | None = None
    root: int = -1


def reduction_of(op: Any) -> Reduction:
    """Of a ReduceOp, or the type of one. Raises Unserved for one that no program has."""
    kind = getattr(op, "op", op)
    if kind not in _REDUCTIONS:
        raise Unserved(f"reduction {str(kind).removeprefix('RedOpType.')} is no program's")
    return _REDUCTIONS[kind]


def _reduction(arguments: Arguments) -> Reduction:
    return reduction_of(reduction_reader()(arguments["reduce_op"]))


def _only(tensors: list[Any]) -> Any:
    """torch.distributed gives a list of a tensor a device; there is one."""
    if len(tensors) != 1:
        raise Unserved("several tensors of one rank")
    return tensors[0]


def _all_reduce(arguments: Arguments, _: int) -> list[Request]:
    tensor = _only(arguments["tensors"])
    return [Request(Kind.ALL_REDUCE, [tensor], [tensor], _reduction(arguments))]


def _all_reduce_coalesced(arguments: Arguments, _: int) -> list[Request]:
    tensors = arguments["tensors"]
    return [Request(Kind.ALL_REDUCE, tensors, tensors, _reduction(arguments))]


def _broadcast(arguments: Arguments, rank: int) -> list[Request]:
    tensor, root = _only(arguments["tensors"]), arguments["root_rank"]
    return [Request(Kind.BROADCAST, [tensor] if rank == root else [], [tensor], None, root)]


def _reduce(arguments: Arguments, rank: int) -> list[Request]:
    tensor, root = _only(arguments["tensors"]), arguments["root_rank"]
    return [Request(Kind.REDUCE, [tensor], [tensor] if rank == root else [], _reduction(arguments), root)]


def _all_gather(arguments: Arguments, _: int) -> list[Request]:
    outputs = _only(arguments["output_tensors"])
    if len({tensor.numel() for tensor in outputs}) > 1:
        raise Unserved("tensors of different sizes")
    return [Request(Kind.ALL_GATHER, [_only(arguments["input_tensors"])], outputs)]


def _all_gather_base(arguments: Arguments, _: int) -> list[Request]:
    return [Request(Kind.ALL_GATHER, [arguments["input_tensor"]], [arguments["output_tensor"]])]


def _all_gather_coalesced(arguments: Arguments, _: int) -> list[Request]:
    pairs = zip(arguments["inputs"], arguments["outputs"], strict=True)
    return [Request(Kind.ALL_GATHER, [source], [target]) for source, target in pairs]


def _reduce_scatter(arguments: Arguments, _: int) -> list[Request]:
    inputs = _only(arguments["input_tensors"])
    if len({tensor.numel() for tensor in inputs}) > 1:
        raise Unserved("tensors of different sizes")
    return [Request(Kind.REDUCE_SCATTER, inputs, [_only(arguments["output_tensors"])], _reduction(arguments))]


def _reduce_scatter_base(arguments: Arguments, _: int) -> list[Request]:
    source, target = arguments["input_tensor"], arguments["output_tensor"]
    return [Request(Kind.REDUCE_SCATTER, [source], [target], _reduction(arguments))]


def _reduce_scatter_coalesced(arguments: Arguments, _: int) -> list[Request]:
    reduction = _reduction(arguments)
    pairs = zip(arguments["inputs"], arguments["outputs"], strict=True)
    return [Request(Kind.REDUCE_SCATTER, [source], [target], reduction) for source, target in pairs]


def _all_to_all_base(arguments: Arguments, _: int) -> list[Request]:
    if arguments["output_split_sizes"] or arguments["input_split_sizes"]:
        raise Unserved("split sizes, which may differ between ranks")
    return [Request(Kind.ALL_TO_ALL, [arguments["input"]], [arguments["output"]])]


def _all_to_all(arguments: Arguments, _: int) -> list[Request]:
    raise Unserved("a list of tensors, whose sizes may differ between ranks")


def _gather(arguments: Arguments, rank: int) -> list[Request]:
    root = arguments["root_rank"]
    outputs = _only(arguments["output_tensors"]) if rank == root else []
    return [Request(Kind.GATHER, [_only(arguments["input_tensors"])], outputs, None, root)]


def _scatter(arguments: Arguments, rank: int) -> list[Request]:
    root = arguments["root_rank"]
    inputs = _only(arguments["input_tensors"]) if rank == root else []
    return [Request(Kind.SCATTER, inputs, [_only(arguments["output_tensors"])], None, root)]


#: For each operation, the collectives that it asks of a rank of the group, given its arguments by name.
REQUESTS: dict[str, Callable[[Arguments, int], list[Request]]] = {
    "allreduce_": _all_reduce,
    "allreduce_coalesced_": _all_reduce_coalesced,
    "broadcast_": _broadcast,
    "reduce_": _reduce,
    "allgather_": _all_gather,
    "_allgather_base_": _all_gather_base,
    "allgather_into_tensor_coalesced_": _all_gather_coalesced,
    "reduce_scatter_": _reduce_scatter,
    "_reduce_scatter_base_": _reduce_scatter_base,
    "reduce_scatter_tensor_coalesced_": _reduce_scatter_coalesced,
    "alltoall_base_": _all_to_all_base,
    "alltoall_": _all_to_all,
    "gather_": _gather,
    "scatter_": _scatter,
}


def requests_of(name: str, arguments: Arguments, rank: int) -> list[Request]:
    """The collectives of an operation. Raises Unserved where it is nothing for a program."""
    return [checked(request) for request in REQUESTS[name](arguments, rank)]


def checked(request: Request) -> Request:
    """The request itself. Raises Unserved where its tensors are nothing for a program."""
    tensors = request.inputs + request.outputs
    if any(tensor.layout is not torch.strided or tensor.is_conj() or tensor.is_neg() for tensor in tensors):
        raise Unserved("a tensor that is sparse, or a lazy conjugate")
    if len({tensor.dtype for tensor in tensors}) > 1:
        raise Unserved("tensors of different types")
    if all(tensor.numel() == 0 for tensor in tensors):
        raise Unserved("empty tensors")
    return request
