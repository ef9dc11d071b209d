"""The Python half of the compiled hook."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist

from hocket.plugin.torch.captures import Captured
from hocket.plugin.torch.groups import GroupWriter
from hocket.plugin.torch.hook import UNKNOWN
from hocket.plugin.torch.signature import sending_operations, signatures, unknown_operations, waiting_operations
from hocket.recording.stream import Stream, record

__all__ = ["NativeHook"]


class NativeHook:
    """Hook by the kernels of a loaded library. Completion is seen by a callback in C++, without Python's lock.

    `find_line` tells the script's line that issues a call, where that is wanted, and takes Python's lock; `times`
    whether devices tell theirs, with `exact_ends` those of asynchronous calls too.
    """

    def __init__(
        self,
        module: Any,
        find_line: Callable[[], str] | None = None,
        times: bool = True,
        exact_ends: bool = False,
    ) -> None:
        self._module = module
        self._find_line = find_line
        self._times, self._exact_ends = times, exact_ends
        self._groups: GroupWriter | None = None

    def install(self, start: Callable[[], None]) -> None:
        kinds = dist.ReduceOp.RedOpType.__members__.items()
        reductions = [name for _, name in sorted((int(kind), name) for name, kind in kinds)]
        unknown = {op: record("error", op=op, message=UNKNOWN) for op in unknown_operations()}
        functional = waiting_operations(), sending_operations()
        asked = start, self._find_group, self._find_line, self._exact_ends
        self._module.install(signatures(), unknown, *functional, reductions, *asked, dist.Work)

    def open(self, path: Path, in_segments: bool, max_bytes: int) -> Stream:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._module.open(str(path), in_segments, max_bytes)
        stream: Stream = self._module
        self._groups = GroupWriter(stream)
        if self._times:
            self._module.tell_device_times()
        return stream

    def close_devices(self) -> None:
        self._module.end_device_times()

    def begin_capture(self, stream: int) -> int:
        number: int = self._module.begin_capture(stream)
        return number

    def end_capture(self, number: int) -> Captured:
        return Captured(*self._module.end_capture(number))

    def advance(self, group: int, count: int) -> int:
        base: int = self._module.advance(group, count)
        return base

    def begin_replay(self, device: torch.device) -> None:
        self._module.begin_replay(device)

    def end_replay(self, number: int) -> None:
        self._module.end_replay(number)

    def thread(self) -> int:
        number: int = self._module.thread()
        return number

    def abandon(self) -> None:
        self._module.abandon()

    def select(self, recording: bool) -> None:
        self._module.select(recording)

    def forget_groups(self) -> None:
        self._module.forget_groups()

    def begin_batch(self) -> None:
        self._module.begin_batch()

    def end_batch(self, works: Sequence[dist.Work]) -> None:
        self._module.end_batch(works)

    def begin_section(self) -> None:
        self._module.begin_section()

    def end_section(self, returned: bool) -> None:
        self._module.end_section(returned)

    def write_cost(self) -> None:
        pass  # docs/collect.md tells

    def operation_of(self, work: dist.Work) -> int | None:
        operation: int | None = self._module.operation_of(work)
        return operation

    def write_wait(self, operation: int, begin: int) -> None:
        self._module.write_wait(operation, begin)

    def _find_group(self, name: str) -> tuple[int, list[int]]:
        assert self._groups is not None  # asked only while the stream is open
        return self._groups.find_by_name(name)
