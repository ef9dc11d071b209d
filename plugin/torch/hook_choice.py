"""Which hook records: the compiled one where it is there, else the one in Python."""

import os
import sys
from collections.abc import Callable
from typing import NamedTuple

import torch
import torch.distributed as dist

from hocket.base.errors import HocketError
from hocket.plugin.torch.hook import Hook, PythonHook
from hocket.plugin.torch.native.hook import NativeHook
from hocket.plugin.torch.native.library import build_library, find_library, load_library
from hocket.plugin.torch.stacks import issuing_line

__all__ = ["HookChoice", "choose_hook"]


class HookChoice(NamedTuple):
    """A hook and what to say of it in the summary: "native", or "python" and why."""

    hook: Hook
    remark: str


def choose_hook(wanted: str, stacks: bool, watch: Callable[[int, dist.Work], None] | None) -> HookChoice:
    """The hook for `wanted`, one of HOOKS of settings; PythonHook whenever the compiled one cannot be had.

    With `stacks` it records the script's lines; `watch` tells when a Work on a device is complete.
    """
    asked = issuing_line if stacks else None, watch
    if wanted == "python":
        return HookChoice(PythonHook(*asked), "python")
    try:
        path = find_library()
        if path is None and wanted == "auto":
            missing = f"none is built for PyTorch {torch.__version__}; `hocket collect build` builds the faster one"
            return HookChoice(PythonHook(*asked), f"python: {missing}")
        if path is None:
            if os.environ.get("LOCAL_RANK", "0") == "0":
                print(f"hocket: building the collector's hook for PyTorch {torch.__version__}, once", file=sys.stderr)
            path = build_library()
        return HookChoice(NativeHook(load_library(path), *asked), "native")
    except (HocketError, OSError, RuntimeError) as error:
        why = (str(error) or type(error).__name__).splitlines()[0]
        return HookChoice(PythonHook(*asked), f"python: {why}; try `hocket collect build`")
