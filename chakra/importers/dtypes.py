"""Types of elements, by the names that PyTorch's tools give them."""

from collections.abc import Iterable, Sequence
from math import prod

from hocket.base.element_types import element_type
from hocket.base.errors import FormatError

__all__ = ["checked_bytes", "common_dtype", "dtype_name", "element_bytes", "tensors_bytes"]

_MOST_BYTES = 2**60


def dtype_name(dtype: str) -> str:
    """PyTorch's name of a type, such as bfloat16; "" for a name that nobody knows."""
    found = element_type(dtype)
    return found.name if found else ""


def common_dtype(names: Iterable[str]) -> str:
    """The one among names of types that all are; "" where they differ."""
    found = set(names)
    return found.pop() if len(found) == 1 else ""


def element_bytes(dtype: str) -> int:
    """Bytes of an element of a type, 0 for a name that nobody knows."""
    found = element_type(dtype)
    return found.num_bytes if found else 0


def tensors_bytes(sizes: Sequence[Sequence[int]], dtypes: Sequence[str], place: str) -> int:
    """Bytes of all tensors; a single type stands for all. Raises FormatError, naming `place`, where they make none."""
    if len(dtypes) not in (1, len(sizes)) and sizes:
        raise FormatError(f"{place}: {len(sizes)} tensors but {len(dtypes)} types")
    types = list(dtypes) * len(sizes) if len(dtypes) == 1 else dtypes
    return checked_bytes((_tensor_bytes(shape, dtype, place) for shape, dtype in zip(sizes, types, strict=True)), place)


def _tensor_bytes(shape: Sequence[int], dtype: str, place: str) -> int:
    size = element_bytes(dtype)
    if size == 0 or any(extent < 0 for extent in shape):
        raise FormatError(f"{place}: no tensor is of type '{dtype}' and shape {list(shape)}")
    return prod(shape) * size


def checked_bytes(parts: Iterable[int], place: str) -> int:
    """Their sum. Raises FormatError, naming `place`, where no memory holds it."""
    total = sum(parts)
    if total > _MOST_BYTES:
        raise FormatError(f"{place}: {total} bytes are more than any memory holds")
    return total
