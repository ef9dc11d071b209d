"""Types of elements, by the names that PyTorch's tools give them."""

from collections.abc import Iterable, Sequence
from math import prod

from hocket.base.errors import FormatError

__all__ = ["checked_bytes", "common_dtype", "dtype_name", "element_bytes", "tensors_bytes"]

_BITS = {
    "bool": 8, "uint8": 8, "int8": 8, "int16": 16, "uint16": 16, "int32": 32, "uint32": 32, "int64": 64, "uint64": 64,
    "float16": 16, "bfloat16": 16, "float32": 32, "float64": 64,
    "complex32": 32, "complex64": 64, "complex128": 128,
}  # fmt: skip
# What c10::ScalarType, C++ and NCCL call them.
_ALIASES = {
    "byte": "uint8", "unsigned char": "uint8", "char": "int8", "signed char": "int8", "short": "int16",
    "short int": "int16", "int": "int32", "long": "int64", "long int": "int64", "long long": "int64",
    "half": "float16", "float": "float32", "double": "float64", "complexhalf": "complex32",
    "float8e4m3": "float8_e4m3fn", "float8e5m2": "float8_e5m2",
    "complexfloat": "complex64", "complexdouble": "complex128", "complex<float>": "complex64",
    "complex<double>": "complex128",
}  # fmt: skip
_MOST_BYTES = 2**60


def dtype_name(dtype: str) -> str:
    """PyTorch's name of a type, such as bfloat16; "" for a name that nobody knows."""
    name = dtype.lower().removeprefix("c10::")
    name = _ALIASES.get(name, name)
    return name if name in _BITS or name.startswith("float8_") else ""


def common_dtype(names: Iterable[str]) -> str:
    """The one among names of types that all are; "" where they differ."""
    found = set(names)
    return found.pop() if len(found) == 1 else ""


def element_bytes(dtype: str) -> int:
    """Bytes of an element of a type, 0 for a name that nobody knows."""
    name = dtype_name(dtype)
    return 1 if name.startswith("float8_") else _BITS.get(name, 0) // 8


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
