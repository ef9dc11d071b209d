"""A vendor's run-time compiler, which needs no GPU: from the interpreter's source to machine code."""

import ctypes
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from hocket.base.errors import HocketError
from hocket.runtime.device.source import headers, kernel_source
from hocket.runtime.device.vendors import NVIDIA, Vendor, vendor_of

__all__ = ["ARCHITECTURES", "Assembly", "assemble", "compiler_version"]

#: Of A100, H100 and B200.
ARCHITECTURES = ("sm_80", "sm_90", "sm_100")

_USED = re.compile(r"Used (\d+) registers")
_SPILLED = re.compile(r"(\d+) bytes spill stores, (\d+) bytes spill loads")


@dataclass(frozen=True, slots=True)
class Assembly:
    """Machine code for one architecture; `spilled` bytes that a thread keeps in memory for want of registers. -1: the
    compiler does not say."""

    architecture: str
    code: bytes
    registers: int
    spilled: int


def assemble(
    architecture: str, element: str, reduction: int, source_of: Callable[[str, int], str] = kernel_source
) -> Assembly:
    """The interpreter, or what else `source_of` is the source of, for an element type and a reduction (by its number),
    for an architecture such as `sm_90` or `gfx942`. Raises HocketError where there is no compiler, it knows no such
    architecture, or it refuses the source, with what it says."""
    vendor = vendor_of(architecture)
    compiler = _Compiler(vendor)
    included = headers()
    names = _strings(included)
    texts = _strings(included.values())
    program = ctypes.c_void_p()
    source = source_of(element, reduction).encode()
    compiler.call("CreateProgram", ctypes.byref(program), source, b"hocket.cu", len(included), texts, names)
    try:
        options = _strings((f"{vendor.architecture_option}{architecture}", *vendor.options))
        code = compiler.function("CompileProgram")(program, len(options), options)
        log = compiler.read("ProgramLog", program).decode(errors="replace")
        if code != 0:
            said = log.strip().splitlines() or [compiler.text_of(code)]
            raise HocketError(f"the device interpreter does not compile for {architecture}: {said[0]}")
        binary = compiler.read(vendor.code, program)
    finally:
        compiler.function("DestroyProgram")(ctypes.byref(program))
    used, spilled = _USED.search(log), _SPILLED.search(log)
    return Assembly(
        architecture,
        binary,
        int(used.group(1)) if used else -1,
        sum(map(int, spilled.groups())) if spilled else -1,
    )


def compiler_version(vendor: Vendor = NVIDIA) -> str | None:
    """As `13.2`; None where there is no compiler."""
    major, minor = ctypes.c_int(), ctypes.c_int()
    try:
        _Compiler(vendor).call("Version", ctypes.byref(major), ctypes.byref(minor))
    except HocketError:
        return None
    return f"{major.value}.{minor.value}"


class _Compiler:
    """NVRTC's functions, or hiprtc's, which are the same by another first name."""

    def __init__(self, vendor: Vendor) -> None:
        self._name, self._library = vendor.compiler, _library(vendor)

    def function(self, name: str) -> Any:
        return self._library[self._name + name]

    def text_of(self, code: int) -> str:
        describe = self.function("GetErrorString")
        describe.restype = ctypes.c_char_p
        text: bytes = describe(code)
        return text.decode()

    def call(self, name: str, *arguments: Any) -> None:
        code = self.function(name)(*arguments)
        if code != 0:
            raise HocketError(f"{self._name}{name}: {self.text_of(code)}")

    def read(self, what: str, program: ctypes.c_void_p) -> bytes:
        size = ctypes.c_size_t()
        self.call(f"Get{what}Size", program, ctypes.byref(size))
        data = ctypes.create_string_buffer(size.value)
        self.call(f"Get{what}", program, data)
        return data.raw


@cache
def _library(vendor: Vendor) -> Any:
    """The compiler that PyTorch brings, or the system's."""
    for place in _places(vendor):
        try:
            return ctypes.CDLL(place)
        except OSError:
            continue
    raise HocketError(f"no {vendor.compiler}, the run-time compiler of {vendor.name}'s GPUs: {vendor.remedy}")


def _places(vendor: Vendor) -> Iterator[str]:
    for folder in sys.path:
        for pattern in vendor.places:
            yield from sorted((str(path) for path in Path(folder or ".").glob(pattern)), reverse=True)
    yield from vendor.libraries


def _strings(texts: Any) -> Any:
    values = [text.encode() for text in texts]
    return (ctypes.c_char_p * len(values))(*values)
