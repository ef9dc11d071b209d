"""Kernels of the `c10d` operations in place of torch.distributed's, which they call where no algorithm serves.

What is recorded by the collector is the same with and without them (`dispatch`).
"""

import os
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from functools import partial
from typing import Any
from weakref import WeakKeyDictionary, WeakValueDictionary

import torch
import torch.distributed as dist

from hocket.base.collectives import kind_called, whole_size
from hocket.base.errors import HocketError
from hocket.plugin.serve.binding import bind
from hocket.plugin.serve.bypass import is_stock_wanted
from hocket.plugin.serve.called_groups import called_group
from hocket.plugin.serve.counts import CalledGroup, Counts, StockCount
from hocket.plugin.serve.dispatch import Dispatch, Kernel
from hocket.plugin.serve.engine import UNOPENED, Engine, Task
from hocket.plugin.serve.opening import chosen_engine, open_engine
from hocket.plugin.serve.reduction_types import reduction_reader
from hocket.plugin.serve.requests import REQUESTS, Unserved, requests_of
from hocket.plugin.serve.streams import is_capturing
from hocket.plugin.torch import interfaces
from hocket.runtime.engine.library import Library

__all__ = ["Override"]


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
        self._create_work = interfaces.WORK_OF_FUTURE.need()
        self._engines: WeakKeyDictionary[dist.ProcessGroup, dict[torch.device, Engine | str]] = WeakKeyDictionary()
        self._tasks: WeakKeyDictionary[dist.Work, Task] = WeakKeyDictionary()
        self._stock_counts: WeakKeyDictionary[dist.Work, StockCount] = WeakKeyDictionary()
        self._groups: WeakKeyDictionary[dist.ProcessGroup, CalledGroup] = WeakKeyDictionary()
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
        unbox, boxed = interfaces.UNBOX_GROUP.need(), interfaces.BOX_WORK.need()
        schema = interfaces.schema_of(getattr(torch.ops.c10d, name).default)
        names = [argument.name for argument in schema.arguments]
        defaults = {argument.name: argument.default_value for argument in schema.arguments}
        returned = len(schema.returns) - 1  # what the operation returns before its Work: an argument
        result_name = next((key for key in ("tensors", "output_tensors", "output_tensor") if key in names), "")

        def kernel(keyset: interfaces.DispatchKeySet, *values: Any) -> Any:
            arguments = defaults | dict(zip(names, values, strict=False))
            group = unbox(arguments["process_group"])
            if is_stock_wanted():
                return stock(keyset, *values)
            try:
                task = self._task(name, arguments, group)
            except Unserved as reason:
                return self._stock(name, str(reason), arguments, group, partial(stock, keyset, *values))
            work = self._issue(task, bool(arguments.get("async_op", True)))
            return (arguments[result_name], boxed(work)) if returned else boxed(work)

        return kernel

    def _stock(
        self, name: str, reason: str, arguments: dict[str, Any], group: dist.ProcessGroup, call: Callable[[], Any]
    ) -> Any:
        """The operation by the stock library, counted with its time in the call and in `Work.wait`."""
        size_bytes = _size_bytes(name, arguments, group.size())
        count = self.counts.add_stock(name.strip("_"), reason, 1, self._called(group), size_bytes)
        begin = time.perf_counter_ns()
        result = call()
        self.counts.add_time(count, time.perf_counter_ns() - begin)
        boxed = result[-1] if isinstance(result, tuple) else result
        if isinstance(boxed, torch.ScriptObject):
            self._held.work = work = interfaces.UNBOX_WORK.need()(boxed)  # held as in `_issue`
            self._stock_counts[work] = count
        return result

    def _called(self, group: dist.ProcessGroup) -> CalledGroup:
        if group not in self._groups:
            self._groups[group] = called_group(group)
        return self._groups[group]

    def _task(self, name: str, arguments: dict[str, Any], group: dist.ProcessGroup) -> Task:
        requests = requests_of(name, arguments, group.rank())
        device = (requests[0].inputs or requests[0].outputs)[0].device
        if device.type == "meta":
            raise Unserved("tensors without data")
        is_captured = is_capturing(device)
        engine = self._engine(group, device, is_captured)
        bindings = [bind(request, engine.library.find, engine.size, engine.elements) for request in requests]
        if is_captured and (refusal := engine.capture_refusal(bindings)):
            raise Unserved(refusal)
        milliseconds = arguments.get("timeout", -1)
        timeout = timedelta(milliseconds=milliseconds) if milliseconds > 0 else engine.timeout
        return Task(engine, name.strip("_"), bindings, timeout, is_captured)

    def _engine(self, group: dist.ProcessGroup, device: torch.device, is_captured: bool) -> Engine:
        """That of a group, opened at its first use. Raises Unserved where it can have none."""
        engines = self._engines.setdefault(group, {})
        if device not in engines:
            if is_captured:
                raise Unserved(UNOPENED)
            self._rank = dist.get_rank()
            library = self._library.of_group(self._called(group).ranks)
            engines[device] = open_engine(group, device, library, self.counts, wanted=chosen_engine(), purpose="job")
        engine = engines[device]
        if isinstance(engine, str):
            raise Unserved(engine)
        return engine

    def _issue(self, task: Task, is_async: bool) -> dist.Work:
        task.engine.submit(task, is_async)
        is_done = task.done.is_set()  # looked at once: what ends from here on, be it by an error, is told to who waits
        if is_done:
            task.result() if is_async else task.join()  # an error is the caller's at once
        future = task.settled
        if not is_done:  # else without a callback, whose streams take part
            future = task.settled.then(lambda _: task.result())
        # Python gives one C++ Work one object as long as that lives: the last one is held until its issuer has it.
        self._held.work = work = self._create_work(future)
        self._tasks[work] = task
        if task.engine.streams.enqueue or not is_done:
            for tensor in task.outputs:
                self._writers[tensor.data_ptr()] = task
        return work

    def _wrap_wait(self) -> None:
        """`Work.wait` of PyTorch's Work around a future knows no time limit and no error."""
        wait = dist.Work.wait

        def wait_for_task(work: dist.Work, timeout: timedelta = timedelta(0)) -> bool:
            task = self._tasks.get(work)
            if task is None:
                count = self._stock_counts.pop(work, None)
                begin = time.perf_counter_ns()
                try:
                    return bool(wait(work, timeout))
                finally:
                    if count is not None:
                        self.counts.add_time(count, time.perf_counter_ns() - begin, waits=1)
            if not task.done.wait(timeout.total_seconds() or None):
                raise HocketError(f"{task.name} was not done within {timeout}")
            task.join()
            return True

        dist.Work.wait = wait_for_task

    def _wait_tensor_kernel(self, stock: Kernel) -> Kernel:
        """`wait_tensor` waits in C++ for a Work that knows no error, and here it would keep the GIL from the engine."""

        def kernel(keyset: interfaces.DispatchKeySet, tensor: torch.Tensor) -> Any:
            task = None
            with suppress(RuntimeError):  # a tensor without data, while torch.compile traces
                task = self._writers.pop(tensor.data_ptr(), None)
            if task is not None:
                task.done.wait()
            result = stock(keyset, tensor)
            if task is not None:
                task.result()
                task.release()
            return result

        return kernel


def _size_bytes(name: str, arguments: dict[str, Any], num_ranks: int) -> int:
    """What nccl-tests counts: a rank's whole buffer."""
    outputs = max((_bytes_of(value) for key, value in arguments.items() if key.startswith("output")), default=0)
    inputs = max((_bytes_of(value) for key, value in arguments.items() if not key.startswith("output")), default=0)
    return whole_size(kind_called(name) or name, inputs, outputs, num_ranks)


def _bytes_of(value: Any) -> int:
    if isinstance(value, torch.Tensor):
        return value.nbytes if value.layout is torch.strided else 0
    return sum(map(_bytes_of, value)) if isinstance(value, list | tuple) else 0
