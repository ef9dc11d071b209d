"""Which hook records: the compiled one where it is there, else the one in Python."""

import os
from typing import NamedTuple

import torch

from hocket.base.errors import HocketError
from hocket.base.notices import notice
from hocket.plugin.torch.hook import Hook
from hocket.plugin.torch.native.hook import NativeHook
from hocket.plugin.torch.native.library import build_for_the_next, build_library, find_library, load_library
from hocket.plugin.torch.python.hook import PythonHook
from hocket.plugin.torch.stacks import issuing_line

__all__ = ["HookChoice", "choose_hook"]


class HookChoice(NamedTuple):
    """A hook and what to say of it in the summary: "native", or "python" and why."""

    hook: Hook
    remark: str


def choose_hook(
    wanted: str, stacks: bool, times: bool = True, exact_ends: bool = False, no_build: bool = False
) -> HookChoice:
    """The hook for `wanted`, one of HOOKS of settings; PythonHook whenever the compiled one cannot be had.

    Where `auto` finds none it is built in the background, for the next job, unless `no_build`. With `stacks` it records
    the script's lines, with `times` those of devices, with `exact_ends` those of asynchronous calls too.
    """
    asked = issuing_line if stacks else None, times, exact_ends
    if wanted == "python":
        return HookChoice(PythonHook(*asked), "python")
    try:
        path = find_library()
        if path is None and wanted == "auto":
            stands = "`hocket collect build` builds it"
            if not no_build:  # one process a machine begins
                stands = build_for_the_next(os.environ.get("LOCAL_RANK", "0") == "0")
            why = f"no native hook is there for PyTorch {torch.__version__} yet: {stands}"
            return HookChoice(PythonHook(*asked), f"python: {why}")
        if path is None:
            if os.environ.get("LOCAL_RANK", "0") == "0":
                notice(f"hocket: building the collector's hook for PyTorch {torch.__version__}, once")
            path = build_library()
        return HookChoice(NativeHook(load_library(path), *asked), "native")
    except (HocketError, OSError, RuntimeError) as error:
        why = (str(error) or type(error).__name__).splitlines()[0]
        return HookChoice(PythonHook(*asked), f"python: {why}; try `hocket collect build`")
