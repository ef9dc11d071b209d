"""A request bound to an algorithm: the memory that the program works on, and what is copied before and after."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch

from hocket.plugin.serve.requests import Reduction, Request, Unserved
from hocket.runtime.device.source import ELEMENTS
from hocket.runtime.engine.elements import ELEMENT_NUMBER, REDUCTION_NUMBER
from hocket.runtime.engine.library import ProgramChoice
from hocket.schedule import Kind

__all__ = ["DEVICE_ELEMENTS", "ENGINE_ELEMENTS", "Binding", "Find", "bind"]

#: The engine's element types, by PyTorch's.
ENGINE_ELEMENTS: Mapping[torch.dtype, int] = {getattr(torch, name): number for name, number in ELEMENT_NUMBER.items()}
#: The device interpreter's, which are more.
DEVICE_ELEMENTS: Mapping[torch.dtype, int] = {getattr(torch, name): number for number, name in enumerate(ELEMENTS)}

#: What serves a call, or why nothing does: as `Library.find`.
Find = Callable[[Kind, int, int, int, int], ProgramChoice | str]


@dataclass(frozen=True, slots=True)
class Binding:
    """A request and what serves it. `share_bytes`: of one rank's share of the larger buffer (the whole of it where it
    is not shared); `element`: the engine's type."""

    choice: ProgramChoice
    request: Request
    share_bytes: int
    element: int

    @property
    def size_bytes(self) -> int:
        return self.share_bytes * self._shares

    @property
    def dtype(self) -> torch.dtype:
        return self._tensor.dtype

    @property
    def _tensor(self) -> torch.Tensor:
        """Any: all are of one type and on one device."""
        return (self.request.inputs or self.request.outputs)[0]

    @property
    def operation(self) -> int:
        """The engine's reduction."""
        return REDUCTION_NUMBER.get(self.request.reduction or Reduction.SUM, REDUCTION_NUMBER[Reduction.SUM])

    @property
    def element_bytes(self) -> int:
        """Of what is reduced; 1 where nothing is."""
        return 1 if self.request.reduction is None else self.dtype.itemsize

    @property
    def num_ranks(self) -> int:
        return self.choice.algorithm.program.num_ranks

    @property
    def _shares(self) -> int:
        return self.num_ranks if self.request.kind.in_blocks else 1

    @property
    def padded_bytes(self) -> int:
        """Of a share, in whole chunks."""
        return self.choice.chunk_bytes * self.choice.algorithm.program.chunks_per_loop // self._shares

    def buffers(self, rank: int) -> tuple[torch.Tensor, torch.Tensor]:
        """The bytes of input and output that the program works on, the input filled. Where a tensor cannot be used as
        it is (its chunks are padded, it is not contiguous, or what the program does to it is not the call's to see),
        they are copies."""
        request, shares = self.request, self._shares
        input_shares = 1 if request.kind.input_is_block else shares
        output_shares = 1 if request.kind.output_is_block else shares
        if not self.choice.in_place:
            output = self._view(request.outputs) if request.outputs else None
            if output is None:
                output = self._empty(output_shares)
            source = self._view(request.inputs) if not _overlap(request.inputs, request.outputs) else None
            return self._filled(self._empty(input_shares)) if source is None else source, output
        share = slice(rank * self.padded_bytes, (rank + 1) * self.padded_bytes)
        if request.kind.output_is_block:
            whole = self._filled(self._empty(input_shares))
            return whole, whole[share]
        whole = self._view(request.outputs) if request.outputs else None
        if whole is None:
            whole = self._empty(output_shares)
        return self._filled(whole[share] if request.kind.input_is_block else whole), whole

    @property
    def is_mean(self) -> bool:
        return self.request.reduction is Reduction.AVG

    def finish(self, output: torch.Tensor, is_divided: bool = False) -> None:
        """Turns what the program left in its output into the call's result; `is_divided`: a mean is one already."""
        request = self.request
        if not request.outputs:
            return
        first = request.outputs[0]
        if self.is_mean and not is_divided:
            output.view(first.dtype).div_(self.num_ranks)
        if output.data_ptr() == first.data_ptr():
            return
        data = output.view(-1, self.padded_bytes)[:, : self.share_bytes].reshape(-1)
        sizes = [tensor.nbytes for tensor in request.outputs]
        for tensor, part in zip(request.outputs, data.split(sizes), strict=True):
            _write(tensor.detach(), part.view(tensor.dtype).view(tensor.shape))

    def _view(self, tensors: list[torch.Tensor]) -> torch.Tensor | None:
        """The tensors' memory as bytes, where the program can work on it."""
        usable = len(tensors) == 1 and tensors[0].is_contiguous() and self.share_bytes == self.padded_bytes
        return _bytes(tensors[0]) if usable else None

    def _empty(self, shares: int) -> torch.Tensor:
        return torch.empty(shares * self.padded_bytes, dtype=torch.uint8, device=self._tensor.device)

    def _filled(self, target: torch.Tensor) -> torch.Tensor:
        """`target` with the request's input in it, a padded share after the other, unless that lies there already."""
        inputs = self.request.inputs
        if inputs and target.data_ptr() != inputs[0].data_ptr():
            parts = [_bytes(tensor) for tensor in inputs]
            rows = target.view(-1, self.padded_bytes)
            source = parts[0] if len(parts) == 1 else torch.cat(parts)
            rows[:, : self.share_bytes] = source.view(-1, self.share_bytes)
            if self.share_bytes < self.padded_bytes:  # on a device a launch, of nothing
                rows[:, self.share_bytes :] = 0
        return target


