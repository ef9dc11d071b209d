"""The interpreter's source as a compiler for GPUs takes it: its headers, and a kernel for one type and reduction."""

from pathlib import Path

__all__ = ["ELEMENTS", "KERNEL", "LANES", "REDUCTIONS", "SWITCH_KERNEL", "headers", "kernel_source", "switch_source"]

#: The kernel's name.
KERNEL = "hocket_run"
#: That of the kernel over switches.
SWITCH_KERNEL = "hocket_switch"
#: Lanes of a thread block: as many as NCCL gives Simple; what is small has some without work.
LANES = 512

#: The source's element types by those of `hocket.runtime.engine.elements`, in their order, and those that only devices
#: have.
ELEMENTS = {
    "int8": "Plain<int8_t>",
    "uint8": "Plain<uint8_t>",
    "int16": "Plain<int16_t>",
    "int32": "Plain<int32_t>",
    "int64": "Plain<int64_t>",
    "float16": "Float16",
    "bfloat16": "Bfloat16",
    "float32": "Plain<float>",
    "float64": "Plain<double>",
    "uint32": "Plain<uint32_t>",
    "uint64": "Plain<uint64_t>",
    "float8_e4m3fn": "Float8E4m3",
    "float8_e5m2": "Float8E5m2",
}

#: The source's reductions, likewise.
REDUCTIONS = ("Sum", "Prod", "Max", "Min")

_FOLDER = Path(__file__).parents[2] / "core" / "include"
_HEADERS = tuple(
    f"hocket/device/{name}.hpp" for name in ("target", "elements", "packets", "table", "interpreter", "switches")
)
_KERNEL = """#include "hocket/device/interpreter.hpp"

namespace hocket::device {{
extern "C" HOCKET_KERNEL({lanes}) void {name}(const Launch launch) {{
  HOCKET_SHARED BlockMemory shared;
  Walk<Arithmetic<{element}, {reduction}>>(launch, block_number(), Lanes{{}}, shared).run();
}}
}}
"""
_SWITCH_KERNEL = """#include "hocket/device/switches.hpp"

namespace hocket::device {{
extern "C" HOCKET_KERNEL({lanes}) void {name}(const SwitchLaunch launch) {{
  HOCKET_SHARED SwitchMemory shared;
  SwitchWalk<Arithmetic<{element}, {reduction}>>(launch, block_number(), Lanes{{}}, shared).run();
}}
}}
"""


def headers() -> dict[str, str]:
    """The text of each header, by the name under which it is included."""
    return {name: (_FOLDER / name).read_text(encoding="utf-8") for name in _HEADERS}


def kernel_source(element: str, reduction: int) -> str:
    """The kernel for an element type's name and the number of a reduction."""
    return _KERNEL.format(lanes=LANES, name=KERNEL, element=ELEMENTS[element], reduction=REDUCTIONS[reduction])


def switch_source(element: str, reduction: int) -> str:
    """Likewise of the kernel whose chunks are added and copied on the way: by NVLink's switches where they can."""
    return _SWITCH_KERNEL.format(
        lanes=LANES, name=SWITCH_KERNEL, element=ELEMENTS[element], reduction=REDUCTIONS[reduction]
    )
