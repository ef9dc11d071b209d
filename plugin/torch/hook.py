"""Python kernels on every `c10d::*` operation, at the dispatch key BackendSelect.

Whatever issues a collective (Python, DDP's C++ reducer, compiled graphs) goes through the dispatcher, with all of its
arguments; the kernel writes them down and hands the call on to the backend below.
"""

import itertools
import json
import threading
import time
from collections.abc import Callable
from typing import Any
from weakref import ref

import torch
import torch.distributed as dist
from torch._C import DispatchKey

from hocket.plugin.torch.describe import describer, is_async_reader, required_position
from hocket.plugin.torch.groups import Groups
from hocket.plugin.torch.operations import OPERATIONS, PEER_TO_PEER, Operation
from hocket.plugin.torch.steps import Steps
from hocket.plugin.torch.stream import Stream

__all__ = ["Hook"]

Kernel = Callable[..., Any]

_BELOW = torch._C._dispatch_keyset_full_after(DispatchKey.BackendSelect)
_clock = time.perf_counter_ns
_thread = threading.get_ident


class Hook:
    """Records every collective of this process from construction on, while `steps.recording`.

    `open_stream` is called once, at the first collective: a process that issues none leaves no file.
    """

    def __init__(self, steps: Steps, open_stream: Callable[[], Stream]) -> None:
        self._steps = steps
        self._open_stream = open_stream
        self._write: Callable[[str], None]
        self._groups: Groups | None = None
        self._ids = itertools.count()
        # Which operation a Work belongs to, and its group where only the Work knows the sender; a WeakKeyDictionary
        # would do, at twice the time. Python gives one C++ Work one object as long as that lives: the last one of
        # each thread is held until its issuer has it.
        self._works: dict[ref[dist.Work], tuple[int, dist.ProcessGroup | None]] = {}
        self._held = threading.local()
        self._backward: dict[int, list[int]] = {}
        self._libraries = [torch.library.Library("c10d", "IMPL"), torch.library.Library("_c10d_functional", "IMPL")]
        collectives, functional = self._libraries
        for name, operation in OPERATIONS.items():
            if hasattr(torch.ops.c10d, name):
                overload = getattr(torch.ops.c10d, name).default
                collectives.impl(name, self._kernel(name, operation, overload), "BackendSelect", with_keyset=True)
        functional.impl("wait_tensor", self._wait_tensor_kernel(), "BackendSelect", with_keyset=True)
        self._wrap_wait()

    def _kernel(self, name: str, operation: Operation, overload: torch._ops.OpOverload) -> Kernel:
        schema = overload._schema
        redispatch = overload._handle.redispatch_boxed
        describe = describer(operation, schema)
        group_index = required_position(schema, "process_group")
        is_async_call = is_async_reader(schema)
        numbered = operation.kind not in PEER_TO_PEER
        returns_work = bool(schema.returns)
        any_source = name == "recv_any_source_"
        steps, ids, works, held = self._steps, self._ids, self._works, self._held
        forget = works.pop
        unbox_group, unbox_work = dist.ProcessGroup.unbox, dist.Work.unbox

        def issue(arguments: tuple[Any, ...], is_async: bool) -> int | None:
            """Writes the call down and returns its number; None when it is not one of those to record."""
            try:
                groups = self._groups or self._start()
                group = groups.find(unbox_group(arguments[group_index]))
                sequence = f',"seq":{next(group.sequence)}' if numbered else ""
                if not steps.recording:
                    return None
                text = describe(arguments, group, is_async)
                identifier = next(ids)
                self._write(
                    f'{{"k":"collective","id":{identifier},"op":"{name}","group":{group.id}{sequence}'
                    f',"step":{steps.number},"t":{_clock()},"thread":{_thread()},{text}}}\n'
                )
                return identifier
            except Exception as error:
                self._report(name, error)
                return None

        def kernel(keyset: torch._C.DispatchKeySet, *arguments: Any) -> Any:
            is_async = is_async_call(arguments)
            identifier = issue(arguments, is_async)
            begin = _clock()
            result = redispatch(keyset & _BELOW, *arguments)
            if identifier is None:
                return result
            if not returns_work:
                self._write_wait(identifier, begin)
                return result
            held.work = work = unbox_work(result[-1] if type(result) is tuple else result)
            works[ref(work, forget)] = identifier, unbox_group(arguments[group_index]) if any_source else None
            if is_async and numbered:  # the end of a synchronous one is the end of its wait
                self._await_done(identifier, work)
                self._watch_backward(identifier)
            return result

        return kernel

    def _report(self, name: str, error: Exception) -> None:
        """A failure to describe a call becomes a line in the stream: it must not stop the job."""
        if self._groups is None:
            raise error
        self._write(json.dumps({"k": "error", "op": name, "message": repr(error)}) + "\n")

    def _start(self) -> Groups:
        stream = self._open_stream()
        self._write = stream.write
        self._groups = Groups(stream)
        return self._groups

    def _await_done(self, identifier: int, work: dist.Work) -> None:
        try:
            future = work.get_future()
        except RuntimeError:  # gloo's coalesced reduce_scatter has none: its end is the end of its wait
            return
        future.add_done_callback(lambda _: self._write(f'{{"k":"done","id":{identifier},"t":{_clock()}}}\n'))

    def _write_wait(self, identifier: int, begin: int, more: str = "") -> None:
        self._write(f'{{"k":"wait","id":{identifier},"t0":{begin},"t1":{_clock()},"thread":{_thread()}{more}}}\n')

    def _wrap_wait(self) -> None:
        """`Work.wait`: where Python code, torch.distributed's own included, waits."""
        wait = dist.Work.wait
        works, held = self._works, self._held

        def wait_and_record(work: dist.Work, *arguments: Any, **options: Any) -> Any:
            begin = _clock()
            result = wait(work, *arguments, **options)
            issued = works.pop(ref(work), None)
            if issued is not None:
                identifier, group = issued
                source = "" if group is None else f',"peer":{dist.get_global_rank(group, work._source_rank())}'
                self._write_wait(identifier, begin, source)
                held.work = None
            return result

        dist.Work.wait = wait_and_record

    def _wait_tensor_kernel(self) -> Kernel:
        """`wait_tensor`: where functional collectives are waited for, in C++, known by the tensor they wrote."""
        redispatch = torch.ops._c10d_functional.wait_tensor.default._handle.redispatch_boxed

        def kernel(keyset: torch._C.DispatchKeySet, tensor: torch.Tensor) -> torch.Tensor:
            begin = _clock()
            result = redispatch(keyset & _BELOW, tensor)
            if self._groups is not None and self._steps.recording:
                self._write(
                    f'{{"k":"wait","ptr":{tensor.data_ptr()},"t0":{begin},"t1":{_clock()},"thread":{_thread()}}}\n'
                )
            return result

        return kernel

    def _watch_backward(self, identifier: int) -> None:
        """Notes what an autograd pass issues and when it ends: DDP's reducer waits there, in C++, for all of it.

        The engine runs its final callbacks in order of arrival. One queued now precedes DDP's, which comes with the
        last bucket; one queued from there follows it.
        """
        task = torch._C._current_graph_task_id()
        if task == -1:
            return
        if task in self._backward:
            self._backward[task].append(identifier)
            return
        self._backward[task] = [identifier]
        queue = torch.autograd.Variable._execution_engine.queue_callback

        def before() -> None:
            begin = _clock()
            queue(lambda: after(begin))

        def after(begin: int) -> None:
            ids = self._backward.pop(task)
            self._write(f'{{"k":"backward","ids":{ids},"t0":{begin},"t1":{_clock()},"thread":{_thread()}}}\n')

        queue(before)
