"""Writes down when operations complete and when they are waited for, on the host and on devices."""

import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, NamedTuple
from weakref import WeakValueDictionary, ref

import torch
import torch.distributed as dist

from hocket.plugin.torch import interfaces
from hocket.plugin.torch.hook import LIMIT
from hocket.plugin.torch.python.calls import CallWriter
from hocket.plugin.torch.python.describe import Arguments
from hocket.plugin.torch.python.device_times import DeviceTimes
from hocket.plugin.torch.python.output import HookOutput, WrittenAddresses
from hocket.plugin.torch.redispatch import Kernel, hand_on
from hocket.plugin.torch.signature import Signature
from hocket.recording.stream import record

__all__ = ["Begun", "WaitWriter"]

_clock = time.perf_counter_ns
_get_future = dist.Work.get_future  # as it was before anybody watched it


class Begun(NamedTuple):
    """A call that is issued: its number, when, the event that stood ready on its device, and whether it is async."""

    identifier: int
    begin: int
    ready: Any
    device: torch.device | None
    is_async: bool


class _Operations:
    """Numbers of operations that are waited for together, and when the last of them was issued."""

    def __init__(self) -> None:
        self.ids: list[int] = []
        self.last = 0

    def add(self, identifier: int) -> None:
        self.ids.append(identifier)
        self.last = _clock()


class WaitWriter:
    """Knows recorded operations by their Works, by what they write and by the autograd pass that issues them.

    `times` tells those of devices, with `exact_ends` the ends of asynchronous calls too.
    """

    def __init__(
        self,
        output: HookOutput,
        written: WrittenAddresses,
        calls: CallWriter,
        times: DeviceTimes | None,
        exact_ends: bool,
    ) -> None:
        self._output = output
        self._written = written
        self._calls = calls
        self._times = times
        self._exact_ends = exact_ends
        # Which operation a Work belongs to, and its group's ranks where only the Work knows the sender; a
        # WeakKeyDictionary would do, at twice the time. Python gives one C++ Work one object as long as that lives:
        # the last one of each thread is held until its issuer has it.
        self._works: dict[ref[dist.Work], tuple[int, list[int] | None]] = {}
        self._held = threading.local()
        self._devices: dict[int, torch.device] = {}  # of operations that are not waited for yet
        # What the autograd passes under way have issued; the engine's callbacks own it: those of a pass that raises are
        # never called, but go with it.
        self._passes: WeakValueDictionary[int, _Operations] = WeakValueDictionary()

    def clear(self) -> None:
        """What was issued before is not waited for in the stream that is open now."""
        self._works.clear()
        self._written.clear()

    def stand_for(self, work: dist.Work, operation: int) -> None:
        """An operation of a batch is waited for by this Work."""
        self._works[ref(work, self._works.pop)] = operation, None

    def begin_section(self) -> None:
        """What this thread issues until `end_section` it also waits for until then."""
        self._held.section = _Operations()

    def end_section(self, returned: bool) -> None:
        """Ends it; where it has not returned, but raised, nobody knows for what of it the thread has waited."""
        section, self._held.section = self._held.section, None
        if returned and section.ids:
            self._write_together("internal", section, section.last)

    def operation_of(self, work: dist.Work) -> int | None:
        """The recorded operation of a Work, None where there is none or its `wait` has returned."""
        issued = self._works.get(ref(work))
        return None if issued is None else issued[0]

    def write_wait(self, operation: int, begin: int) -> None:
        """This thread has waited for it from `begin` (`time.perf_counter_ns`) until now."""
        self._output.write(f"w {operation} {begin} {_clock() - begin} {self._output.thread()}\n")

    def follower(self, signature: Signature) -> Callable[[Begun, Arguments, Any], None]:
        """What sees to the completion and the wait of calls of an operation that are recorded, once they returned."""
        group_index, numbered = signature.group, signature.numbered
        works, held, times, calls = self._works, self._held, self._times, self._calls
        forget = works.pop
        unbox_group, unbox_work = interfaces.UNBOX_GROUP.need(), interfaces.UNBOX_WORK.need()

        def senders(arguments: Arguments) -> list[int]:
            return calls.groups.find(unbox_group(arguments[group_index])).ranks

        def follow(begun: Begun, arguments: Arguments, result: Any) -> None:
            identifier, begin, ready, device, is_async = begun
            work = unbox_work(result[-1] if type(result) is tuple else result) if signature.returns_work else None
            if work is None and not numbered and calls.batch() is not None:  # the batch has the Work
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

    def wrap_wait(self) -> None:
        """Hooks `Work.wait`: where Python code, torch.distributed's own included, waits."""
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

    def wait_tensor_kernel(self, op: str) -> Kernel:
        """`wait_tensor` and `wait_tensors`: where functional collectives are waited for, in C++, known by the tensors
        they wrote."""
        below, written = hand_on(f"_c10d_functional::{op}"), self._written

        def kernel(keyset: interfaces.DispatchKeySet, waited: Any) -> Any:
            tensors = (waited,) if isinstance(waited, torch.Tensor) else waited
            arrived = None
            with suppress(RuntimeError):  # tensors without data, while torch.compile traces
                arrived = self._arrival(written.find(tensors[-1])) if self._devices else None
            begin = _clock()
            result = below(keyset, waited)
            identifiers = []
            with suppress(RuntimeError):
                for tensor in tensors:
                    identifier = written.take(tensor)
                    if identifier is not None:
                        self.write_wait(identifier, begin)
                        identifiers.append(identifier)
            self._tell_waited(identifiers, arrived)
            return result

        return kernel

    def _remember_device(self, identifier: int, device: torch.device) -> None:
        if len(self._devices) >= LIMIT:
            self._devices.clear()
        self._devices[identifier] = device

    def _exact_end(self, boxed: Any, work: dist.Work, device: torch.device) -> Any:
        """An event at the end of an asynchronous call, by a stream of ours that waits for its future."""
        assert self._times is not None  # devices tell their times
        try:
            future = _get_future(work)
            if not future.done():
                return None
            side = self._times.side_stream(self._calls.groups.find(interfaces.UNBOX_GROUP.need()(boxed)).id, device)
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

    def _await_done(self, identifier: int, work: dist.Work) -> None:
        try:
            future = _get_future(work)
        except RuntimeError:  # gloo's coalesced reduce_scatter has none: its end is the end of its wait
            return

        write = self._output.write  # of the stream in which it was issued

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
        self._output.write(record(kind, ids=operations.ids, t0=begin, t1=_clock(), thread=self._output.thread()))

    def _write_sourced_wait(self, identifier: int, begin: int, work: dist.Work, ranks: list[int]) -> None:
        """Of a receive from any source, in the group of these world ranks."""
        duration = _clock() - begin
        try:
            source = ranks[interfaces.source_rank(work)]
        except Exception as error:  # must not stop the job: it becomes a line in the stream
            self._output.write(record("error", op="wait", message=repr(error)))
        else:
            self._output.write(f"a {identifier} {begin} {duration} {self._output.thread()} {source}\n")

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
