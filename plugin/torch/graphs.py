"""Graphs of devices (`torch.cuda.CUDAGraph`): calls are captured once and run at each replay, which calls none of
them."""

import itertools
import json
import threading
import time
from collections.abc import Callable
from functools import wraps
from typing import Any
from weakref import WeakKeyDictionary, finalize

import torch

from hocket.plugin.torch import interfaces
from hocket.plugin.torch.hook import Hook
from hocket.recording.stream import Stream, record

__all__ = ["GraphWatch"]

# The classes of PyTorch 2.4 to 2.15 that capture and replay; those that are missing are passed over. `make_graphed_
# callables`, `torch.cuda.graph` and the trees of `torch.compile(mode="reduce-overhead")` call their methods.
_CLASSES = (("cuda", "CUDAGraph"), ("xpu", "XPUGraph"), ("accelerator", "Graph"))

_clock = time.perf_counter_ns


class GraphWatch:
    """Tells the stream which calls were captured, and of each replay of a graph that has some.

    What was captured is written at the capture's end, in steps that are not recorded too, and once more in each later
    segment, as long as the graph lives: replays are made of it. At a replay their groups' numbers go on by as many, as
    they would had they been called: ranks stay in step.
    """

    def __init__(self, hook: Hook) -> None:
        self._hook = hook
        self._stream: Stream | None = None
        self._selected = False
        self._types: dict[Any, str] = {}
        self._held = threading.local()  # the stream that a thread replays on
        self._numbers, self._replays = itertools.count(), itertools.count()
        # Of a graph its number, its calls and its collectives by group.
        self._graphs: WeakKeyDictionary[Any, tuple[int, int, dict[int, int]]] = WeakKeyDictionary()
        self._begun: WeakKeyDictionary[Any, int] = WeakKeyDictionary()
        self._forgets: WeakKeyDictionary[Any, finalize[..., Any]] = WeakKeyDictionary()
        self._watch_known()
        self._await_devices()

    def _await_devices(self) -> None:
        """A plugin's device is known once it is registered, which may be behind the start of the collector."""
        register = interfaces.REGISTER_DEVICE.ask()
        if register is None:
            return

        @wraps(register)
        def register_and_watch(*arguments: Any, **options: Any) -> None:
            register(*arguments, **options)
            self._safely(self._watch_known)

        interfaces.REGISTER_DEVICE.put(register_and_watch)

    def _watch_known(self) -> None:
        for module, name in (*_CLASSES, (torch.device("privateuseone").type, "Graph")):
            kind = getattr(getattr(torch, module, None), name, None)
            if kind not in self._types and all(
                hasattr(kind, method) for method in ("capture_begin", "capture_end", "replay")
            ):
                device = torch.accelerator.current_accelerator() if module == "accelerator" else torch.device(module)
                if device is not None:
                    self.watch(kind, device.type)

    def watch(self, kind: Any, device_type: str) -> None:
        """Watches a class of graphs of a type of devices."""
        self._types[kind] = device_type
        begin, end, replay = kind.capture_begin, kind.capture_end, kind.replay

        @wraps(begin)
        def capture_begin(graph: Any, *arguments: Any, **options: Any) -> Any:
            self._safely(self._begin, graph)
            try:
                return begin(graph, *arguments, **options)
            except BaseException:
                self._safely(self._end, graph, False)
                raise

        @wraps(end)
        def capture_end(graph: Any, *arguments: Any, **options: Any) -> Any:
            captured = False
            try:
                result = end(graph, *arguments, **options)
                captured = True
            finally:
                self._safely(self._end, graph, captured)
            return result

        @wraps(replay)
        def replay_and_record(graph: Any, *arguments: Any, **options: Any) -> Any:
            begun = _clock()
            self._safely(self._replaying, graph)
            result = replay(graph, *arguments, **options)
            self._safely(self._replayed, graph, begun)
            return result

        kind.capture_begin, kind.capture_end, kind.replay = capture_begin, capture_end, replay_and_record

    def open(self, stream: Stream) -> None:
        """Where to tell of them. A device of a plugin may have got its name only now."""
        self._stream = stream
        self._watch_known()

    def select(self, recorded: bool) -> None:
        """Whether what is issued or replayed now is recorded."""
        self._selected = recorded
        self._hook.select(recorded)

    def _safely(self, step: Callable[..., None], *arguments: Any) -> None:
        """What goes wrong in here must not stop the job: it becomes a line in the stream."""
        try:
            step(*arguments)
        except Exception as error:
            if self._stream is not None:
                self._stream.write(record("error", op="graph", message=repr(error)))

    def _begin(self, graph: Any) -> None:
        self._begun[graph] = self._hook.begin_capture(self._device_of(graph)[1].current_stream().stream_id)

    def _end(self, graph: Any, is_whole: bool) -> None:
        begun = self._begun.pop(graph, None)
        if begun is None:
            return
        captured = self._hook.end_capture(begun)
        if self._graphs.pop(graph, None) is not None:  # one that is captured anew
            self._forgets.pop(graph)()
        if not is_whole or not captured.calls or self._stream is None:
            return
        number = next(self._numbers)
        shapes = [json.loads(f'{{"k":"shape","id":{n},{text}}}') for n, text in enumerate(captured.shapes)]
        line = record("graph", id=number, shapes=shapes, calls=captured.calls)
        self._stream.keep(line)
        self._graphs[graph] = number, len(captured.calls), captured.counts
        self._forgets[graph] = forget = finalize(graph, self._stream.forget, line)
        forget.atexit = False

    def _device_of(self, graph: Any) -> tuple[str, Any]:
        """The type of the devices of a graph, and PyTorch's module of it."""
        name = self._types[next(kind for kind in type(graph).__mro__ if kind in self._types)]
        return name, getattr(torch, name)

    def _replaying(self, graph: Any) -> None:
        if self._selected and graph in self._graphs:
            name, module = self._device_of(graph)
            self._held.stream = module.current_stream().stream_id
            self._hook.begin_replay(torch.device(name, module.current_device()))

    def _replayed(self, graph: Any, begin: int) -> None:
        known = self._graphs.get(graph)
        if known is None or self._stream is None:
            return
        number, calls, counts = known
        bases = [(group, self._hook.advance(group, count), count) for group, count in counts.items()]
        if self._selected:
            replay = next(self._replays)
            self._hook.end_replay(replay)
            told = {
                "n": replay,
                "graph": number,
                "t0": begin,
                "t1": _clock(),
                "thread": self._hook.thread(),
                "stream": self._held.stream,
                "calls": calls,
                "bases": bases,
            }
            self._stream.write(record("replay", **told))
