"""Hooks on every `c10d::*` operation, at the dispatch key BackendSelect.

Whatever issues a collective (Python, DDP's C++ reducer, compiled graphs) goes through the dispatcher, with all of its
arguments; a kernel there writes them down and hands the call on to the backend below. `PythonHook` is made of Python
kernels; `hocket.plugin.torch.native` has the same in C++.
"""

import itertools
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol
from weakref import WeakValueDictionary, ref

import torch
import torch.distributed as dist

from hocket.plugin.torch.describe import describer, is_async_reader, on_device, tensor_reader
from hocket.plugin.torch.groups import GroupWriter
from hocket.plugin.torch.redispatch import Kernel, hand_on
from hocket.plugin.torch.signature import (
    Signature,
    sending_operations,
    signatures,
    unknown_operations,
    waiting_operations,
)
from hocket.recording.stream import MappedStream, Stream, record

__all__ = ["LIMIT", "UNKNOWN", "Hook", "PythonHook"]

# Of shapes and of addresses that nobody waits at, at most so many are remembered: memory must not grow with the job.
LIMIT = 1 << 16

# Of an operation that `operations.py` does not have.
UNKNOWN = "not known to this version of Hocket, and not recorded"

_clock = time.perf_counter_ns
_get_future = dist.Work.get_future  # as it was before anybody watched it


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]


def _address(tensor: torch.Tensor) -> int:
    """What `wait_tensor` knows a tensor by: where its data lies, or what would hold data were there any."""
    address: int = tensor.data_ptr() or tensor.untyped_storage()._cdata
    return address


class _Operations:
    """Numbers of operations that are waited for together, and when the last of them was issued."""

    def __init__(self) -> None:
        self.ids: list[int] = []
        self.last = 0

    def add(self, identifier: int) -> None:
        self.ids.append(identifier)
        self.last = _clock()


class Hook(Protocol):
    """Records collectives of this process into the stream that it opens."""

    def install(self, start: Callable[[], None]) -> None:
        """Hooks all operations, for good. `start` is called at the first, by every thread that issues one before it has
        returned, and calls `open` once: a process that issues none leaves no file. If it does not, nothing is ever
        recorded."""

    def open(self, path: Path) -> Stream:
        """The stream everything is written to from now on. Raises OSError when it cannot be opened."""

    def select(self, recording: bool) -> None:
        """Whether what is issued from now on is to be recorded; not at first."""

    def forget_groups(self) -> None:
        """Process groups are about to be destroyed; others may get their names."""

    def begin_batch(self) -> None:
        """What this thread issues until `end_batch` is one batch of messages."""

    def end_batch(self, works: Sequence[dist.Work]) -> None:
        """Ends it; `works` are all that will be waited for. One for all messages (NCCL's) stands for the last."""

    def begin_section(self) -> None:
        """What this thread issues until `end_section` it also waits for until then: no Python code gets the Works."""

    def end_section(self, returned: bool) -> None:
        """Ends it. Where it has not returned, but raised, nobody knows for what of it the thread has waited."""

    def operation_of(self, work: dist.Work) -> int | None:
        """The recorded operation of a Work, None where there is none or its `wait` has returned."""

    def write_wait(self, operation: int, begin: int) -> None:
        """This thread has waited for it from `begin` (`time.perf_counter_ns`) until now."""


