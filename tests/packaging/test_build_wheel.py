"""The script that builds the wheel: what it asks of g++, and what it takes of auditwheel's word."""

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

SCRIPT = Path(__file__).parents[2] / "packaging" / "build_wheel.py"


@pytest.fixture(scope="module")
def build_wheel() -> ModuleType:
    spec = importlib.util.spec_from_file_location("build_wheel", SCRIPT)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("needed", "kept"),
    [
        ("manylinux_2_17_x86_64", True),
        ("manylinux_2_28_x86_64", True),
        ("manylinux_2_34_x86_64", False),
        ("manylinux_2_28_aarch64", False),
        ("linux_x86_64", False),
    ],
)
def test_a_wheel_needs_no_more_than_its_name_says(build_wheel: ModuleType, needed: str, kept: bool) -> None:
    told = f'hocket.whl is consistent with\nthe following platform tag: "{needed}".\n\nThe wheel references'
    assert build_wheel.keeps_promise(told, "manylinux_2_28_x86_64") is kept


def test_the_c_plus_plus_library_is_that_of_gcc(build_wheel: ModuleType) -> None:
    headers = [Path(path) for path in build_wheel.cpp_headers("g++")]
    assert any((path / "string").is_file() for path in headers)
    assert any((path / "bits" / "c++config.h").is_file() for path in headers)
    assert Path(build_wheel.found("g++", "libstdc++.a")).is_file()
