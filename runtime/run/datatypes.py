"""Element types: how they are stored in numpy, and which integers they hold exactly."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hocket.base.enums import StrEnum

__all__ = ["DATA_TYPES", "Array", "DataType", "ReduceOp"]

Array = NDArray[Any]


class ReduceOp(StrEnum):
    """The reductions MSCCL runs."""

    SUM = "sum"
    PROD = "prod"
    MAX = "max"
    MIN = "min"


@dataclass(frozen=True)
class DataType:
    """`nccl_name` is what nccl-tests prints; every integer in 0..`exact` is a value of the type."""

    name: str
    nccl_name: str
    storage: np.dtype[Any]
    exact: int

    @property
    def size_bytes(self) -> int:
        return self.storage.itemsize

    def encode(self, values: NDArray[np.int64]) -> Array:
        """Integers within 0..exact as elements of this type."""
        return values.astype(self.storage)


class _Bfloat16(DataType):
    """numpy has no bfloat16: elements are the upper halves of float32, in uint16."""

    def encode(self, values: NDArray[np.int64]) -> Array:
        return _narrow(values.astype(np.float32))


def _narrow(values: Array) -> Array:
    """Rounds to nearest, ties to even."""
    bits = values.view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)


def _integer(name: str) -> DataType:
    return DataType(name, name, np.dtype(name), min(int(np.iinfo(name).max), 2**62))


DATA_TYPES = {
    data_type.name: data_type
    for data_type in (
        *map(_integer, ("int8", "uint8", "int32", "uint32", "int64", "uint64")),
        DataType("float16", "half", np.dtype(np.float16), 2**11),
        DataType("float32", "float", np.dtype(np.float32), 2**24),
        DataType("float64", "double", np.dtype(np.float64), 2**53),
        _Bfloat16("bfloat16", "bfloat16", np.dtype(np.uint16), 2**8),
    )
}
