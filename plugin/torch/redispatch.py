"""What kernels of ours hand the operations that they took at the dispatch key BackendSelect on to.

It is PyTorch's kernel at the key of the device. Where the collector stands at BackendSelect and HOCKET_ALGORITHMS
serves the operation too, the collector hands it on to a kernel of ours at `SERVING`, and that one to PyTorch's. Always
through the dispatcher, without the GIL: gloo's thread, when it is the last to free a tensor that Python has seen, waits
for the GIL and keeps gloo's queue locked meanwhile, for which the call may wait.
"""

from collections.abc import Callable
from typing import Any

import torch

from hocket.plugin.torch import interfaces
from hocket.plugin.torch.interfaces import DispatchKey, DispatchKeySet

__all__ = ["SERVING", "Kernel", "hand_on", "hand_on_to_torch", "served"]

Kernel = Callable[..., Any]

#: A key that no operation and no tensor of a job has; the collector's kernels add it to a call's keys. Of those left it
#: is above those of devices.
SERVING = "CustomRNGKeyId"

#: The operations, such as "c10d::allreduce_", with a kernel at SERVING. The compiled hook asks the dispatcher for it.
served: set[str] = set()

_SERVING = DispatchKeySet(interfaces.KEY_BY_NAME.need()(SERVING))
_BELOW = interfaces.KEYS_BELOW.need()(DispatchKey.BackendSelect) - _SERVING


def hand_on(operation: str) -> Kernel:
    """What a kernel of the collector calls, with its keys and its arguments. The name may end in an overload's."""
    redispatch = _redispatch(operation)

    def below(keyset: DispatchKeySet, *arguments: Any) -> Any:
        keyset = keyset & _BELOW
        return redispatch(keyset | _SERVING if operation in served else keyset, *arguments)

    return below


def hand_on_to_torch(operation: str) -> Kernel:
    """What a kernel that serves calls, with its keys and its arguments, where it does not."""
    redispatch = _redispatch(operation)
    return lambda keyset, *arguments: redispatch(keyset & _BELOW, *arguments)


def _redispatch(operation: str) -> Kernel:
    namespace, _, overloaded = operation.partition("::")
    name, _, overload = overloaded.partition(".")
    packet = getattr(getattr(torch.ops, namespace), name)
    return interfaces.redispatch_of(getattr(packet, overload or "default"))
