"""The hook made of Python kernels, which the dispatcher hands every call's arguments as Python objects."""

import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist

from hocket.plugin.torch import interfaces
from hocket.plugin.torch.captures import Captured
from hocket.plugin.torch.hook import UNKNOWN
from hocket.plugin.torch.python.calls import CallWriter
from hocket.plugin.torch.python.cost import python_kernel_ns
from hocket.plugin.torch.python.describe import Arguments, is_async_reader, on_device, tensor_reader
from hocket.plugin.torch.python.device_times import DeviceTimes
from hocket.plugin.torch.python.output import HookOutput, WrittenAddresses
from hocket.plugin.torch.python.waits import Begun, WaitWriter
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

__all__ = ["PythonHook"]

_clock = time.perf_counter_ns


class PythonHook:
    """Hook in Python: works with any PyTorch from 2.4 on, at the price of turning all arguments into Python objects.

    `find_line` tells the script's line that issues a call, where that is wanted; `times` whether devices tell theirs,
    with `exact_ends` those of asynchronous calls too.
    """

    def __init__(
        self, find_line: Callable[[], str] | None = None, times: bool = True, exact_ends: bool = False
    ) -> None:
        self._times = DeviceTimes() if times else None
        self._output, self._written = HookOutput(), WrittenAddresses()
        self._calls = CallWriter(self._output, self._written, find_line)
        self._waits = WaitWriter(self._output, self._written, self._calls, self._times, exact_ends)
        self._started = False
        self._replayed = threading.local()
        self._num_calls = self._spent_ns = 0  # of the job's time, by our kernels

    def install(self, start: Callable[[], None]) -> None:
        self._start = start
        self._libraries = [torch.library.Library("c10d", "IMPL"), torch.library.Library("_c10d_functional", "IMPL")]
        collectives, functional = self._libraries
        for signature in signatures():
            collectives.impl(signature.op, self._kernel(signature), "BackendSelect", with_keyset=True)
        for op in unknown_operations():
            collectives.impl(op, self._unknown_kernel(op), "BackendSelect", with_keyset=True)
        for op in waiting_operations():
            functional.impl(op, self._waits.wait_tensor_kernel(op), "BackendSelect", with_keyset=True)
        for op in sending_operations():
            functional.impl(op, self._send_kernel(op), "BackendSelect", with_keyset=True)
        self._waits.wrap_wait()

    def open(self, path: Path, in_segments: bool, max_bytes: int) -> Stream:
        stream = SegmentedStream(path, max_bytes) if in_segments else MappedStream(path)
        self._waits.clear()
        self._output.open(stream)
        self._calls.open(stream)
        if self._times is not None:
            self._times.open(stream)
        return stream

    def close_devices(self) -> None:
        if self._times is not None:
            self._times.close()

    def begin_capture(self, stream: int) -> int:
        if self._times is not None:
            self._times.capture(True)
        return self._calls.captures.begin(self.thread(), stream)

    def end_capture(self, number: int) -> Captured:
        captures = self._calls.captures
        captured = captures.end(number)
        if self._times is not None:
            self._times.capture(bool(captures))
        return captured

    def advance(self, group: int, count: int) -> int:
        return self._calls.groups.advance(group, count)

    def thread(self) -> int:
        return self._output.thread()

    def begin_replay(self, device: torch.device) -> None:
        self._replayed.begin = device, None if self._times is None else self._times.mark(device)

    def end_replay(self, number: int) -> None:
        device, begin = self._replayed.begin
        if self._times is not None and begin is not None and number >= 0:
            self._times.tell("g", (number,), device, begin, self._times.mark(device))

    def abandon(self) -> None:
        self._calls.abandon()
        if self._output.stream is not None:
            self._output.stream.abandon()

    def select(self, recording: bool) -> None:
        self._calls.recording = recording

    def forget_groups(self) -> None:
        self._started = False  # the groups themselves are known by their objects

    def begin_batch(self) -> None:
        self._calls.begin_batch()

    def end_batch(self, works: Sequence[dist.Work]) -> None:
        last = self._calls.end_batch()
        if works and last is not None:
            self._waits.stand_for(works[-1], last)

    def begin_section(self) -> None:
        self._waits.begin_section()

    def end_section(self, returned: bool) -> None:
        self._waits.end_section(returned)

    def write_cost(self) -> None:
        spent = self._spent_ns + self._num_calls * python_kernel_ns()
        self._output.write(record("cost", calls=self._num_calls, ns=spent))

    def operation_of(self, work: dist.Work) -> int | None:
        return self._waits.operation_of(work)

    def write_wait(self, operation: int, begin: int) -> None:
        self._waits.write_wait(operation, begin)

    def _kernel(self, signature: Signature) -> Kernel:
        below, issue, follow = (
            hand_on(f"c10d::{signature.op}"),
            self._calls.issuer(signature),
            self._waits.follower(signature),
        )
        is_async_call, times, output = is_async_reader(signature), self._times, self._output
        inputs, outputs = tensor_reader(signature.input), tensor_reader(signature.output)

        def device_of(arguments: Arguments) -> torch.device | None:
            tensors = outputs(arguments) or inputs(arguments)
            return tensors[0].device if on_device(tensors) else None

        def kernel(keyset: interfaces.DispatchKeySet, *arguments: Any) -> Any:
            entered = _clock()
            if not self._started:
                self._start_once()
            is_async = is_async_call(arguments)
            identifier = issue(arguments, is_async)
            device = None if identifier is None or times is None else device_of(arguments)
            ready = None if device is None or times is None else times.mark(device)
            begin = _clock()
            try:
                result = below(keyset, *arguments)
            except Exception as error:
                if identifier is not None and signature.returns_work:  # monitored_barrier does not refuse, it fails
                    output.write(f"x {identifier}\n")
                    output.write(record("error", op=signature.op, message=f"raised: {_first_line(error)}"))
                raise
            returned = _clock()
            if identifier is not None:
                follow(Begun(identifier, begin, ready, device, is_async), arguments, result)
            self._num_calls += 1
            self._spent_ns += begin - entered + _clock() - returned
            return result

        return kernel

    def _unknown_kernel(self, op: str) -> Kernel:
        below = hand_on(f"c10d::{op}")
        unsaid = [record("error", op=op, message=UNKNOWN)]

        def kernel(keyset: interfaces.DispatchKeySet, *arguments: Any) -> Any:
            if not self._started:
                self._start_once()
            if unsaid and self._calls.recording:
                assert self._output.stream is not None  # recording began with it
                self._output.stream.keep(unsaid.pop())
            return below(keyset, *arguments)

        return kernel

    def _send_kernel(self, op: str) -> Kernel:
        """A functional send: the empty tensor that it returns is what `wait_tensor` is told."""
        below, calls, written = hand_on(f"_c10d_functional::{op}"), self._calls, self._written

        def kernel(keyset: interfaces.DispatchKeySet, *arguments: Any) -> Any:
            calls.forget_last()
            result = below(keyset, *arguments)
            if (last := calls.last()) is not None:
                with suppress(RuntimeError):  # a tensor without storage, while torch.compile traces
                    written.note([result], last)
            return result

        return kernel

    def _start_once(self) -> None:
        self._start()
        self._started = True


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]
