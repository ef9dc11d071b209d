"""Bytes of an element, by the names that PyTorch's tools give to types."""

from collections.abc import Iterable, Sequence
from math import prod

from hocket.core.errors import FormatError

__all__ = ["element_bytes", "tensors_bytes"]

_BITS = {
    "byte": 8, "char": 8, "short": 16, "int": 32, "long": 64, "half": 16, "float": 32, "double": 64, "bool": 8,
    "bfloat16": 16, "complexhalf": 32, "complexfloat": 64, "complexdouble": 128, "unsigned char": 8, "signed char": 8,
    "short int": 16, "long int": 64, "c10::bfloat16": 16, "c10::half": 16, "uint8": 8, "int8": 8, "int16": 16,
    "int32": 32, "int64": 64, "float16": 16, "float32": 32, "float64": 64, "uint16": 16, "uint32": 32, "uint64": 64,
    "c10::complex<float>": 64, "c10::complex<double>": 128, "long long": 64,
}  # fmt: skip
_MOST_BYTES = 2**60


def element_bytes(dtype: str) -> int:
    """Bytes of an element of a type, 0 for a name that nobody knows."""
    name = dtype.lower()
    return 1 if "float8" in name else _BITS.get(name, 0) // 8


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
