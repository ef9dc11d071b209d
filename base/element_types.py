"""The types of elements by name: what PyTorch calls them, and what others do."""

from dataclasses import dataclass

from hocket.base.registry import Entry, Registry

__all__ = ["ELEMENT_TYPES", "ElementType", "element_type", "nccl_types"]


@dataclass(frozen=True, kw_only=True)
class ElementType(Entry):
    """`name` is PyTorch's, and numpy's where that has the type; `nccl` what NCCL and its tests print, `mpi` MPI's
    constant, each empty where it has no such type; `aliases` are what C++, c10, NCCL's releases and people call it."""

    num_bytes: int
    nccl: str = ""
    mpi: str = ""
    aliases: tuple[str, ...] = ()


def _type(name: str, num_bytes: int, summary: str, aliases: str = "", nccl: str = "", mpi: str = "") -> ElementType:
    others = tuple(each.strip() for each in aliases.split(",") if each)
    return ElementType(name=name, num_bytes=num_bytes, summary=summary, aliases=others, nccl=nccl, mpi=mpi)


ELEMENT_TYPES = Registry(
    "element type",
    (
        _type("bool", 1, "true or false"),
        _type("uint8", 1, "unsigned, 8 bits", "byte, unsigned char", "uint8", "UINT8_T"),
        _type("int8", 1, "signed, 8 bits", "char, signed char", "int8", "INT8_T"),
        _type("int16", 2, "signed, 16 bits", "short, short int", mpi="INT16_T"),
        _type("uint16", 2, "unsigned, 16 bits", mpi="UINT16_T"),
        _type("int32", 4, "signed, 32 bits", "int", "int32", "INT32_T"),
        _type("uint32", 4, "unsigned, 32 bits", nccl="uint32", mpi="UINT32_T"),
        _type("int64", 8, "signed, 64 bits", "long, long int, long long", "int64", "INT64_T"),
        _type("uint64", 8, "unsigned, 64 bits", nccl="uint64", mpi="UINT64_T"),
        _type("float16", 2, "IEEE 754, half precision", "half, fp16, f16", "half"),
        _type("bfloat16", 2, "the upper half of a float32", "bf16", "bfloat16"),
        _type("float32", 4, "IEEE 754, single precision", "float, fp32, f32", "float", "FLOAT"),
        _type("float64", 8, "IEEE 754, double precision", "double, fp64, f64", "double", "DOUBLE"),
        _type("float8_e4m3fn", 1, "4 bits of exponent", "float8e4m3, float8_e4m3, fp8_e4m3, f8e4m3", "f8e4m3"),
        _type("float8_e5m2", 1, "5 bits of exponent", "float8e5m2, fp8_e5m2, f8e5m2", "f8e5m2"),
        _type("float8_e4m3fnuz", 1, "4 bits of exponent, AMD's"),
        _type("float8_e5m2fnuz", 1, "5 bits of exponent, AMD's"),
        _type("float8_e8m0fnu", 1, "8 bits of exponent alone, for scales"),
        _type("complex32", 4, "two float16", "complexhalf"),
        _type("bcomplex32", 4, "two bfloat16"),
        _type("complex64", 8, "two float32", "complexfloat, complex<float>", mpi="C_FLOAT_COMPLEX"),
        _type("complex128", 16, "two float64", "complexdouble, complex<double>", mpi="C_DOUBLE_COMPLEX"),
    ),
)
_BY_NAME = {name: each for each in ELEMENT_TYPES.values() for name in (each.name, *each.aliases)}
_PREFIXES = ("c10::", "torch.", "nccl")


def element_type(name: str) -> ElementType | None:
    """The type that somebody calls so (`bf16`, `c10::Half`, `ncclFloat32`, `torch.int8`); None where nobody does."""
    plain = name.lower()
    for prefix in _PREFIXES:
        plain = plain.removeprefix(prefix)
    return _BY_NAME.get(plain)


def nccl_types() -> tuple[str, ...]:
    """Those that NCCL has, by their names here."""
    return tuple(each.name for each in ELEMENT_TYPES.values() if each.nccl)
