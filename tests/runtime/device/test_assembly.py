"""The interpreter as machine code for GPUs, made without one: by NVRTC for NVIDIA's, by clang for AMD's."""

import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from hocket.base.errors import HocketError
from hocket.runtime.device.compiler import ARCHITECTURES, assemble, compiler_version
from hocket.runtime.device.source import ELEMENTS, LANES, REDUCTIONS, headers, kernel_source, switch_source
from hocket.runtime.device.vendors import AMD
from hocket.runtime.engine.elements import ELEMENT_NUMBER, REDUCTION_NUMBER

pytestmark = pytest.mark.torch  # brings NVRTC with it
by_nvrtc = pytest.mark.skipif(compiler_version() is None, reason="needs NVRTC: PyTorch for CUDA")
#: One that knows AMD's GPUs of today.
CLANG = next((found for name in ("clang++-20", "clang++-19", "clang++") if (found := shutil.which(name))), "")
by_clang = pytest.mark.skipif(not CLANG, reason="needs clang 19")

#: Of a multiprocessor, for the thread blocks that are there at once: one.
REGISTERS = 65536


@by_nvrtc
@pytest.mark.parametrize("element", ["float32", "bfloat16", "float16", "float8_e4m3fn", "uint8"])
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_it_assembles_and_keeps_all_in_registers(architecture: str, element: str) -> None:
    made = assemble(architecture, element, 0)
    assert made.code.startswith(b"\x7fELF")
    assert 0 < made.registers <= REGISTERS // LANES
    assert made.spilled == 0


@by_nvrtc
@pytest.mark.parametrize("element", ["float32", "bfloat16", "float16", "float64", "float8_e4m3fn", "uint8"])
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_the_kernel_over_switches_keeps_all_in_registers(architecture: str, element: str) -> None:
    made = assemble(architecture, element, 0, switch_source)
    assert made.code.startswith(b"\x7fELF")
    assert 0 < made.registers <= REGISTERS // LANES
    assert made.spilled == 0


@by_nvrtc
@pytest.mark.parametrize(("element", "instruction"), [("float32", "f32"), ("float16", "f16x2"), ("bfloat16", "bf16x2")])
def test_gpus_whose_switches_add_let_them(element: str, instruction: str) -> None:
    """By what their machine code and that of others differ in: only theirs has the instructions."""
    assert f".v4.{instruction}" in headers()["hocket/device/switches.hpp"]
    broken = {architecture: _is_broken(architecture, element, instruction) for architecture in ARCHITECTURES}
    assert broken == {"sm_80": False, "sm_90": True, "sm_100": True}
    assert not _is_broken("sm_90", "float64", instruction)


def _is_broken(architecture: str, element: str, instruction: str) -> bool:
    """Whether the kernel no longer assembles if the instruction that adds such elements has another name."""

    def altered(name: str, reduction: int) -> str:
        header = headers()["hocket/device/switches.hpp"]
        own = switch_source(name, reduction).partition("\n")[2]
        return header.replace("#pragma once", "").replace(f".v4.{instruction} {{%0", ".v4.none {%0") + own

    try:
        assemble(architecture, element, 0, altered)
    except HocketError:
        return True
    return False


@by_nvrtc
@pytest.mark.parametrize("reduction", range(len(REDUCTIONS)))
def test_every_reduction_assembles(reduction: int) -> None:
    assert assemble("sm_90", "float32", reduction).spilled == 0


def test_the_numbers_of_types_and_reductions_are_the_engines() -> None:
    assert list(ELEMENTS)[: len(ELEMENT_NUMBER)] == list(ELEMENT_NUMBER)
    assert [name.lower() for name in REDUCTIONS] == list(REDUCTION_NUMBER)


@by_clang
@pytest.mark.parametrize("element", ["float32", "bfloat16", "float8_e5m2"])
@pytest.mark.parametrize("architecture", ["gfx90a", "gfx942"])  # of MI250 and MI300
@pytest.mark.parametrize("source_of", [kernel_source, switch_source])
def test_amds_compiler_takes_it_without_a_header(
    source_of: Callable[[str, int], str], architecture: str, element: str, tmp_path: Path
) -> None:
    for name, text in headers().items():
        place = tmp_path / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
    source, made = tmp_path / "kernel.hip", tmp_path / "kernel.s"
    source.write_text(source_of(element, 0))
    alone = ("-x", "hip", "--cuda-device-only", "-nogpuinc", "-nogpulib", f"--offload-arch={architecture}")
    subprocess.run([CLANG, *alone, *AMD.options, "-Werror", f"-I{tmp_path}", "-S", source, "-o", made], check=True)
    assert re.findall(r"\.vgpr_spill_count: +(\d+)", made.read_text()) == ["0"]
    target = ("--target=amdgcn-amd-amdhsa", f"-mcpu={architecture}", "-c")
    subprocess.run([CLANG, *target, made, "-o", tmp_path / "kernel.o"], check=True)


@by_nvrtc
def test_what_a_compiler_refuses_is_one_error() -> None:
    with pytest.raises(HocketError, match="does not compile for sm_12: "):
        assemble("sm_12", "float32", 0)


def test_who_has_no_such_gpu_is_told() -> None:
    with pytest.raises(HocketError, match="'mi300' is no GPU architecture: expected one such as sm_90 or gfx942"):
        assemble("mi300", "float32", 0)


def test_the_source_includes_nothing_that_a_gpu_lacks() -> None:
    for name, text in headers().items():
        ours = re.sub(r"#else\n\n(#include <\w+>\n)+", "", text)  # where there is no GPU
        assert "#include <" not in ours, name