def _bytes(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.detach().contiguous().view(-1).view(torch.uint8)


def _write(target: torch.Tensor, values: torch.Tensor) -> None:
    """Copies, also to an expanded tensor, whose elements along a dimension are one: the first value stays there.
    Other ranks cannot know of a tensor's strides, so that this must not choose who serves."""
    for dimension, stride in enumerate(target.stride()):
        if stride == 0 and target.shape[dimension] > 1:
            target, values = target.narrow(dimension, 0, 1), values.narrow(dimension, 0, 1)
    target.copy_(values)


def _overlap(inputs: list[torch.Tensor], outputs: list[torch.Tensor]) -> bool:
    storages = {tensor.untyped_storage().data_ptr() for tensor in inputs}
    return any(tensor.untyped_storage().data_ptr() in storages for tensor in outputs)


def bind(request: Request, find: Find, num_ranks: int, elements: Mapping[torch.dtype, int]) -> Binding:
    """The algorithm for a request; `elements`: those that can be reduced. Raises Unserved where there is none."""
    inputs, outputs = (sum(tensor.nbytes for tensor in tensors) for tensors in (request.inputs, request.outputs))
    kind, dtype = request.kind, (request.inputs or request.outputs)[0].dtype
    shares = num_ranks if kind.in_blocks else 1
    share = inputs if kind.input_is_block else outputs if kind.output_is_block else max(inputs, outputs) // shares
    size = share * shares
    large = [length for length, small in ((inputs, kind.input_is_block), (outputs, kind.output_is_block)) if not small]
    if any(length not in (0, size) for length in large):
        raise Unserved("sizes that do not fit together")
    element, element_bytes = ELEMENT_NUMBER["uint8"], 1
    if request.reduction is not None:
        if dtype not in elements or (request.reduction is Reduction.AVG and not dtype.is_floating_point):
            raise Unserved(f"{request.reduction} of {str(dtype).removeprefix('torch.')}")
        element, element_bytes = elements[dtype], dtype.itemsize
    found = find(kind, share, element_bytes, num_ranks, request.root)
    if isinstance(found, str):
        raise Unserved(found)
    return Binding(found, request, share, element)
