"""How the arguments of a `c10d::*` operation become a piece of JSON, decided once an operation.

The dispatcher hands a kernel positional arguments and leaves out trailing ones that equal the schema's default.
"""

from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist

from hocket.plugin.torch.groups import Group
from hocket.plugin.torch.operations import PEER_TO_PEER, Operation

__all__ = ["describer", "required_position", "value_or_default"]

# Given the call's arguments and its group, a piece such as `,"in":4096`.
Describe = Callable[[tuple[Any, ...], Group], str]

_DTYPES: dict[torch.dtype, str] = {}


def position(schema: torch._C.FunctionSchema, name: str) -> int | None:
    """Where an argument stands in a schema; None when it has no such argument."""
    return next((index for index, argument in enumerate(schema.arguments) if argument.name == name), None)


def required_position(schema: torch._C.FunctionSchema, name: str) -> int:
    """Where an argument stands that the schema must have."""
    index = position(schema, name)
    if index is None:
        raise ValueError(f"{schema.name} has no argument {name}")
    return index


def value_or_default(schema: torch._C.FunctionSchema, name: str, absent: Any) -> Callable[[tuple[Any, ...]], Any]:
    """A reader of one argument, `absent` where the schema has no such argument."""
    index = position(schema, name)
    if index is None:
        return lambda arguments: absent
    default = schema.arguments[index].default_value
    return lambda arguments: arguments[index] if index < len(arguments) else default


def describer(operation: Operation, schema: torch._C.FunctionSchema) -> Describe:
    """Describes a call of the operation: bytes in and out, type, and what else its arguments say."""
    parts: list[Describe] = []
    tensors = operation.input or operation.output
    if operation.input:
        parts.append(_bytes("in", schema, operation.input))
    if operation.output:
        parts.append(_bytes("out", schema, operation.output))
    if tensors:
        parts.append(_dtype(schema, tensors))
    if operation.output and operation.kind not in PEER_TO_PEER:
        parts.append(_pointers(schema, operation.output))
    for name, key in (("root_rank", "root"), ("src", "peer"), ("dst", "peer")):
        if (index := position(schema, name)) is not None:
            parts.append(_world_rank(key, index))
    if (index := position(schema, "tag")) is not None:
        parts.append(_number("tag", index))
    if (index := position(schema, "reduce_op")) is not None and hasattr(dist.ReduceOp, "unbox"):
        parts.append(_reduction(index))
    for name, key in (("input_split_sizes", "in_splits"), ("output_split_sizes", "out_splits")):
        if (index := position(schema, name)) is not None:
            parts.append(_splits(key, index))
    return lambda arguments, group: "".join([part(arguments, group) for part in parts])


def _tensors(schema: torch._C.FunctionSchema, name: str) -> Callable[[tuple[Any, ...]], list[torch.Tensor]]:
    """A reader of an argument that is a tensor, a list of them or a list of lists: always one flat list."""
    index = required_position(schema, name)
    depth = str(schema.arguments[index].type).count("List")
    if depth == 0:
        return lambda arguments: [arguments[index]]
    if depth == 1:
        return lambda arguments: arguments[index]
    return lambda arguments: [tensor for tensors in arguments[index] for tensor in tensors]


def _bytes(key: str, schema: torch._C.FunctionSchema, name: str) -> Describe:
    tensors = _tensors(schema, name)

    def describe(arguments: tuple[Any, ...], group: Group) -> str:
        found = tensors(arguments)
        size = found[0].nbytes if len(found) == 1 else sum([tensor.nbytes for tensor in found])
        return f',"{key}":{size}'

    return describe


def _dtype(schema: torch._C.FunctionSchema, name: str) -> Describe:
    tensors = _tensors(schema, name)

    def describe(arguments: tuple[Any, ...], group: Group) -> str:
        found = tensors(arguments)
        if not found:
            return ""
        dtype = found[0].dtype
        if dtype not in _DTYPES:
            _DTYPES[dtype] = f',"dtype":"{str(dtype).removeprefix("torch.")}"'
        return _DTYPES[dtype]

    return describe


def _pointers(schema: torch._C.FunctionSchema, name: str) -> Describe:
    """Addresses of the outputs: `_c10d_functional::wait_tensor` is told a tensor, not an operation."""
    tensors = _tensors(schema, name)
    return lambda arguments, group: f',"ptr":{[tensor.data_ptr() for tensor in tensors(arguments)]}'


def _world_rank(key: str, index: int) -> Describe:
    """Ranks in arguments count within the group."""
    return lambda arguments, group: f',"{key}":{group.ranks[arguments[index]]}'


def _number(key: str, index: int) -> Describe:
    return lambda arguments, group: f',"{key}":{arguments[index]}'


def _reduction(index: int) -> Describe:
    names = {operation: f',"reduce":"{name}"' for name, operation in dist.ReduceOp.RedOpType.__members__.items()}
    unbox = dist.ReduceOp.unbox
    return lambda arguments, group: names[unbox(arguments[index]).op]


def _splits(key: str, index: int) -> Describe:
    return lambda arguments, group: f',"{key}":{list(arguments[index])}' if arguments[index] else ""
