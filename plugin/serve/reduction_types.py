"""Which reduction an operation's argument is: PyTorch tells from 2.15 on; before, a few lines of C++ do."""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist

from hocket.base.errors import HocketError
from hocket.plugin.native_build import build
from hocket.plugin.torch import interfaces
from hocket.plugin.torch.native.library import build_key, compiler_command

__all__ = ["reduction_reader"]

_SOURCE = Path(__file__).with_name("reduction_types.cpp")
_NAME = "hocket_reductions"


@cache
def reduction_reader() -> Callable[[Any], dist.ReduceOp.RedOpType]:
    """Tells the type of a boxed ReduceOp. Raises HocketError where it has to be compiled for an old PyTorch, once, and
    cannot be."""
    unbox = interfaces.UNBOX_REDUCTION.found
    if unbox is not None:
        return lambda boxed: unbox(boxed).op
    try:
        torch.ops.load_library(str(build([_SOURCE], compiler_command(), build_key(), _NAME)))
    except (HocketError, OSError) as error:
        raise HocketError(
            f"PyTorch {torch.__version__} does not tell Python which reduction a collective is (ReduceOp.unbox), and "
            f"what tells could not be compiled: {error}; install a C++ compiler, or PyTorch 2.15"
        ) from error
    read = torch.ops.hocket_reductions.type.default
    return lambda boxed: dist.ReduceOp.RedOpType(read(boxed))
