"""Kernels of the `c10d` operations in place of torch.distributed's, which they call where no algorithm serves.

They stand at the dispatch key of the device, below the collector's at BackendSelect: what is recorded is the same.
"""

import os
import threading
import warnings
from collections.abc import Callable
from datetime import timedelta
from typing import Any
from weakref import WeakKeyDictionary, WeakValueDictionary

import torch
import torch.distributed as dist

from hocket.core.errors import HocketError
from hocket.plugin.algorithms.binding import bind
from hocket.plugin.algorithms.counts import Counts
from hocket.plugin.algorithms.engine import Engine, Task
from hocket.plugin.algorithms.library import Library
from hocket.plugin.algorithms.requests import REQUESTS, Unserved, requests_of

__all__ = ["Override"]

Kernel = Callable[..., Any]

_DEVICES = ("CPU", "CUDA")
_create_work = torch._C._distributed_c10d._create_work_from_future


class Override:
    """Serves this process's collectives from construction on. Raises HocketError where this PyTorch is too old."""

    def __init__(self, library: Library) -> None:
        if not hasattr(torch.library, "get_kernel") or not hasattr(dist.ReduceOp, "unbox"):
            raise HocketError(
                f"PyTorch {torch.__version__} does not let a kernel be replaced and called (torch.library.get_kernel, "
                "ReduceOp.unbox; 2.9 lacks the second): HOCKET_ALGORITHMS needs a newer one, such as 2.15"
            )
        self.counts = Counts(library)
        self._library = library
        self._engines: WeakKeyDictionary[dist.ProcessGroup, Engine | str] = WeakKeyDictionary()
        self._tasks: WeakKeyDictionary[dist.Work, Task] = WeakKeyDictionary()
        self._writers: WeakValueDictionary[int, Task] = WeakValueDictionary()
        self._held = threading.local()
        self._rank: int | None = None
        self._libraries = [torch.library.Library("c10d", "IMPL"), torch.library.Library("_c10d_functional", "IMPL")]
        collectives, functional = self._libraries
        with warnings.catch_warnings():
            # that kernels are replaced, which is what the user asked for
            warnings.filterwarnings("ignore", "Warning only once for all operators", UserWarning)
            for name in REQUESTS:
                for device in _DEVICES:
                    collectives.impl(name, self._kernel(name, device), device, with_keyset=True)
            functional.impl("wait_tensor", self._wait_tensor_kernel(), "CPU", with_keyset=True)
        self._wrap_wait()

    @property
    def source(self) -> str:
        return self._library.source

    @property
    def reports(self) -> bool:
        """Whether this is the job's rank 0."""
        return (os.environ.get("RANK") if self._rank is None else str(self._rank)) == "0"

    def _kernel(self, name: str, device: str) -> Kernel:
        stock = torch.library.get_kernel(f"c10d::{name}", device)
        schema = getattr(torch.ops.c10d, name).default._schema
        names = [argument.name for argument in schema.arguments]
        defaults = {argument.name: argument.default_value for argument in schema.arguments}
        returned = len(schema.returns) - 1  # what the operation returns before its Work: an argument
        result_name = next((key for key in ("tensors", "output_tensors", "output_tensor") if key in names), "")

        def kernel(keyset: torch._C.DispatchKeySet, *given: Any) -> Any:
            arguments = defaults | dict(zip(names, given, strict=False))
            group = dist.ProcessGroup.unbox(arguments["process_group"])
            try:
                if device != "CPU":
                    raise Unserved(f"{device} tensors")
                task = self._task(name, arguments, group)
            except Unserved as reason:
                self.counts.add_stock(name.strip("_"), str(reason))
                return stock.call_boxed(keyset, *given)
            work = self._issue(task, bool(arguments.get("async_op", True)))
            return (arguments[result_name], work.boxed()) if returned else work.boxed()

        return kernel

    def _task(self, name: str, arguments: dict[str, Any], group: dist.ProcessGroup) -> Task:
        engine = self._engines.get(group)
        if engine is None:
            engine = self._engines[group] = self._open(group)
        if isinstance(engine, str):
            raise Unserved(engine)
        requests = requests_of(name, arguments, engine.rank)
        bindings = [bind(request, self._library, engine.size) for request in requests]
        milliseconds = arguments.get("timeout", -1)
        timeout = timedelta(milliseconds=milliseconds) if milliseconds > 0 else engine.timeout
        return Task(engine, name.strip("_"), bindings, timeout)

    def _open(self, group: dist.ProcessGroup) -> Engine | str:
        """The engine of a group at its first use; why it can have none."""
        self._rank = dist.get_rank()
        backend = group._get_backend(torch.device("cpu")).name()
        if backend != "gloo":
            return f"backend {backend}"
        return self._library.missing(group.size()) or Engine(group, self._library, self.counts)

    def _issue(self, task: Task, is_async: bool) -> dist.Work:
        future = task.settled.then(lambda _: task.result())
        task.engine.submit(task, is_async)
        if task.done.is_set():
            task.result()  # an error is the caller's at once
        # Python gives one C++ Work one object as long as that lives: the last one is held until its issuer has it.
        self._held.work = work = _create_work(future)
        self._tasks[work] = task
        if not task.done.is_set():
            for tensor in task.outputs:
                self._writers[tensor.data_ptr()] = task
        return work

    def _wrap_wait(self) -> None:
        """`Work.wait` of PyTorch's Work around a future knows no time limit and no error."""
        wait = dist.Work.wait

        def wait_for_task(work: dist.Work, timeout: timedelta = timedelta(0)) -> bool:
            task = self._tasks.get(work)
            if task is None:
                return bool(wait(work, timeout))
            if not task.done.wait(timeout.total_seconds() or None):
                raise HocketError(f"{task.name} was not done within {timeout}")
            task.result()
            return True

        dist.Work.wait = wait_for_task

    def _wait_tensor_kernel(self) -> Kernel:
        """`wait_tensor` waits in C++ for a Work that knows no error, and here it would keep the GIL from the engine."""
        stock = torch.library.get_kernel("_c10d_functional::wait_tensor", "CPU")

        def kernel(keyset: torch._C.DispatchKeySet, tensor: torch.Tensor) -> Any:
            task = self._writers.pop(tensor.data_ptr(), None)
            if task is not None:
                task.done.wait()
            result = stock.call_boxed(keyset, tensor)
            if task is not None:
                task.result()
            return result

        return kernel
