"""What records collectives: hooks on every `c10d::*` operation, at the dispatch key BackendSelect.

Whatever issues a collective (Python, DDP's C++ reducer, compiled graphs) goes through the dispatcher, with all of its
arguments; a kernel there writes them down and hands the call on to the backend below. `hocket.plugin.torch.python` is
made of Python kernels; `hocket.plugin.torch.native` has the same in C++.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

import torch
import torch.distributed as dist

from hocket.plugin.torch.captures import Captured
from hocket.recording.stream import Stream

__all__ = ["LIMIT", "UNKNOWN", "Hook"]

# Of shapes and of addresses that nobody waits at, at most so many are remembered: memory must not grow with the job.
LIMIT = 1 << 16

# Of an operation that `hocket.chakra.c10d` does not have.
UNKNOWN = "not known to this version of Hocket, and not recorded"


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
