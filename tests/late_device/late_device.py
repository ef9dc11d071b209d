"""A device without hardware that keeps a GPU's order: streams, events, graphs, memory, and a backend for them.

`load` makes the device type `late` (PyTorch's PrivateUse1), its module `torch.late`, with what of `torch.cuda` is
used, and the backend of the same name. Work is enqueued on streams, which are threads, and done by PyTorch's kernels
for CPUs; whatever waits, waits as on a GPU: the host only where it asks for values or synchronizes. Memory that is
freed is filled with NaN in the order of its stream. The backend hands collectives to gloo on a stream of its own;
`hold` keeps that from beginning, so that a test, not a time, decides how late they are.
"""

from __future__ import annotations

import atexit
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
import torch.distributed as dist

from hocket.plugin.native_build import build
from hocket.plugin.torch.native.library import build_key, compiler_command, load_library

__all__ = ["descriptions", "hold", "load", "records", "release"]

_NAME = "late_device_native"
_FOLDER = Path(__file__).parent
_PRIVATE_USE_1 = 20  # its number among c10's device types


@cache
def _native() -> Any:
    sources = [_FOLDER / "module.cpp", *sorted(_FOLDER.glob("*.hpp"))]
    return load_library(build(sources, compiler_command(), build_key(), _NAME), _NAME)


@cache
def load() -> torch.device:
    """The device, ready for `init_process_group("late")`; compiled once, for a minute or so."""
    native = _native()
    torch.utils.rename_privateuse1_backend("late")
    torch._register_device_module("late", _device_module(native))
    torch.utils.generate_methods_for_privateuse1_backend()
    dist.Backend.register_backend("late", _make_group, devices=["late"])
    atexit.register(native.synchronize)
    return torch.device("late", 0)


def _make_group(store: dist.Store, rank: int, size: int, timeout: Any) -> Any:
    inner = dist.ProcessGroupGloo(dist.PrefixStore("late", store), rank, size, timeout=timeout)
    return _native().group(inner, rank, size)


def _backend(group: dist.ProcessGroup | None) -> Any:
    return (group or dist.group.WORLD)._get_backend(torch.device("late"))


def hold(group: dist.ProcessGroup | None = None) -> None:
    """What the group is given is not begun until `release`."""
    _native().hold(_backend(group))


def release(group: dist.ProcessGroup | None = None) -> None:
    _native().open(_backend(group))


def descriptions(group: dist.ProcessGroup | None = None) -> list[str]:
    """What the group's description was at each of its coalesced groups of messages."""
    return list(_native().descriptions(_backend(group)))


def records() -> int:
    """How often memory was recorded on another stream than its own (`Tensor.record_stream`)."""
    return int(_native().records())


class Stream(torch.Stream):
    """As torch.cuda.Stream."""

    def __new__(cls, device: Any = None, *, stream_id: int | None = None) -> Stream:
        number = _native().new_stream() if stream_id is None else stream_id
        return super().__new__(cls, stream_id=number, device_index=0, device_type=_PRIVATE_USE_1)

    def wait_stream(self, stream: torch.Stream) -> None:
        self.wait_event(Event.of(stream))

    def wait_event(self, event: Event) -> None:
        event.wait(self)

    def record_event(self, event: Event | None = None) -> Event:
        event = event or Event()
        event.record(self)
        return event

    def query(self) -> bool:
        return bool(_native().is_idle(self.stream_id))

    def synchronize(self) -> None:
        _native().synchronize_stream(self.stream_id)


class Event:
    """As torch.cuda.Event."""

    def __init__(self, enable_timing: bool = False) -> None:
        self._native = _native().Event()

    @classmethod
    def of(cls, stream: torch.Stream) -> Event:
        event = cls()
        event.record(stream)
        return event

    def record(self, stream: torch.Stream | None = None) -> None:
        self._native.record(_native().current_stream() if stream is None else stream.stream_id)

    def wait(self, stream: torch.Stream | None = None) -> None:
        self._native.block(_native().current_stream() if stream is None else stream.stream_id)

    def query(self) -> bool:
        return bool(self._native.query())

    def synchronize(self) -> None:
        self._native.synchronize()

    def elapsed_time(self, end: Event) -> float:
        """Milliseconds."""
        return float(self._native.elapsed_time(end._native))


class Graph:
    """As torch.cuda.CUDAGraph."""

    def capture_begin(self) -> None:
        self._native = _native().Graph.begin()

    def capture_end(self) -> None:
        self._native.end()

    def replay(self) -> None:
        self._native.replay()


@contextmanager
def _within(stream: torch.Stream | None) -> Iterator[None]:
    native = _native()
    before = native.current_stream()
    native.set_stream(before if stream is None else stream.stream_id)
    try:
        yield
    finally:
        native.set_stream(before)


@contextmanager
def _capturing(graph: Graph, stream: torch.Stream | None = None) -> Iterator[None]:
    """On a stream of its own, as torch.cuda.graph."""
    side = stream or Stream()
    side.wait_stream(Stream(stream_id=_native().current_stream()))
    with _within(side):
        graph.capture_begin()
        try:
            yield
        finally:
            graph.capture_end()


def _device_module(native: Any) -> ModuleType:
    module = ModuleType("torch.late")
    vars(module).update(
        Stream=Stream,
        Event=Event,
        Graph=Graph,
        CUDAGraph=Graph,
        graph=_capturing,
        stream=_within,
        current_stream=lambda device=None: Stream(stream_id=native.current_stream()),
        default_stream=lambda device=None: Stream(stream_id=0),
        set_stream=lambda stream: native.set_stream(stream.stream_id),
        synchronize=lambda device=None: native.synchronize(),
        is_current_stream_capturing=native.is_capturing,
        is_available=lambda: True,
        is_initialized=lambda: True,
        device_count=lambda: 1,
        current_device=lambda: 0,
        set_device=lambda device: None,
        manual_seed_all=lambda seed: None,
        _is_in_bad_fork=lambda: False,
    )
    sys.modules["torch.late"] = module
    return module
