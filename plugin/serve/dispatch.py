"""Where kernels take the operations of `c10d`: at the dispatch key BackendSelect, or below the collector's there."""

import warnings
from collections.abc import Callable

import torch

from hocket.plugin.torch import interfaces
from hocket.plugin.torch.redispatch import SERVING, Kernel, hand_on_to_torch, served

__all__ = ["Dispatch", "Kernel"]


class Dispatch:
    """Installs kernels for as long as it lives. Where there is to be a collector, it has to be there first."""

    def __init__(self) -> None:
        self._libraries: dict[str, torch.library.Library] = {}
        self._below_collector = interfaces.HAS_KERNEL.need()("c10d::allreduce_", "BackendSelect")

    def install(self, operation: str, make: Callable[[Kernel], Kernel]) -> None:
        """For `operation`, such as "c10d::allreduce_", the kernel that `make` makes of PyTorch's. Both take the
        dispatch keys and the arguments."""
        namespace, _, name = operation.partition("::")
        if namespace not in self._libraries:
            self._libraries[namespace] = torch.library.Library(namespace, "IMPL")
        key = SERVING if self._below_collector else "BackendSelect"
        with warnings.catch_warnings():
            # that kernels are replaced, which is what the user asked for
            warnings.filterwarnings("ignore", "Warning only once for all operators", UserWarning)
            self._libraries[namespace].impl(name, make(hand_on_to_torch(operation)), key, with_keyset=True)
        if self._below_collector:
            served.add(operation)
