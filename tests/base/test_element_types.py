"""The one table of element types, and those of others beside it."""

import re
from pathlib import Path

import numpy as np
import pytest

from hocket.base.element_types import ELEMENT_TYPES, element_type, nccl_types
from hocket.chakra.importers.dtypes import dtype_name, element_bytes
from hocket.runtime.engine.elements import ELEMENT_NUMBER
from hocket.runtime.run import DATA_TYPES

ROOT = Path(__file__).parents[2]


def test_every_name_means_one_type() -> None:
    names = [name for each in ELEMENT_TYPES.values() for name in (each.name, *each.aliases)]
    assert len(names) == len(set(names))
    for each in ELEMENT_TYPES.values():
        assert {element_type(name) for name in (each.name, *each.aliases, f"torch.{each.name}")} == {each}
        assert each.nccl in ("", each.name, *each.aliases)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("half", "float16"), ("fp16", "float16"), ("c10::Half", "float16"), ("ncclFloat16", "float16"),
        ("bf16", "bfloat16"), ("c10::BFloat16", "bfloat16"), ("ncclBfloat16", "bfloat16"),
        ("float", "float32"), ("Double", "float64"), ("long long", "int64"), ("c10::complex<float>", "complex64"),
        ("unsigned char", "uint8"), ("Char", "int8"), ("ncclInt8", "int8"),
        ("f8e4m3", "float8_e4m3fn"), ("Float8_e5m2", "float8_e5m2"), ("ncclFloat8e5m2", "float8_e5m2"),
    ],
)  # fmt: skip
def test_names_of_others(text: str, name: str) -> None:
    assert dtype_name(text) == name
    assert element_bytes(text) == ELEMENT_TYPES[name].num_bytes


def test_what_is_no_type_has_no_name_and_no_bytes() -> None:
    for text in ("", "tensor", "float7", "nccl", "float8"):
        assert (dtype_name(text), element_bytes(text)) == ("", 0)


def test_numpy_has_the_same_sizes() -> None:
    lacking = {"bfloat16", "complex32", "bcomplex32"}
    for each in ELEMENT_TYPES.values():
        if each.name not in lacking and not each.name.startswith("float8"):
            assert np.dtype(each.name).itemsize == each.num_bytes
    for data_type in DATA_TYPES.values():
        assert data_type.storage.itemsize == data_type.size_bytes
        assert data_type.name in nccl_types()


@pytest.mark.torch
def test_pytorch_has_all_of_them_and_the_same_sizes() -> None:
    import torch

    for each in ELEMENT_TYPES.values():
        assert not hasattr(torch, each.name) or getattr(torch, each.name).itemsize == each.num_bytes, each.name
    known = {str(each).removeprefix("torch.") for each in vars(torch).values() if isinstance(each, torch.dtype)}
    of_bits = {name for name in known if re.match("q|u?int[1-7]$|bits|float4", name)}  # quantized, or less than a byte
    assert known - of_bits <= set(ELEMENT_TYPES)


def test_the_engine_numbers_them_as_its_header_does() -> None:
    header = (ROOT / "core/include/hocket/executor/reduce.hpp").read_text(encoding="utf-8")
    listed = re.search(r"enum class ElementType : uint8_t \{(.*?)\};", header, re.DOTALL)
    assert listed
    names = [name.lower() for name in re.findall(r"k(\w+)", listed[1])]
    assert {name: number for number, name in enumerate(names)} == ELEMENT_NUMBER
    assert set(names) <= set(ELEMENT_TYPES)


def test_the_plugin_for_mpi_calls_them_so() -> None:
    source = (ROOT / "plugin/mpi/datatypes.cpp").read_text(encoding="utf-8")
    families = re.findall(r'\{"(\w+)",\s+k\w+,\s+\{([^}]*)\}\}', source)
    family_of = {constant: family for family, listed in families for constant in re.findall(r"MPI_(\w+)", listed)}
    with_mpi = [each for each in ELEMENT_TYPES.values() if each.mpi]
    assert len(with_mpi) == 12
    for each in with_mpi:
        assert each.name == f"{family_of[each.mpi]}{8 * each.num_bytes}"
