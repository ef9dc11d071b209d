"""What PyTorch charges for a kernel in Python: it turns all arguments into Python objects, and back to hand them on."""

import time
from typing import Any

import torch

from hocket.plugin.torch import interfaces
from hocket.plugin.torch.interfaces import DispatchKey

__all__ = ["python_kernel_ns"]

_CALLS = 50
_ROUNDS = 5


def python_kernel_ns() -> int:
    """The charge for a call with such arguments as a collective has, measured here and now, in ns: 5 ms, about."""
    library = torch.library.Library("hocket_cost", "DEF")
    for name in ("bare", "hooked"):
        library.define(f"{name}(Tensor[] tensors, bool is_async=True, int timeout=-1) -> Tensor[]")
        library.impl(name, lambda tensors, *_: tensors, "CPU")
    below = interfaces.KEYS_BELOW.need()(DispatchKey.BackendSelect)
    redispatch = interfaces.redispatch_of(torch.ops.hocket_cost.hooked.default)

    def hand_on(keyset: Any, *arguments: Any) -> Any:
        return redispatch(keyset & below, *arguments)

    library.impl("hooked", hand_on, "BackendSelect", with_keyset=True)
    tensors = [torch.ones(1)]
    bare, hooked = (_of(operation, tensors) for operation in (torch.ops.hocket_cost.bare, torch.ops.hocket_cost.hooked))
    return max(0, hooked - bare)


def _of(operation: Any, tensors: list[torch.Tensor]) -> int:
    """The time of a call, of several rounds the shortest."""
    times = []
    for _ in range(_ROUNDS):
        begin = time.perf_counter_ns()
        for _ in range(_CALLS):
            operation(tensors, True, -1)
        times.append(time.perf_counter_ns() - begin)
    return min(times) // _CALLS
