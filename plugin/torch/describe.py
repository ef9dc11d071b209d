"""How the arguments of a `c10d::*` operation become a piece of JSON; all that can be is decided once an operation.

The dispatcher hands a kernel positional arguments and leaves out trailing ones that equal the schema's default.
"""

from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.distributed as dist

from hocket.plugin.torch.groups import Group
from hocket.plugin.torch.operations import PEER_TO_PEER, Operation

__all__ = ["describer", "is_async_reader", "required_position"]

Arguments = tuple[Any, ...]

_DTYPES = {
    dtype: f',"dtype":"{str(dtype).removeprefix("torch.")}"'
    for dtype in vars(torch).values()
    if isinstance(dtype, torch.dtype)
}


def required_position(schema: torch._C.FunctionSchema, name: str) -> int:
    """Where an argument stands that the schema must have."""
    return next(index for index, argument in enumerate(schema.arguments) if argument.name == name)


def is_async_reader(schema: torch._C.FunctionSchema) -> Callable[[Arguments], bool]:
    """Tells whether a call is asynchronous: by its argument `async_op`, else by whether it returns something."""
    names = [argument.name for argument in schema.arguments]
    if "async_op" not in names:
        always = bool(schema.returns)
        return lambda arguments: always
    index = names.index("async_op")
    default = schema.arguments[index].default_value
    return lambda arguments: arguments[index] if index < len(arguments) else default


def describer(operation: Operation, schema: torch._C.FunctionSchema) -> Callable[[Arguments, Group, bool], str]:
    """Describes a call: bytes in and out, type, and what its other arguments say, as `"in":4096,...`."""
    inputs, outputs = _tensors(schema, operation.input), _tensors(schema, operation.output)
    in_place = operation.input == operation.output
    details = _details(schema)
    # `_c10d_functional::wait_tensor` is told a tensor, not an operation: where the outputs lie identifies it.
    addressed = operation.output is not None and operation.kind not in PEER_TO_PEER

    def describe(arguments: Arguments, group: Group, is_async: bool) -> str:
        given = taken = inputs(arguments)
        input_bytes = output_bytes = _bytes(given)
        if not in_place:
            taken = outputs(arguments)
            output_bytes = _bytes(taken)
        tensors = given or taken
        dtype = _DTYPES[tensors[0].dtype] if tensors else ""
        text = f'"in":{input_bytes},"out":{output_bytes}{dtype}'
        if is_async:
            text += ',"async":1'
            if addressed:
                text += f',"ptr":{[tensor.data_ptr() for tensor in taken]}'
        if operation.in_parts and len({tensor.nbytes for tensor in given}) > 1:
            text += f',"in_splits":{[tensor.nbytes for tensor in given]}'
        for detail in details:
            text += detail(arguments, group)
        return text

    return describe


def _tensors(schema: torch._C.FunctionSchema, name: str | None) -> Callable[[Arguments], Sequence[torch.Tensor]]:
    """A reader of an argument that is a tensor, a list of them or a list of lists: always one flat list."""
    if name is None:
        return lambda arguments: ()
    index = required_position(schema, name)
    depth = str(schema.arguments[index].type).count("List")
    if depth == 0:
        return lambda arguments: (arguments[index],)
    if depth == 1:
        return lambda arguments: arguments[index]
    return lambda arguments: [tensor for tensors in arguments[index] for tensor in tensors]


def _bytes(tensors: Sequence[torch.Tensor]) -> int:
    return tensors[0].nbytes if len(tensors) == 1 else sum([tensor.nbytes for tensor in tensors])


def _details(schema: torch._C.FunctionSchema) -> list[Callable[[Arguments, Group], str]]:
    """Describers of the arguments that only some operations have."""
    details: list[Callable[[Arguments, Group], str]] = []
    for index, argument in enumerate(schema.arguments):
        if argument.name in _RANKS:
            details.append(_rank(_RANKS[argument.name], index))
        elif argument.name in _SPLITS:
            details.append(_splits(_SPLITS[argument.name], index))
        elif argument.name == "tag":
            details.append(_tag(index))
        elif argument.name == "reduce_op" and hasattr(dist.ReduceOp, "unbox"):  # not in torch 2.9
            details.append(_reduction(index))
    return details


_RANKS = {"root_rank": "root", "src": "peer", "dst": "peer"}
_SPLITS = {"input_split_sizes": "in_splits", "output_split_sizes": "out_splits"}


def _rank(key: str, index: int) -> Callable[[Arguments, Group], str]:
    """A rank in an argument counts within the group; in the stream, within the world."""
    return lambda arguments, group: f',"{key}":{group.ranks[arguments[index]]}'


def _splits(key: str, index: int) -> Callable[[Arguments, Group], str]:
    return lambda arguments, group: f',"{key}":{list(arguments[index])}' if arguments[index] else ""


def _tag(index: int) -> Callable[[Arguments, Group], str]:
    return lambda arguments, group: f',"tag":{arguments[index]}'


def _reduction(index: int) -> Callable[[Arguments, Group], str]:
    unbox = dist.ReduceOp.unbox
    # A ReduceOp hashes to its type's number, which is quicker to get than the type.
    names = {int(kind): f',"reduce":"{name}"' for name, kind in dist.ReduceOp.RedOpType.__members__.items()}
    return lambda arguments, group: names[hash(unbox(arguments[index]))]