class PythonHook:
    """Hook in Python: works with any PyTorch from 2.4 on, at the price of turning all arguments into Python objects.

    `find_line` tells the script's line that issues a call, `watch` when a Work on a device is complete, where that is
    wanted.
    """

    def __init__(
        self, find_line: Callable[[], str] | None = None, watch: Callable[[int, dist.Work], None] | None = None
    ) -> None:
        self._find_line = find_line
        self._watch = watch
        self._recording = False
        self._started = False
        self._groups: GroupWriter | None = None
        self._write: Callable[[str], None] = lambda line: None
        self._ids = itertools.count()
        self._shape_ids = itertools.count()
        self._thread_ids = itertools.count()
        self._batch_ids = itertools.count()
        self._shapes: dict[str, int] = {}
        self._threads: dict[int, int] = {}
        # Which operation a Work belongs to, and its group's ranks where only the Work knows the sender; a
        # WeakKeyDictionary would do, at twice the time. Python gives one C++ Work one object as long as that lives:
        # the last one of each thread is held until its issuer has it.
        self._works: dict[ref[dist.Work], tuple[int, list[int] | None]] = {}
        self._held = threading.local()
        self._written: dict[int, int] = {}  # which operation writes at an address
        # What the autograd passes under way have issued; the engine's callbacks own it: those of a pass that raises are
        # never called, but go with it.
        self._passes: WeakValueDictionary[int, _Operations] = WeakValueDictionary()

    def install(self, start: Callable[[], None]) -> None:
        self._start = start
        self._libraries = [torch.library.Library("c10d", "IMPL"), torch.library.Library("_c10d_functional", "IMPL")]
        collectives, functional = self._libraries
        for signature in signatures():
            collectives.impl(signature.op, self._kernel(signature), "BackendSelect", with_keyset=True)
        for op in unknown_operations():
            collectives.impl(op, self._unknown_kernel(op), "BackendSelect", with_keyset=True)
        for op in waiting_operations():
            functional.impl(op, self._wait_tensor_kernel(op), "BackendSelect", with_keyset=True)
        for op in sending_operations():
            functional.impl(op, self._send_kernel(op), "BackendSelect", with_keyset=True)
        self._wrap_wait()

    def open(self, path: Path) -> Stream:
        stream = MappedStream(path)
        self._write = stream.write
        self._groups = GroupWriter(stream)
        return stream

    def select(self, recording: bool) -> None:
        self._recording = recording

    def forget_groups(self) -> None:
        pass  # they are known by their objects

    def begin_batch(self) -> None:
        self._held.batch, self._held.batch_last = next(self._batch_ids), None

    def end_batch(self, works: Sequence[dist.Work]) -> None:
        last, self._held.batch = self._held.batch_last, None
        if works and last is not None:
            self._works[ref(works[-1], self._works.pop)] = last, None

    def begin_section(self) -> None:
        self._held.section = _Operations()

    def end_section(self, returned: bool) -> None:
        section, self._held.section = self._held.section, None
        if returned and section.ids:
            self._write_together("internal", section, section.last)

    def operation_of(self, work: dist.Work) -> int | None:
        issued = self._works.get(ref(work))
        return None if issued is None else issued[0]

    def write_wait(self, operation: int, begin: int) -> None:
        self._write(f"w {operation} {begin} {_clock() - begin} {self._thread()}\n")

    def _issuer(self, signature: Signature) -> Callable[[tuple[Any, ...], bool], int | None]:
        """What writes calls of an operator down."""
        describe, outputs, find_line = describer(signature), tensor_reader(signature.output), self._find_line
        group_index, numbered = signature.group, signature.numbered
        ids, shapes, held, unbox_group = self._ids, self._shapes, self._held, dist.ProcessGroup.unbox

        def issue(arguments: tuple[Any, ...], is_async: bool) -> int | None:
            """Writes the call down and returns its number; None when it is not one of those to record."""
            if not self._started:
                self._start_once()
            groups = self._groups
            if groups is None:
                return None
            try:
                group = groups.find(unbox_group(arguments[group_index]))
                sequence = next(group.sequence) if numbered else 0
                if not self._recording:
                    if is_async and signature.addressed and self._written:
                        self._forget_addresses(outputs(arguments))
                    return None
                text = describe(arguments, group, is_async)
                if find_line is not None and (line := find_line()):
                    text += f',"at":"{line}"'
                shape = shapes.get(text)
                if shape is None:
                    shape = self._add_shape(text)
                identifier = next(ids)
                if is_async and signature.addressed:
                    self._note_addresses(outputs(arguments), identifier)
                self._write(f"c {identifier} {shape} {sequence} {_clock()} {self._thread()}\n")
                held.last = identifier
                if not numbered and getattr(held, "batch", None) is not None:
                    held.batch_last = identifier
                    self._write(f"b {identifier} {held.batch}\n")
                return identifier
            except Exception as error:  # must not stop the job: it becomes a line in the stream
                self._write(record("error", op=signature.op, message=repr(error)))
                return None

        return issue

    def _kernel(self, signature: Signature) -> Kernel:
        below, issue = hand_on(f"c10d::{signature.op}"), self._issuer(signature)
        is_async_call, outputs = is_async_reader(signature), tensor_reader(signature.output)
        group_index, numbered = signature.group, signature.numbered
        works, held = self._works, self._held
        forget = works.pop
        unbox_group, unbox_work = dist.ProcessGroup.unbox, dist.Work.unbox

        def senders(arguments: tuple[Any, ...]) -> list[int]:
            assert self._groups is not None  # the call was recorded
            return self._groups.find(unbox_group(arguments[group_index])).ranks

        def kernel(keyset: torch._C.DispatchKeySet, *arguments: Any) -> Any:
            is_async = is_async_call(arguments)
            identifier = issue(arguments, is_async)
            begin = _clock()
            try:
                result = below(keyset, *arguments)
            except Exception as error:
                if identifier is not None and signature.returns_work:  # monitored_barrier does not refuse, it fails
                    self._write(f"x {identifier}\n")
                    self._write(record("error", op=signature.op, message=f"raised: {_first_line(error)}"))
                raise
            if identifier is None:
                return result
            work = unbox_work(result[-1] if type(result) is tuple else result) if signature.returns_work else None
            if work is None:  # a synchronous call, which some backends (NCCL) end without a Work
                self.write_wait(identifier, begin)
                return result
            held.work = work
            if (section := getattr(held, "section", None)) is not None:
                section.add(identifier)
            works[ref(work, forget)] = identifier, senders(arguments) if signature.any_source else None
            if not numbered:
                return result
            if self._watch is not None and on_device(outputs(arguments)):
                self._watch(identifier, work)
            elif is_async:  # the end of a synchronous one is the end of its wait
                self._await_done(identifier, work)
            if is_async:
                self._watch_backward(identifier)
            return result

        return kernel

    def _unknown_kernel(self, op: str) -> Kernel:
        below = hand_on(f"c10d::{op}")
        unsaid = [record("error", op=op, message=UNKNOWN)]

        def kernel(keyset: torch._C.DispatchKeySet, *arguments: Any) -> Any:
            if not self._started:
                self._start_once()
            if unsaid and self._recording:
                self._write(unsaid.pop())
            return below(keyset, *arguments)

        return kernel

    def _start_once(self) -> None:
        self._start()
        self._started = True

    def _add_shape(self, text: str) -> int:
        if len(self._shapes) >= LIMIT:
            self._shapes.clear()
        number = next(self._shape_ids)
        self._write(f'{{"k":"shape","id":{number},{text}}}\n')
        self._shapes[text] = number
        return number

    def _thread(self) -> int:
        thread = threading.get_ident()
        number = self._threads.get(thread)
        if number is None:
            number = self._threads[thread] = next(self._thread_ids)
        return number

    def _note_addresses(self, tensors: Any, identifier: int) -> None:
        if len(self._written) >= LIMIT:
            self._written.clear()
        for tensor in tensors:
            self._written[_address(tensor)] = identifier

    def _forget_addresses(self, tensors: Any) -> None:
        """What is waited for there next is not the recorded operation that wrote there before."""
        for tensor in tensors:
            self._written.pop(_address(tensor), None)

    def _await_done(self, identifier: int, work: dist.Work) -> None:
        try:
            future = _get_future(work)
        except RuntimeError:  # gloo's coalesced reduce_scatter has none: its end is the end of its wait
            return

        def done(future: torch.futures.Future[Any]) -> None:
            end = _clock()
            with suppress(RuntimeError):  # what failed did not end
                future.value()
                self._write(f"d {identifier} {end}\n")

        future.add_done_callback(done)

    def _write_together(self, kind: str, operations: _Operations, begin: int) -> None:
        self._write(record(kind, ids=operations.ids, t0=begin, t1=_clock(), thread=self._thread()))

    def _write_sourced_wait(self, identifier: int, begin: int, work: dist.Work, ranks: list[int]) -> None:
        """Of a receive from any source, in the group of these world ranks."""
        duration = _clock() - begin
        try:
            source = ranks[work._source_rank()]
        except Exception as error:  # must not stop the job: it becomes a line in the stream
            self._write(record("error", op="wait", message=repr(error)))
        else:
            self._write(f"a {identifier} {begin} {duration} {self._thread()} {source}\n")

    def _wrap_wait(self) -> None:
        """`Work.wait`: where Python code, torch.distributed's own included, waits."""
        wait = dist.Work.wait
        works, held = self._works, self._held

        def wait_and_record(work: dist.Work, *arguments: Any, **options: Any) -> Any:
            begin = _clock()
            result = wait(work, *arguments, **options)
            issued = works.pop(ref(work), None)
            if issued is not None:
                identifier, ranks = issued
                if ranks is None:
                    self.write_wait(identifier, begin)
                else:
                    self._write_sourced_wait(identifier, begin, work, ranks)
                held.work = None
            return result

        dist.Work.wait = wait_and_record

    def _wait_tensor_kernel(self, op: str) -> Kernel:
        """`wait_tensor` and `wait_tensors`: where functional collectives are waited for, in C++, known by the tensors
        they wrote."""
        below = hand_on(f"_c10d_functional::{op}")

        def kernel(keyset: torch._C.DispatchKeySet, waited: Any) -> Any:
            begin = _clock()
            result = below(keyset, waited)
            with suppress(RuntimeError):  # tensors without data, while torch.compile traces
                for tensor in (waited,) if isinstance(waited, torch.Tensor) else waited:
                    identifier = self._written.pop(_address(tensor), None)
                    if identifier is not None:
                        self.write_wait(identifier, begin)
            return result

        return kernel

    def _send_kernel(self, op: str) -> Kernel:
        """A functional send: the empty tensor that it returns is what `wait_tensor` is told."""
        below = hand_on(f"_c10d_functional::{op}")
        held = self._held

        def kernel(keyset: torch._C.DispatchKeySet, *arguments: Any) -> Any:
            held.last = None
            result = below(keyset, *arguments)
            if held.last is not None:
                with suppress(RuntimeError):  # a tensor without storage, while torch.compile traces
                    self._note_addresses([result], held.last)
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
        operations = self._passes.get(task)
        if operations is not None:
            operations.add(identifier)
            return
        operations = self._passes[task] = _Operations()
        operations.add(identifier)
        queue = torch.autograd.Variable._execution_engine.queue_callback

        def before() -> None:
            begin = _clock()
            queue(lambda: self._write_together("backward", operations, begin))

        queue(before)
