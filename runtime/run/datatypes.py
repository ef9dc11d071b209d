"""Element types: how they are stored in numpy, and which integers they hold exactly."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hocket.base.element_types import ELEMENT_TYPES
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
    """Every integer in 0..`exact` is a value of the type, which numpy keeps as `storage`."""

    name: str
    storage: np.dtype[Any]
    exact: int

    @property
    def nccl_name(self) -> str:
        """What nccl-tests prints."""
        return ELEMENT_TYPES[self.name].nccl

    @property
    def size_bytes(self) -> int:
        return ELEMENT_TYPES[self.name].num_bytes

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
    return DataType(name, np.dtype(name), min(int(np.iinfo(name).max), 2**62))


DATA_TYPES = {
    data_type.name: data_type
    for data_type in (
        *map(_integer, ("int8", "uint8", "int32", "uint32", "int64", "uint64")),
        DataType("float16", np.dtype(np.float16), 2**11),
        DataType("float32", np.dtype(np.float32), 2**24),
        DataType("float64", np.dtype(np.float64), 2**53),
        _Bfloat16("bfloat16", np.dtype(np.uint16), 2**8),
    )
}
