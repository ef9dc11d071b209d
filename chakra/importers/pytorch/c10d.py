"""What recorded `c10d::*` operations and `record_param_comms` say: kind, sizes, type, root, peer, splits."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from hocket.base.collectives import kind_called
from hocket.chakra.c10d import DispatcherOperation
from hocket.chakra.importers.dtypes import common_dtype

__all__ = ["Arguments", "Described", "Tensors", "describe", "describe_direct", "describe_span"]

# How NCCL's backend calls the span of a message: the numbers are of ranks in the group.
_MESSAGE = re.compile(r"(?P<kind>send|recv) \d{1,9}(?:->|<-)(?P<peer>\d{1,9})")
# Operations whose own kernels communicate through mapped memory: kind, and where the input is among the arguments
# (torch/csrc/distributed/c10d/symm_mem/SymmetricMemory.cpp of PyTorch 2.9; csrc/custom_all_reduce.cu of vLLM).
_DIRECT = {
    "symm_mem::multimem_all_reduce_": ("all_reduce", 0),
    "symm_mem::one_shot_all_reduce": ("all_reduce", 0),
    "symm_mem::one_shot_all_reduce_out": ("all_reduce", 0),
    "symm_mem::two_shot_all_reduce_": ("all_reduce", 0),
    "symm_mem::two_shot_all_reduce_out": ("all_reduce", 0),
    "symm_mem::multimem_all_gather_out": ("all_gather", 0),
    "_C_custom_ar::all_reduce": ("all_reduce", 1),
}


class Tensors(NamedTuple):
    """Tensors in an argument: how many, their elements, their bytes (-1 where that was not recorded), and their type by
    PyTorch's name, "" where that was not recorded or they differ."""

    number: int
    elements: int
    num_bytes: int
    dtype: str = ""


class Arguments(Protocol):
    """The recorded arguments of a call, by position; None where one was not recorded or is no such value."""

    def tensors(self, position: int) -> Tensors | None: ...

    def integer(self, position: int) -> int | None: ...

    def boolean(self, position: int) -> bool | None: ...

    def integers(self, position: int) -> tuple[int, ...]: ...


@dataclass(frozen=True)
class Described:
    """A call: `num_bytes` as in `Call`, where `per_member` for each rank of the group, -1 where unknown; `dtype` ""
    where unknown; `root` and `peer` count within the group, -1 where unknown; `is_async` None where unknown. `members`
    is how many ranks the arguments show the group to have, 0 where they do not, `least` how many at least."""

    kind: str
    num_bytes: int
    per_member: bool = False
    dtype: str = ""
    root: int = -1
    peer: int = -1
    tag: int = 0
    in_splits: tuple[int, ...] = ()
    is_async: bool | None = None
    members: int = 0
    least: int = 0


def describe(operation: DispatcherOperation, arguments: Arguments) -> Described:
    """What the arguments say of a call."""
    at = operation.positions
    tensors_in, tensors_out = (
        arguments.tensors(at[name]) if name else None for name in (operation.input, operation.output)
    )
    sized = tensors_out if operation.kind in ("recv", "scatter") else tensors_in
    splits = arguments.integers(at["input_split_sizes"]) if "input_split_sizes" in at else ()
    root, tag = (_integer(arguments, at.get(name)) for name in ("root_rank", "tag"))
    peer = _integer(arguments, at.get("dst", at.get("src")))
    return Described(
        operation.kind,
        0 if operation.kind == "barrier" else -1 if sized is None else sized.num_bytes,
        operation.kind == "scatter",
        sized.dtype if sized else "",
        root,
        peer,
        max(tag, 0),
        splits if len(set(splits)) > 1 else (),
        arguments.boolean(at["async_op"]) if "async_op" in at else None,
        _members(operation.kind, tensors_in, tensors_out) or len(splits),
        max(root, peer) + 1,
    )


def describe_direct(name: str, arguments: Arguments) -> Described | None:
    """What an operation that communicates by a kernel of its own does; None of one that is none of these."""
    if name not in _DIRECT:
        return None
    kind, position = _DIRECT[name]
    tensors = arguments.tensors(position)
    return Described(kind, tensors.num_bytes if tensors else -1, dtype=tensors.dtype if tensors else "", least=2)


def describe_span(name: str, inputs: Sequence[Tensors | None]) -> Described:
    """What a backend's span, such as gloo:all_reduce or `nccl:send 0->1`, says: its inputs are its tensors."""
    sizes = [-1 if tensors is None else tensors.num_bytes for tensors in inputs]
    plain = name.partition(":")[2]
    message = _MESSAGE.fullmatch(plain)
    return Described(
        message["kind"] if message else kind_called(plain) or name,
        sum(sizes) if sizes and min(sizes) >= 0 else -1,
        dtype=common_dtype(tensors.dtype if tensors else "" for tensors in inputs),
        peer=int(message["peer"]) if message else -1,
    )


def _integer(arguments: Arguments, position: int | None) -> int:
    value = None if position is None else arguments.integer(position)
    return -1 if value is None else value


def _members(kind: str, tensors_in: Tensors | None, tensors_out: Tensors | None) -> int:
    """How many ranks the sizes show a group to have; 0 where they do not."""
    if tensors_in is None or tensors_out is None:
        return 0
    if kind in ("scatter", "all_to_all"):
        return tensors_in.number if tensors_in.number > 1 else 0
    if kind == "gather" and tensors_out.number > 1:
        return tensors_out.number
    whole, part = (tensors_in, tensors_out) if kind == "reduce_scatter" else (tensors_out, tensors_in)
    parts = kind in ("all_gather", "gather", "reduce_scatter") and part.elements > 0 and whole.elements > 0
    return whole.elements // part.elements if parts and whole.elements % part.elements == 0 else 0
