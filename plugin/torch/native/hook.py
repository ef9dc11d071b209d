"""The Python half of the compiled hook."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch.distributed as dist

from hocket.plugin.torch.groups import GroupWriter
from hocket.plugin.torch.hook import UNKNOWN
from hocket.plugin.torch.signature import sending_operations, signatures, unknown_operations, waiting_operations
from hocket.recording.stream import Stream, record

__all__ = ["NativeHook"]


class NativeHook:
    """Hook by the kernels of a loaded library. Completion is seen by a callback in C++, without Python's lock.

    `find_line` tells the script's line that issues a call, `watch` when a Work on a device is complete, where that is
    wanted; they take Python's lock.
    """

    def __init__(
        self,
        module: Any,
        find_line: Callable[[], str] | None = None,
        watch: Callable[[int, dist.Work], None] | None = None,
    ) -> None:
        self._module = module
        self._find_line = find_line
        self._watch = watch
        self._groups: GroupWriter | None = None

    def install(self, start: Callable[[], None]) -> None:
        kinds = dist.ReduceOp.RedOpType.__members__.items()
        reductions = [name for _, name in sorted((int(kind), name) for name, kind in kinds)]
        unknown = {op: record("error", op=op, message=UNKNOWN) for op in unknown_operations()}
        functional = waiting_operations(), sending_operations()
        asked = start, self._find_group, self._find_line, self._watch
        self._module.install(signatures(), unknown, *functional, reductions, *asked, dist.Work)

    def open(self, path: Path) -> Stream:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._module.open(str(path))
        stream: Stream = self._module
        self._groups = GroupWriter(stream)
        return stream

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

    def operation_of(self, work: dist.Work) -> int | None:
        operation: int | None = self._module.operation_of(work)
        return operation

    def write_wait(self, operation: int, begin: int) -> None:
        self._module.write_wait(operation, begin)

    def _find_group(self, name: str) -> tuple[int, list[int]]:
        assert self._groups is not None  # asked only while the stream is open
        return self._groups.find_by_name(name)
