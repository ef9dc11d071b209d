"""`torch.compile` beside the collector: the code that Dynamo takes apart is the script's, not the collector's."""

from functools import cache, wraps
from typing import Any

import torch

from hocket.plugin.torch import interfaces

__all__ = ["stay_uncompiled"]


def stay_uncompiled() -> None:
    """Keeps Dynamo from Hocket's functions, which it would compile as any that compiled code calls at a graph break:
    a hook of fake tensors, whose sizes nobody knows, with the branches of code that is not run but traced.

    At a `torch.compile` only: a job that compiles nothing does not import Dynamo.
    """
    compile = torch.compile

    @wraps(compile)
    def compile_the_others(*arguments: Any, **options: Any) -> Any:
        _leave_out()
        return compile(*arguments, **options)

    torch.compile = compile_the_others


@cache
def _leave_out() -> None:
    leave_out = interfaces.LEAVE_OUT.ask()
    if leave_out is not None:
        leave_out("hocket")
