"""The script's line that issues a call, for both hooks."""

import json
import sys
import sysconfig
from pathlib import Path

import torch

__all__ = ["issuing_line"]

# What lies here is nobody's script: Python's library and what is installed, PyTorch and Hocket wherever they are.
_FOREIGN = (
    *(sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")),
    str(Path(torch.__file__).parent),
    str(Path(__file__).parents[2]),
    "<",
)
_names: dict[str, str] = {}


def issuing_line() -> str:
    """`file:number` of this thread's innermost frame in a script, to stand in JSON; "" where there is none, as in a
    thread of C++."""
    frame = sys._getframe(1)
    while frame is not None:
        file = frame.f_code.co_filename
        name = _names.get(file)
        if name is None:
            name = _names[file] = "" if file.startswith(_FOREIGN) else json.dumps(file)[1:-1]
        if name:
            return f"{name}:{frame.f_lineno}"
        frame = frame.f_back  # type: ignore[assignment]  # None ends the loop
    return ""
