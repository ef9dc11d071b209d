"""The inputs of an operator as Kineto's events have them."""

import re
from math import prod
from typing import Any

import msgspec

from hocket.chakra.importers.dtypes import dtype_name, element_bytes
from hocket.chakra.importers.pytorch.c10d import Tensors

__all__ = ["KinetoArguments", "numbers_in"]


def numbers_in(text: str) -> tuple[int, ...]:
    """The numbers in `[3, 5]`; none where the list is abridged."""
    return () if "..." in text else tuple(int(number) for number in re.findall(r"\d{1,18}", text))


class KinetoArguments:
    """Inputs of an event as Kineto writes them with record_shapes: shapes, names of types, scalars as texts."""

    def __init__(self, dims: msgspec.Raw, types: msgspec.Raw, concrete: msgspec.Raw) -> None:
        self._raw = dims, types, concrete
        self._inputs: tuple[list[Any], list[Any], list[Any]] | None = None

    def _input(self, position: int) -> tuple[Any, str, str]:
        """Shape, type and text of an input."""
        if self._inputs is None:
            dims, types, concrete = (msgspec.json.decode(text, type=list[Any]) for text in self._raw)
            self._inputs = dims, types, concrete
        shape, dtype, text = (values[position] if position < len(values) else "" for values in self._inputs)
        return shape, dtype if isinstance(dtype, str) else "", text if isinstance(text, str) else ""

    def shape(self, position: int) -> tuple[int, ...] | None:
        """Shape of a tensor."""
        shape, dtype, _ = self._input(position)
        return _shape(shape) if element_bytes(dtype) else None

    def element_bytes(self, position: int) -> int:
        """Bytes of an element of a tensor, 0 where its type is not known."""
        return element_bytes(self._input(position)[1])

    def tensors(self, position: int) -> Tensors | None:
        shape, dtype, _ = self._input(position)
        size = element_bytes(dtype)
        shapes = shape if dtype == "TensorList" and isinstance(shape, list) else [shape] if size else []
        known = [found for found in map(_shape, shapes) if found is not None]
        if not known or len(known) < len(shapes):
            return Tensors(0, 0, 0) if dtype == "ScalarList" else None  # that is how an empty list is recorded
        elements = sum(map(prod, known))
        return Tensors(len(known), elements, elements * size if size else -1, dtype_name(dtype))

    def every(self) -> list[Tensors | None]:
        """The inputs."""
        self._input(0)
        return [self.tensors(position) for position in range(len(self._inputs[0]) if self._inputs else 0)]

    def integer(self, position: int) -> int | None:
        text = self._input(position)[2]
        return int(text) if re.fullmatch(r"-?\d{1,9}", text) else None

    def boolean(self, position: int) -> bool | None:
        return {"True": True, "False": False}.get(self._input(position)[2])

    def integers(self, position: int) -> tuple[int, ...]:
        return numbers_in(self._input(position)[2])


def _shape(shape: Any) -> tuple[int, ...] | None:
    """A shape with extents that some memory holds."""
    if isinstance(shape, list) and len(shape) < 64 and all(type(extent) is int and extent >= 0 for extent in shape):
        return tuple(shape) if prod(shape) < 2**56 else None
    return None
