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
from typing import Any, NamedTuple, Protocol
from weakref import WeakValueDictionary, ref

import torch
import torch.distributed as dist

from hocket.plugin.torch import interfaces
from hocket.plugin.torch.captures import Captured, Captures
from hocket.plugin.torch.describe import describer, is_async_reader, on_device, stream_of, tensor_reader
from hocket.plugin.torch.device_times import DeviceTimes
from hocket.plugin.torch.groups import CollectedGroup, GroupWriter
from hocket.plugin.torch.hook_cost import python_kernel_ns
from hocket.plugin.torch.redispatch import Kernel, hand_on
from hocket.plugin.torch.signature import (
    Signature,
    sending_operations,
    signatures,
    unknown_operations,
    waiting_operations,
)
from hocket.recording.segments import SegmentedStream
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
    address: int = tensor.data_ptr() or interfaces.storage_address(tensor)
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
        """Hooks all operations, for good. `start` is called at the first, and at the first after `forget_groups`, by
        every thread that issues one before it has returned, and calls `open`: a process that issues none leaves no
        file. If it does not, nothing is ever recorded."""

    def open(self, path: Path, in_segments: bool, max_bytes: int) -> Stream:
        """The stream everything is written to from now on, as if nothing had been before: one file or in segments, of
        which the last `max_bytes` are kept where that is not 0. Raises OSError when it cannot be opened."""

    def abandon(self) -> None:
        """In a forked child, whose parent goes on recording: nothing is recorded from now on, no lock is waited for."""

    def select(self, recording: bool) -> None:
        """Whether what is issued from now on is to be recorded; not at first."""

    def close_devices(self) -> None:
        """Devices tell what they still have to tell, before the stream is closed."""

    def begin_capture(self, stream: int) -> int:
        """This thread captures a graph on a stream of a device from now on; the capture's number. What is captured is
        no call; and devices cannot be asked meanwhile."""

    def end_capture(self, number: int) -> Captured:
        """It has ended: what was captured."""

    def advance(self, group: int, count: int) -> int:
        """Takes the numbers of `count` collectives of a group, which nobody calls; returns the first of them."""

    def thread(self) -> int:
        """The calling thread's number in the stream."""

    def begin_replay(self, device: torch.device) -> None:
        """This thread is about to replay a graph on the current stream of a device."""

    def end_replay(self, number: int) -> None:
        """It has done so: number -1 for a replay that is not recorded."""

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

    def write_cost(self) -> None:
        """Writes what the hook has taken of the job's time, where that is worth knowing."""

    def operation_of(self, work: dist.Work) -> int | None:
        """The recorded operation of a Work, None where there is none or its `wait` has returned."""

    def write_wait(self, operation: int, begin: int) -> None:
        """This thread has waited for it from `begin` (`time.perf_counter_ns`) until now."""


class _Begun(NamedTuple):
    """A call that is issued: its number, when, the event that stood ready on its device, and whether it is async."""

    identifier: int
    begin: int
    ready: Any
    device: torch.device | None
    is_async: bool


