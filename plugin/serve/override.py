"""Kernels of the `c10d` operations in place of torch.distributed's, which they call where no algorithm serves.

What is recorded by the collector is the same with and without them (`dispatch`).
"""

import os
import threading
from contextlib import suppress
from datetime import timedelta
from functools import partial
from typing import Any
from weakref import WeakKeyDictionary, WeakValueDictionary

import torch
import torch.distributed as dist

from hocket.base.errors import HocketError
from hocket.plugin.serve.binding import bind
from hocket.plugin.serve.counts import Counts
from hocket.plugin.serve.dispatch import Dispatch, Kernel
from hocket.plugin.serve.engine import Engine, Task
from hocket.plugin.serve.opening import chosen_engine, open_engine
from hocket.plugin.serve.reduction_types import reduction_reader
from hocket.plugin.serve.requests import REQUESTS, Unserved, requests_of
from hocket.runtime.engine.library import Library

__all__ = ["Override"]

_create_work = torch._C._distributed_c10d._create_work_from_future


class Override:
    """Serves this process's collectives. Raises HocketError where this PyTorch cannot be served, or
    HOCKET_ALGORITHMS_ENGINE is none.

    A collector has to come between construction and `serve`: its `Work.wait` goes around the one made here, its kernels
    stand above.
    """

    def __init__(self, library: Library) -> None:
        self.counts = Counts(library)
        self._library = library
        chosen_engine()
        reduction_reader()
        self._engines: WeakKeyDictionary[dist.ProcessGroup, dict[torch.device, Engine | str]] = WeakKeyDictionary()
        self._tasks: WeakKeyDictionary[dist.Work, Task] = WeakKeyDictionary()
        self._writers: WeakValueDictionary[int, Task] = WeakValueDictionary()
        self._held = threading.local()
        self._rank: int | None = None
        self._dispatch: Dispatch | None = None
        self._wrap_wait()

    def serve(self) -> None:
        """From now on; a second call does nothing."""
        if self._dispatch is not None:
            return
        self._dispatch = Dispatch()
        for name in REQUESTS:
            self._dispatch.install(f"c10d::{name}", partial(self._kernel, name))
        self._dispatch.install("_c10d_functional::wait_tensor", self._wait_tensor_kernel)

    @property
    def source(self) -> str:
        return self._library.source

    @property
    def reports(self) -> bool:
        """Whether this is the job's rank 0."""
        return (os.environ.get("RANK") if self._rank is None else str(self._rank)) == "0"

    def _kernel(self, name: str, stock: Kernel) -> Kernel:
        schema = getattr(torch.ops.c10d, name).default._schema
        names = [argument.name for argument in schema.arguments]
        defaults = {argument.name: argument.default_value for argument in schema.arguments}
        returned = len(schema.returns) - 1  # what the operation returns before its Work: an argument
        result_name = next((key for key in ("tensors", "output_tensors", "output_tensor") if key in names), "")

        def kernel(keyset: torch._C.DispatchKeySet, *values: Any) -> Any:
            arguments = defaults | dict(zip(names, values, strict=False))
            group = dist.ProcessGroup.unbox(arguments["process_group"])
            try:
                task = self._task(name, arguments, group)
            except Unserved as reason:
                self.counts.add_stock(name.strip("_"), str(reason))
                return stock(keyset, *values)
            work = self._issue(task, bool(arguments.get("async_op", True)))
            return (arguments[result_name], work.boxed()) if returned else work.boxed()

        return kernel

    def _task(self, name: str, arguments: dict[str, Any], group: dist.ProcessGroup) -> Task:
        requests = requests_of(name, arguments, group.rank())
        device = (requests[0].inputs or requests[0].outputs)[0].device
        if device.type not in ("cpu", "cuda"):
            raise Unserved(f"{device.type} tensors")
        if device.type == "cuda" and torch.cuda.is_current_stream_capturing():
            raise Unserved("a CUDA graph is captured")
        engine = self._engine(group, device)
        bindings = [bind(request, self._library, engine.size) for request in requests]
        milliseconds = arguments.get("timeout", -1)
        timeout = timedelta(milliseconds=milliseconds) if milliseconds > 0 else engine.timeout
        return Task(engine, name.strip("_"), bindings, timeout)

    def _engine(self, group: dist.ProcessGroup, device: torch.device) -> Engine:
        """That of a group, opened at its first use. Raises Unserved where it can have none."""
        engines = self._engines.setdefault(group, {})
        if device not in engines:
            self._rank = dist.get_rank()
            engines[device] = open_engine(group, device, self._library, self.counts)
        engine = engines[device]
        if isinstance(engine, str):
            raise Unserved(engine)
        return engine

    def _issue(self, task: Task, is_async: bool) -> dist.Work:
        future = task.settled.then(lambda _: task.result())
        task.engine.submit(task, is_async)
        if task.done.is_set():
            task.result() if is_async else task.join()  # an error is the caller's at once
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
            task.join()
            return True

        dist.Work.wait = wait_for_task

    def _wait_tensor_kernel(self, stock: Kernel) -> Kernel:
        """`wait_tensor` waits in C++ for a Work that knows no error, and here it would keep the GIL from the engine."""

        def kernel(keyset: torch._C.DispatchKeySet, tensor: torch.Tensor) -> Any:
            task = None
            with suppress(RuntimeError):  # a tensor without data, while torch.compile traces
                task = self._writers.pop(tensor.data_ptr(), None)
            if task is not None:
                task.done.wait()
            result = stock(keyset, tensor)
            if task is not None:
                task.result()
            return result

        return kernel
