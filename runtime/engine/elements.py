"""The engine's element types and reductions, by their numbers there (core/include/hocket/executor/reduce.hpp)."""

__all__ = ["ELEMENT_NUMBER", "REDUCTION_NUMBER"]

_ELEMENTS = "int8 uint8 int16 int32 int64 float16 bfloat16 float32 float64 uint32 uint64"
ELEMENT_NUMBER = {name: number for number, name in enumerate(_ELEMENTS.split())}
REDUCTION_NUMBER = {name: number for number, name in enumerate(("sum", "prod", "max", "min"))}
