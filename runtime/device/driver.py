"""A GPU's driver, as far as one kernel needs it: machine code is loaded, and launched on a stream.

By the driver itself, whose functions stay as they are: PyTorch's own way to launch kernels takes no structs.
"""

import ctypes
from contextlib import suppress
from functools import cache
from typing import Any

from hocket.base.errors import HocketError
from hocket.runtime.device.compiler import Assembly
from hocket.runtime.device.source import KERNEL
from hocket.runtime.device.vendors import Vendor, vendor_of

__all__ = ["LoadedKernel"]


class LoadedKernel:
    """The interpreter's kernel, or that of another `name`, on the current context's device. Raises HocketError where
    the driver refuses it."""

    def __init__(self, assembly: Assembly, name: str = KERNEL) -> None:
        self._vendor = vendor_of(assembly.architecture)
        self._module, self._function = ctypes.c_void_p(), ctypes.c_void_p()
        self._call("ModuleLoadData", ctypes.byref(self._module), assembly.code)
        self._call("ModuleGetFunction", ctypes.byref(self._function), self._module, name.encode())

    def launch(self, blocks: int, lanes: int, stream: int, parameter: bytes) -> None:
        """Enqueues the kernel with one parameter, a struct, which is copied; also while a graph is captured."""
        struct = ctypes.create_string_buffer(parameter, len(parameter))
        parameters = (ctypes.c_void_p * 1)(ctypes.addressof(struct))
        grid = (ctypes.c_uint(value) for value in (blocks, 1, 1, lanes, 1, 1, 0))
        self._call(self._vendor.launch, self._function, *grid, ctypes.c_void_p(stream), parameters, None)

    def _call(self, name: str, *arguments: Any) -> None:
        library = _library(self._vendor)
        code = library[self._vendor.driver + name](*arguments)
        if code != 0:
            text = ctypes.c_char_p()
            library[self._vendor.error_text](code, ctypes.byref(text))
            raise HocketError(f"{self._vendor.driver}{name}: {(text.value or b'error').decode()} ({code})")


@cache
def _library(vendor: Vendor) -> Any:
    for name in vendor.driver_libraries:
        with suppress(OSError):
            return ctypes.CDLL(name)
    raise HocketError(f"no driver of {vendor.name}'s GPUs: {' or '.join(vendor.driver_libraries)} does not load")
