"""What recorded `c10d::*` operations and `record_param_comms` say: kind, sizes, root, peer, splits.

Arguments stand where the schemas of PyTorch 2.0 to 2.15 have them (torch/csrc/distributed/c10d/Ops.cpp).
"""

from dataclasses import dataclass
from typing import NamedTuple, Protocol

__all__ = ["OPERATIONS", "RECORDED", "Arguments", "Described", "Tensors", "describe"]


class Operation(NamedTuple):
    """Kind of a dispatcher operation and the positions of its arguments; async_op is absent in older schemas."""

    kind: str
    input: int | None = None
    output: int | None = None
    root: int | None = None
    peer: int | None = None
    tag: int | None = None
    in_splits: int | None = None
    is_async: int | None = None


OPERATIONS = {
    "allreduce_": Operation("all_reduce", 0, 0, is_async=4),
    "allreduce_coalesced_": Operation("all_reduce", 0, 0, is_async=3),
    "broadcast_": Operation("broadcast", 0, 0, root=2, is_async=4),
    "reduce_": Operation("reduce", 0, 0, root=3, is_async=5),
    "allgather_": Operation("all_gather", 1, 0, is_async=3),
    "_allgather_base_": Operation("all_gather", 1, 0, is_async=3),
    "allgather_coalesced_": Operation("all_gather", 1, 0, is_async=3),
    "allgather_into_tensor_coalesced_": Operation("all_gather", 1, 0, is_async=3),
    "reduce_scatter_": Operation("reduce_scatter", 1, 0, is_async=4),
    "_reduce_scatter_base_": Operation("reduce_scatter", 1, 0, is_async=4),
    "reduce_scatter_tensor_coalesced_": Operation("reduce_scatter", 1, 0, is_async=4),
    "scatter_": Operation("scatter", 1, 0, root=3, is_async=4),
    "gather_": Operation("gather", 1, 0, root=3, is_async=4),
    "gather_into_tensor_": Operation("gather", 1, 0, root=3, is_async=4),
    "alltoall_": Operation("all_to_all", 1, 0, is_async=3),
    "alltoall_base_": Operation("all_to_all", 1, 0, in_splits=4, is_async=5),
    "barrier": Operation("barrier", is_async=3),
    "monitored_barrier_": Operation("barrier"),
    "send": Operation("send", 0, peer=2, tag=3),
    "recv_": Operation("recv", output=0, peer=2, tag=3),
    "recv_any_source_": Operation("recv", output=0, tag=2),
}

# Names under which record_param_comms records NCCL's operations.
RECORDED = {
    "allreduce": "all_reduce",
    "allreduce_coalesced": "all_reduce",
    "broadcast": "broadcast",
    "_broadcast_oop": "broadcast",
    "reduce": "reduce",
    "_reduce_oop": "reduce",
    "all_gather": "all_gather",
    "allgather": "all_gather",
    "_allgather_base": "all_gather",
    "allgather_into_tensor_coalesced": "all_gather",
    "allgather_coalesced": "all_gather",
    "reduce_scatter": "reduce_scatter",
    "_reduce_scatter_base": "reduce_scatter",
    "reduce_scatter_tensor_coalesced": "reduce_scatter",
    "all_to_all": "all_to_all",
    "all_to_allv": "all_to_all",
    "alltoall": "all_to_all",
    "alltoall_base": "all_to_all",
    "gather": "gather",
    "scatter": "scatter",
    "barrier": "barrier",
    "send": "send",
    "recv": "recv",
}


class Tensors(NamedTuple):
    """Tensors in an argument: how many, their elements, and their bytes; -1 where that was not recorded."""

    number: int
    elements: int
    num_bytes: int


class Arguments(Protocol):
    """The recorded arguments of a call, by position; None where one was not recorded or is no such value."""

    def tensors(self, position: int) -> Tensors | None: ...

    def integer(self, position: int) -> int | None: ...

    def boolean(self, position: int) -> bool | None: ...

    def integers(self, position: int) -> tuple[int, ...]: ...


@dataclass(frozen=True)
class Described:
    """A call: `num_bytes` as in `Call`, where `per_member` for each rank of the group, -1 where unknown; `root` and
    `peer` count within the group, -1 where unknown; `is_async` None where unknown. `members` is how many ranks the
    arguments show the group to have, 0 where they do not, `least` how many at least."""

    kind: str
    num_bytes: int
    per_member: bool = False
    root: int = -1
    peer: int = -1
    tag: int = 0
    in_splits: tuple[int, ...] = ()
    is_async: bool | None = None
    members: int = 0
    least: int = 0


def describe(operation: Operation, arguments: Arguments) -> Described:
    """What the arguments say of a call."""
    given, taken = (_tensors(arguments, position) for position in (operation.input, operation.output))
    sized = taken if operation.kind in ("recv", "scatter") else given
    splits = () if operation.in_splits is None else arguments.integers(operation.in_splits)
    root, peer, tag = (_integer(arguments, position) for position in (operation.root, operation.peer, operation.tag))
    return Described(
        operation.kind,
        0 if operation.kind == "barrier" else -1 if sized is None else sized.num_bytes,
        operation.kind == "scatter",
        root,
        peer,
        max(tag, 0),
        splits if len(set(splits)) > 1 else (),
        None if operation.is_async is None else arguments.boolean(operation.is_async),
        _members(operation.kind, given, taken) or len(splits),
        max(root, peer) + 1,
    )


def _tensors(arguments: Arguments, position: int | None) -> Tensors | None:
    return None if position is None else arguments.tensors(position)


def _integer(arguments: Arguments, position: int | None) -> int:
    value = None if position is None else arguments.integer(position)
    return -1 if value is None else value


def _members(kind: str, given: Tensors | None, taken: Tensors | None) -> int:
    """How many ranks the sizes show a group to have; 0 where they do not."""
    if given is None or taken is None:
        return 0
    if kind in ("scatter", "all_to_all"):
        return given.number if given.number > 1 else 0
    if kind == "gather" and taken.number > 1:
        return taken.number
    whole, part = (given, taken) if kind == "reduce_scatter" else (taken, given)
    parts = kind in ("all_gather", "gather", "reduce_scatter") and part.elements > 0 and whole.elements > 0
    return whole.elements // part.elements if parts and whole.elements % part.elements == 0 else 0
