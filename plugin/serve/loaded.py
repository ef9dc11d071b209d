"""What a device needs of a program before it can be launched: made at its first call, which a capture cannot be."""

from collections.abc import Callable
from typing import Generic, TypeVar

from hocket.plugin.serve.binding import Binding

__all__ = ["LoadedPrograms"]

_Tables = TypeVar("_Tables")
_Kernel = TypeVar("_Kernel")


class LoadedPrograms(Generic[_Tables, _Kernel]):
    """Tables of each program, and the kernels of each element type and reduction, by what makes them."""

    def __init__(self, tables_of: Callable[[Binding], _Tables], kernel_of: Callable[[Binding], _Kernel]) -> None:
        self._tables_of, self._kernel_of = tables_of, kernel_of
        self._tables: dict[int, _Tables] = {}
        self._kernels: dict[tuple[int, int, bool], _Kernel] = {}

    def lacks(self, binding: Binding) -> str:
        """Why a call cannot be captured, which all ranks know alike by the calls before it; "" where it can."""
        if binding.choice.number not in self._tables:
            return "first call of this program happens in a capture: warm up first"
        if _kernel_key(binding) not in self._kernels:
            return "first call of this type and reduction happens in a capture: warm up first"
        return ""

    def tables(self, binding: Binding) -> _Tables:
        number = binding.choice.number
        if number not in self._tables:
            self._tables[number] = self._tables_of(binding)
        return self._tables[number]

    def kernel(self, binding: Binding) -> _Kernel:
        key = _kernel_key(binding)
        if key not in self._kernels:
            self._kernels[key] = self._kernel_of(binding)
        return self._kernels[key]


def _kernel_key(binding: Binding) -> tuple[int, int, bool]:
    """Programs over switches have a kernel of their own."""
    return binding.element, binding.operation, binding.choice.algorithm.over_switches
