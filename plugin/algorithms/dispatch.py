"""Where kernels of ours take the operations of `c10d`, and how they hand them on to PyTorch's own.

They stand at the dispatch key BackendSelect, above PyTorch's at that of the device. Where the collector's stand there,
they stand at the device's, in place of PyTorch's, which it hands out from 2.9 on. That is the worse place: PyTorch
calls such a kernel with the GIL held, and gloo's thread, when it is the last to free a tensor that Python has seen,
waits for the GIL and keeps gloo's queue locked meanwhile, for which the kernel may wait.
"""

import os
import warnings
from collections.abc import Callable
from typing import Any

import torch
from torch._C import DispatchKey

from hocket.core.errors import HocketError
from hocket.plugin.torch.settings import OUT_VARIABLE

__all__ = ["Dispatch", "Kernel"]

Kernel = Callable[..., Any]

_BELOW = torch._C._dispatch_keyset_full_after(DispatchKey.BackendSelect)


class Dispatch:
    """Installs kernels for as long as it lives. Raises HocketError where there can be only one kernel, and the
    collector's is, or will be, it."""

    def __init__(self) -> None:
        self._libraries: dict[str, torch.library.Library] = {}
        taken = torch._C._dispatch_has_kernel_for_dispatch_key("c10d::allreduce_", "BackendSelect")
        self._at_devices = taken or bool(os.environ.get(OUT_VARIABLE))
        if self._at_devices and not hasattr(torch.library, "get_kernel"):
            raise HocketError(
                f"with PyTorch {torch.__version__} either HOCKET_COLLECT or HOCKET_ALGORITHMS can take a job's "
                "operations; both need 2.9 or newer (torch.library.get_kernel)"
            )

    def install(self, operation: str, devices: tuple[str, ...], make: Callable[[Kernel], Kernel]) -> None:
        """For `operation`, such as "c10d::allreduce_", on `devices` (dispatch keys; at BackendSelect, on all), the
        kernel that `make` makes of PyTorch's. Both take the dispatch keys and the arguments."""
        namespace, _, name = operation.partition("::")
        if namespace not in self._libraries:
            self._libraries[namespace] = torch.library.Library(namespace, "IMPL")
        for key in devices if self._at_devices else ("BackendSelect",):
            with warnings.catch_warnings():
                # that kernels are replaced, which is what the user asked for
                warnings.filterwarnings("ignore", "Warning only once for all operators", UserWarning)
                self._libraries[namespace].impl(name, make(self._stock(operation, key)), key, with_keyset=True)

    def _stock(self, operation: str, key: str) -> Kernel:
        if self._at_devices:
            kernel: Kernel = torch.library.get_kernel(operation, key).call_boxed
            return kernel
        namespace, _, name = operation.partition("::")
        redispatch = getattr(getattr(torch.ops, namespace), name).default._handle.redispatch_boxed
        return lambda keyset, *given: redispatch(keyset & _BELOW, *given)