class PythonHook:
    """Hook in Python: works with any PyTorch from 2.4 on, at the price of turning all arguments into Python objects.

    `find_line` tells the script's line that issues a call, where that is wanted; `times` whether devices tell theirs,
    with `exact_ends` those of asynchronous calls too.
    """

    def __init__(
        self, find_line: Callable[[], str] | None = None, times: bool = True, exact_ends: bool = False
    ) -> None:
        self._find_line = find_line
        self._times = DeviceTimes() if times else None
        self._exact_ends = exact_ends
        self._captures = Captures()
        self._recording = False
        self._started = False
        self._groups: GroupWriter | None = None
        self._stream: MappedStream | None = None
        self._write: Callable[[str], None] = lambda line: None
        self._described = 0  # the stream's generation that has the descriptions of _shapes
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
        self._devices: dict[int, torch.device] = {}  # of operations that are not waited for yet
        self._written: dict[int, int] = {}  # which operation writes at an address
        # What the autograd passes under way have issued; the engine's callbacks own it: those of a pass that raises are
        # never called, but go with it.
        self._passes: WeakValueDictionary[int, _Operations] = WeakValueDictionary()
        self._calls = self._spent_ns = 0  # of the job's time, by our kernels

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

    def open(self, path: Path, in_segments: bool, max_bytes: int) -> Stream:
        stream = self._stream = SegmentedStream(path, max_bytes) if in_segments else MappedStream(path)
        for known in (self._shapes, self._works, self._written):
            known.clear()
        self._write = stream.write
        self._groups = GroupWriter(stream)
        if self._times is not None:
            self._times.open(stream)
        return stream

    def close_devices(self) -> None:
        if self._times is not None:
            self._times.close()

    def begin_capture(self, stream: int) -> int:
        if self._times is not None:
            self._times.capture(True)
        return self._captures.begin(self._thread(), stream)

    def end_capture(self, number: int) -> Captured:
        captured = self._captures.end(number)
        if self._times is not None:
            self._times.capture(bool(self._captures))
        return captured

    def advance(self, group: int, count: int) -> int:
        assert self._groups is not None  # something was captured
        return self._groups.advance(group, count)

    def thread(self) -> int:
        return self._thread()

    def begin_replay(self, device: torch.device) -> None:
        self._held.replay = device, None if self._times is None else self._times.mark(device)

    def end_replay(self, number: int) -> None:
        device, begin = self._held.replay
        if self._times is not None and begin is not None and number >= 0:
            self._times.tell("g", (number,), device, begin, self._times.mark(device))

    def abandon(self) -> None:
        self._groups = None  # no call is recorded without
        self._captures = Captures()
        if self._stream is not None:
            self._stream.abandon()

    def select(self, recording: bool) -> None:
        self._recording = recording

    def forget_groups(self) -> None:
        self._started = False  # the groups themselves are known by their objects

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

    def write_cost(self) -> None:
        spent = self._spent_ns + self._calls * python_kernel_ns()
        self._write(record("cost", calls=self._calls, ns=spent))

    def operation_of(self, work: dist.Work) -> int | None:
        issued = self._works.get(ref(work))
        return None if issued is None else issued[0]

    def write_wait(self, operation: int, begin: int) -> None:
        self._write(f"w {operation} {begin} {_clock() - begin} {self._thread()}\n")

    def _issuer(self, signature: Signature) -> Callable[[tuple[Any, ...], bool], int | None]:
        """What writes calls of an operator down."""
        describe, outputs, find_line = describer(signature), tensor_reader(signature.output), self._find_line
        group_index, numbered = signature.group, signature.numbered
        ids, shapes, held, unbox_group = self._ids, self._shapes, self._held, interfaces.UNBOX_GROUP.need()
        is_captured = self._capturer(signature)

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
                capturing = bool(self._captures)
                text = ""
                if self._recording or capturing:
                    text = describe(arguments, group, is_async)
                    if find_line is not None and (line := find_line()):
                        text += f',"at":"{line}"'
                if (capturing and is_captured(arguments, text, group)) or not self._recording:
                    if is_async and signature.addressed and self._written:
                        self._forget_addresses(outputs(arguments))
                    return None
                stream = self._stream
                assert stream is not None  # there are groups
                with stream.lock:  # a segment has its shapes
                    stream.make_room()
                    if self._described != stream.generation:
                        self._described = stream.generation
                        shapes.clear()
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

    def _capturer(self, signature: Signature) -> Callable[[tuple[Any, ...], str, CollectedGroup], bool]:
        """Whether a call of an operator, whose shape and group are given, is captured in a graph."""
        inputs, outputs = tensor_reader(signature.input), tensor_reader(signature.output)

        def is_captured(arguments: tuple[Any, ...], shape: str, group: CollectedGroup) -> bool:
            stream = stream_of(outputs(arguments) or inputs(arguments))
            if stream is None:
                return False
            batch = None if signature.numbered else getattr(self._held, "batch", None)
            counted = group.id if signature.numbered else None
            return self._captures.take(self._thread(), stream, shape, -1 if batch is None else batch, counted)

        return is_captured

    def _kernel(self, signature: Signature) -> Kernel:
        below, issue = hand_on(f"c10d::{signature.op}"), self._issuer(signature)
        is_async_call, times, follow = is_async_reader(signature), self._times, self._follower(signature)
        inputs, outputs = tensor_reader(signature.input), tensor_reader(signature.output)

        def device_of(arguments: tuple[Any, ...]) -> torch.device | None:
            tensors = outputs(arguments) or inputs(arguments)
            return tensors[0].device if on_device(tensors) else None

        def kernel(keyset: interfaces.DispatchKeySet, *arguments: Any) -> Any:
            entered = _clock()
            is_async = is_async_call(arguments)
            identifier = issue(arguments, is_async)
            device = None if identifier is None or times is None else device_of(arguments)
            ready = None if device is None or times is None else times.mark(device)
            begin = _clock()
            try:
                result = below(keyset, *arguments)
            except Exception as error:
                if identifier is not None and signature.returns_work:  # monitored_barrier does not refuse, it fails
                    self._write(f"x {identifier}\n")
                    self._write(record("error", op=signature.op, message=f"raised: {_first_line(error)}"))
                raise
            returned = _clock()
            if identifier is not None:
                follow(_Begun(identifier, begin, ready, device, is_async), arguments, result)
            self._calls += 1
            self._spent_ns += begin - entered + _clock() - returned
            return result

        return kernel

    def _follower(self, signature: Signature) -> Callable[["_Begun", tuple[Any, ...], Any], None]:
        """What sees to the completion and the wait of calls of an operation that are recorded, once they returned."""
        group_index, numbered = signature.group, signature.numbered
        works, held, times = self._works, self._held, self._times
        forget = works.pop
        unbox_group, unbox_work = interfaces.UNBOX_GROUP.need(), interfaces.UNBOX_WORK.need()

        def senders(arguments: tuple[Any, ...]) -> list[int]:
            assert self._groups is not None  # the call was recorded
            return self._groups.find(unbox_group(arguments[group_index])).ranks

        def follow(begun: _Begun, arguments: tuple[Any, ...], result: Any) -> None:
            identifier, begin, ready, device, is_async = begun
            work = unbox_work(result[-1] if type(result) is tuple else result) if signature.returns_work else None
            if work is None and not numbered and getattr(held, "batch", None) is not None:  # the batch has the Work
                if times is not None and device is not None:
                    self._remember_device(identifier, device)
                    times.tell("r", (identifier,), device, ready)
                return
            if work is None:  # a synchronous call, which some backends (NCCL) end without a Work
                self.write_wait(identifier, begin)
                if times is not None and device is not None:
                    times.tell("e", (identifier,), device, ready, times.mark(device))
                return
            held.work = work
            if (section := getattr(held, "section", None)) is not None:
                section.add(identifier)
            works[ref(work, forget)] = identifier, senders(arguments) if signature.any_source else None
            if device is not None:
                self._remember_device(identifier, device)
            if times is not None and device is not None:
                end = self._exact_end(arguments[group_index], work, device) if is_async and self._exact_ends else None
                times.tell("r" if end is None else "e", (identifier,), device, ready, end)
            if numbered and is_async:  # the end of a synchronous one is the end of its wait
                self._await_done(identifier, work)
                self._watch_backward(identifier)

        return follow

    def _remember_device(self, identifier: int, device: torch.device) -> None:
        if len(self._devices) >= LIMIT:
            self._devices.clear()
        self._devices[identifier] = device

    def _exact_end(self, boxed: Any, work: dist.Work, device: torch.device) -> Any:
        """An event at the end of an asynchronous call, by a stream of ours that waits for its future."""
        assert self._times is not None and self._groups is not None  # the call was recorded
        try:
            future = _get_future(work)
            if not future.done():
                return None
            side = self._times.side_stream(self._groups.find(interfaces.UNBOX_GROUP.need()(boxed)).id, device)
            with side:
                future.wait()
                return self._times.mark(device)
        except RuntimeError:  # messages of a batch have none
            return None

    def _arrival(self, identifier: int | None) -> Any:
        """An event where the current stream is before it waits for an operation on a device."""
        device = self._devices.get(-1 if identifier is None else identifier)
        return None if device is None or self._times is None else self._times.mark(device)

    def _tell_waited(self, identifiers: Sequence[int], arrived: Any) -> None:
        """What they were issued on is where the stream has waited."""
        device = self._devices.get(identifiers[-1]) if identifiers else None
        if arrived is not None and device is not None and self._times is not None:
            self._times.tell("v", identifiers, device, arrived, self._times.mark(device))
        for identifier in identifiers:
            self._devices.pop(identifier, None)

    def _unknown_kernel(self, op: str) -> Kernel:
        below = hand_on(f"c10d::{op}")
        unsaid = [record("error", op=op, message=UNKNOWN)]

        def kernel(keyset: interfaces.DispatchKeySet, *arguments: Any) -> Any:
            if not self._started:
                self._start_once()
            if unsaid and self._recording:
                assert self._stream is not None
                self._stream.keep(unsaid.pop())
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

        write = self._write  # of the stream in which it was issued

        def done(future: torch.futures.Future[Any]) -> None:
            end = _clock()
            with suppress(RuntimeError):  # what failed did not end
                future.value()
                write(f"d {identifier} {end}\n")

        if future.done():  # on a device: a callback would have a stream wait, and join it to the capture of a graph
            done(future)
        else:
            future.add_done_callback(done)

    def _write_together(self, kind: str, operations: _Operations, begin: int) -> None:
        self._write(record(kind, ids=operations.ids, t0=begin, t1=_clock(), thread=self._thread()))

    def _write_sourced_wait(self, identifier: int, begin: int, work: dist.Work, ranks: list[int]) -> None:
        """Of a receive from any source, in the group of these world ranks."""
        duration = _clock() - begin
        try:
            source = ranks[interfaces.source_rank(work)]
        except Exception as error:  # must not stop the job: it becomes a line in the stream
            self._write(record("error", op="wait", message=repr(error)))
        else:
            self._write(f"a {identifier} {begin} {duration} {self._thread()} {source}\n")

    def _wrap_wait(self) -> None:
        """`Work.wait`: where Python code, torch.distributed's own included, waits."""
        wait = dist.Work.wait
        works, held = self._works, self._held

        def wait_and_record(work: dist.Work, *arguments: Any, **options: Any) -> Any:
            arrived = self._arrival(works.get(ref(work), (None,))[0])
            begin = _clock()
            result = wait(work, *arguments, **options)
            issued = works.pop(ref(work), None)
            if issued is not None:
                identifier, ranks = issued
                self._tell_waited((identifier,), arrived)
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

        def kernel(keyset: interfaces.DispatchKeySet, waited: Any) -> Any:
            tensors = (waited,) if isinstance(waited, torch.Tensor) else waited
            arrived = None
            with suppress(RuntimeError):  # tensors without data, while torch.compile traces
                arrived = self._arrival(self._written.get(_address(tensors[-1]))) if self._devices else None
            begin = _clock()
            result = below(keyset, waited)
            identifiers = []
            with suppress(RuntimeError):
                for tensor in tensors:
                    identifier = self._written.pop(_address(tensor), None)
                    if identifier is not None:
                        self.write_wait(identifier, begin)
                        identifiers.append(identifier)
            self._tell_waited(identifiers, arrived)
            return result

        return kernel

    def _send_kernel(self, op: str) -> Kernel:
        """A functional send: the empty tensor that it returns is what `wait_tensor` is told."""
        below = hand_on(f"_c10d_functional::{op}")
        held = self._held

        def kernel(keyset: interfaces.DispatchKeySet, *arguments: Any) -> Any:
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
        task = interfaces.current_pass()
        if task == -1:
            return
        operations = self._passes.get(task)
        if operations is not None:
            operations.add(identifier)
            return
        operations = self._passes[task] = _Operations()
        operations.add(identifier)
        queue = interfaces.AT_END_OF_PASS.need()

        def before() -> None:
            arrived = self._arrival(operations.ids[-1])
            begin = _clock()

            def after() -> None:
                self._write_together("backward", operations, begin)
                self._tell_waited(operations.ids, arrived)

            queue(after)

        queue(before)
