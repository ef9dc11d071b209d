"""What communicates past the dispatcher: it is not recorded, and the summary says so."""

import os
import sys
from collections.abc import Callable
from functools import wraps
from typing import Any

import torch.distributed as dist

from hocket.plugin.torch import interfaces
from hocket.recording.stream import Stream, record

__all__ = ["Unseen"]

# What PyTorch 2.4 to 2.15 call the collectives and messages of a backend; those that a version lacks are passed over.
_OF_BACKENDS = (
    *("allreduce", "allreduce_coalesced", "broadcast", "reduce", "allgather", "allgather_coalesced", "_allgather_base"),
    *("all_gather_single", "all_gather_single_coalesced", "gather", "gather_single", "scatter", "reduce_scatter"),
    *("_reduce_scatter_base", "reduce_scatter_single", "reduce_scatter_single_coalesced", "alltoall", "alltoall_base"),
    *("all_to_all_single", "send", "recv", "recv_anysource", "barrier", "monitored_barrier", "new_window"),
)
# How a job comes to symmetric memory, whose kernels communicate then: no operation of `symm_mem` goes without.
_OF_MEMORY = ("empty_strided_p2p", "rendezvous", "get_mempool_allocator")

_SYMMETRIC = "operations on symmetric memory (torch.ops.symm_mem, kernels that use it) are not recorded, which it uses"
# Libraries that communicate by themselves, by the module that a process has loaded then.
_LIBRARIES = {
    "torchcomms": "what communicators of torchcomms are asked directly is not recorded; it has loaded torchcomms",
    **{
        module: f"what {name} communicates is not recorded; it has loaded {module}"
        for module, name in {
            "nvshmem": "NVSHMEM",
            "deep_ep": "DeepEP",
            "mpi4py.MPI": "MPI (mpi4py)",
            "ucp": "UCX (ucx-py)",
            "ucxx": "UCX (ucxx)",
            "horovod.torch": "Horovod",
            "ray.util.collective": "Ray's collective library",
            "cupy.cuda.nccl": "NCCL through CuPy",
            "nccl.core": "NCCL through nccl4py",
            "nixl": "NIXL",
            "mooncake.engine": "Mooncake's transfer engine",
        }.items()
    },
}
_FORKED = "processes that it forked (data loaders, say) are not recorded"


class Unseen:
    """Tells the stream, once each, of what a process uses that no hook sees. Costs nothing where it is not used."""

    def __init__(self) -> None:
        self._stream: Stream | None = None
        self._told: dict[str, None] = {}
        self._forked = False
        backend, memory = interfaces.BACKEND_CLASS.ask(), interfaces.SYMMETRIC_MEMORY.found
        named = (getattr(dist, f"ProcessGroup{name}", None) for name in ("Gloo", "NCCL", "MPI", "UCC", "XCCL"))
        for kind in {backend, *named} - {None}:
            for name in _OF_BACKENDS:
                if name in vars(kind):
                    self._watch_backend(kind, name)
        os.register_at_fork(after_in_parent=self._note_fork)
        for name in _OF_MEMORY:
            if memory is not None and name in vars(memory):
                self._watch_memory(memory, name)

    def open(self, stream: Stream) -> None:
        """Where to tell it."""
        self._stream = stream
        for what in self._told:
            stream.keep(record("unseen", what=what))

    def close(self) -> None:
        """Looks for what can only be seen from outside."""
        for module, what in _LIBRARIES.items():
            if module in sys.modules:
                self._tell(what)
        if self._forked:
            self._tell(_FORKED)

    def _note_fork(self) -> None:
        self._forked = True

    def _tell(self, what: str) -> None:
        if what not in self._told:
            self._told[what] = None
            if self._stream is not None:
                self._stream.keep(record("unseen", what=what))

    def _watch_backend(self, kind: Any, name: str) -> None:
        """Calls of Python on a backend itself: the dispatcher's operations call backends in C++."""
        method: Callable[..., Any] = getattr(kind, name)

        @wraps(method)
        def call_and_tell(backend: Any, *arguments: Any, **options: Any) -> Any:
            called = f"{type(backend).__name__}.{name}"
            self._tell(f"calls on a backend itself ({called}), past the dispatcher, are not recorded")
            return method(backend, *arguments, **options)

        setattr(kind, name, call_and_tell)

    def _watch_memory(self, kind: Any, name: str) -> None:
        function: Callable[..., Any] = getattr(kind, name)

        @wraps(function)
        def call_and_tell(*arguments: Any, **options: Any) -> Any:
            result = function(*arguments, **options)
            self._tell(_SYMMETRIC)
            return result

        setattr(kind, name, staticmethod(call_and_tell))
