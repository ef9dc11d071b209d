"""The shape of a call in the stream, as the Python hook finds it: a piece of JSON made of the call's arguments."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.distributed as dist

from hocket.plugin.torch import interfaces
from hocket.plugin.torch.groups import CollectedGroup
from hocket.plugin.torch.python.device_times import has_streams
from hocket.plugin.torch.signature import ABSENT, Detail, Signature

__all__ = ["Arguments", "describer", "is_async_reader", "on_device", "stream_of", "tensor_reader"]

# The dispatcher hands a kernel positional arguments and leaves out trailing ones that equal the schema's default.
Arguments = tuple[Any, ...]

_DTYPES = {
    dtype: f',"dtype":"{str(dtype).removeprefix("torch.")}"'
    for dtype in vars(torch).values()
    if isinstance(dtype, torch.dtype)
}


def is_async_reader(signature: Signature) -> Callable[[Arguments], bool]:
    """Tells whether a call is asynchronous."""
    index, default = signature.is_async, signature.async_default
    if index == ABSENT:
        return lambda arguments: default
    return lambda arguments: arguments[index] if index < len(arguments) else default


def describer(signature: Signature) -> Callable[[Arguments, CollectedGroup, bool], str]:
    """Describes a call: operation, group, bytes in and out, type and the rest, as `"op":"send","group":0,...`."""
    inputs, outputs = tensor_reader(signature.input), tensor_reader(signature.output)
    in_place = signature.input == signature.output
    details = [_DESCRIBERS[detail.what](detail) for detail in signature.details]

    def describe(arguments: Arguments, group: CollectedGroup, is_async: bool) -> str:
        tensors_in = tensors_out = inputs(arguments)
        input_bytes = output_bytes = _bytes(tensors_in)
        if not in_place:
            tensors_out = outputs(arguments)
            output_bytes = _bytes(tensors_out)
        tensors = tensors_in or tensors_out
        dtype = _DTYPES[tensors[0].dtype] if tensors else ""
        text = f'"op":"{signature.op}","group":{group.id},"in":{input_bytes},"out":{output_bytes}{dtype}'
        if is_async:
            text += ',"async":1'
        stream = stream_of(tensors)
        if stream is not None:
            text += f',"stream":{stream}'
        if signature.in_parts and len({tensor.nbytes for tensor in tensors_in}) > 1:
            text += f',"in_splits":{[tensor.nbytes for tensor in tensors_in]}'
        for detail in details:
            text += detail(arguments, group)
        return text

    return describe


def tensor_reader(index: int) -> Callable[[Arguments], Sequence[torch.Tensor]]:
    """A reader of an argument that is a tensor, a list of them or a list of lists: always one flat list."""
    if index == ABSENT:
        return lambda arguments: ()

    def read(arguments: Arguments) -> Sequence[torch.Tensor]:
        value = arguments[index]
        if isinstance(value, torch.Tensor):
            return (value,)
        if value and isinstance(value[0], list):
            return [tensor for tensors in value for tensor in tensors]
        return value  # type: ignore[no-any-return]  # a list of tensors, by the schema

    return read


def on_device(tensors: Sequence[torch.Tensor]) -> bool:
    """Whether they are on a device that computes in streams."""
    return bool(tensors) and has_streams(tensors[0].device)


def stream_of(tensors: Sequence[torch.Tensor]) -> int | None:
    """The number of the stream that is current on their device, None where there is none."""
    if not on_device(tensors):
        return None
    device = tensors[0].device
    number: int = getattr(torch, device.type).current_stream(device).stream_id
    return number


def _bytes(tensors: Sequence[torch.Tensor]) -> int:
    return tensors[0].nbytes if len(tensors) == 1 else sum([tensor.nbytes for tensor in tensors])


def _rank(detail: Detail) -> Callable[[Arguments, CollectedGroup], str]:
    """A rank in an argument counts within the group; in the stream, within the world."""
    return lambda arguments, group: f',"{detail.key}":{group.ranks[arguments[detail.position]]}'


def _splits(detail: Detail) -> Callable[[Arguments, CollectedGroup], str]:
    def describe(arguments: Arguments, group: CollectedGroup) -> str:
        splits = arguments[detail.position]
        return f',"{detail.key}":{list(splits)}' if splits else ""

    return describe


def _number(detail: Detail) -> Callable[[Arguments, CollectedGroup], str]:
    return lambda arguments, group: f',"{detail.key}":{arguments[detail.position]}'


def _reduction(detail: Detail) -> Callable[[Arguments, CollectedGroup], str]:
    unbox = interfaces.UNBOX_REDUCTION.ask()
    if unbox is None:  # torch 2.14 and older: only the compiled hook can read it
        return lambda arguments, group: ""
    # A ReduceOp hashes to its type's number, which is quicker to get than the type.
    names = {int(kind): f',"{detail.key}":"{name}"' for name, kind in dist.ReduceOp.RedOpType.__members__.items()}
    return lambda arguments, group: names[hash(unbox(arguments[detail.position]))]


_DESCRIBERS = {"rank": _rank, "splits": _splits, "number": _number, "reduction": _reduction}
