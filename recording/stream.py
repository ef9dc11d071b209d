"""The crash-safe record of one rank: a file of short text lines, written while the job runs.

A session starts with a line of kind meta; a file that is appended to holds several. A stream may be cut into segments
(`segments.py`), files that begin with all that others refer to. Times are nanoseconds of the rank's
`time.perf_counter_ns` (CLOCK_MONOTONIC). What happens at every collective is a letter and whole numbers below 10^18:

    c ID SHAPE SEQUENCE T THREAD             an operation is issued: the shape it has, its number in its group
    d ID T                                   the operation is complete
    w ID T DURATION THREAD                   a thread waited for the operation from T on
    a ID T DURATION THREAD PEER              the same of a receive from any source: world rank PEER was the source
    b ID BATCH                               the operation, a message, was issued as part of a batch
    s ID SHAPE                               the operation, a receive of MPI, turned out to have this shape
    x ID                                     the operation was refused or, of MPI, cancelled: it never took place
    r ID T                                   its device's stream came to the operation, which could begin then
    e ID T END                               the same, and it ended on the device at END
    v ID T ON                                a stream came to the wait for the operation at T, and went on at ON
    g N T END                                replay N of a graph ran on its device from T to END

IDs ascend from 0 with the issues. A message's SEQUENCE is 0. THREAD numbers the threads by their first appearance.
What is rare is a JSON object whose "k" is its kind:

    meta      the rank, its job, its clock, the format of the stream (FORMAT), the training step it starts in, whether
              the rank looks for triggers
    segment   follows the meta where the stream is one of several files: number `n` of the file, `part` (the window of
              steps that it belongs to, "" for none), the `step` in which it begins (null: not known),
              when, the cap in bytes (0: none). Lines of IDs that it does not issue are of earlier segments' calls
    group     a process group, at its first use: id, name, description, world ranks, backend, order
    shape     what calls have in common, at first use: id, op, its kind where it is MPI's, group, in and out (bytes),
              dtype, "async" if so, root, peer, tag, reduce, in_splits, out_splits, stream (of CUDA, the current one at
              the issue), at (the script's line, where asked for); numbers ascend, and one description may come again
    backward  an autograd pass ended; between t0 and t1 it waited for those of its operations `ids` that have no wait
    internal  a function of PyTorch's ended at t1 that issued `ids`, the last of them at t0, and waited for all of them:
              their Works were never in Python's hands
    step      training step `n` ended at t; what is issued later belongs to the next
    clock     the offset to rank 0's clock: add it to t of this rank
    error     an operation ran but could not be described, or was refused, and why
    operators why there is no profile of the rank's operators, "" once there is; the last one counts
    graph     what was captured in a graph of a device, and is done at its replays alone: the `shapes` of its calls and,
              of each of its `calls` in order, the place of its shape and the batch that it was issued in, -1 for none;
              all later segments begin with it, too, as long as the graph can be replayed
    unseen    in words, what communicates in the job and is not recorded
    replay    `n`: a thread ran a graph from t0 on, told at t1, on a stream of its device: its `calls` once more, whose
              numbers in their groups are `bases`: the group's, the first and how many
    nccl      where NCCL's profiler plugin writes (a path from the job's folder, or absolute) and why it has no times,
              "" if it should have them; the last one counts
    cost      the hook in Python took ns of the job's time, in so many calls, without what callbacks and waits took
    cores     of `wall` ns since the stream was opened, how long the process's leading thread was on a core and how long
              it was waiting for one, by Linux's scheduler; the last one counts
    end       the script ended, at t, when the wall clock showed epoch_ns; "ok" tells whether without an exception
"""

import json
import mmap
import os
import threading
from pathlib import Path
from typing import Protocol

from hocket.base.notices import notice

__all__ = ["FORMAT", "MappedStream", "Stream", "record"]

FORMAT = 3


def record(kind: str, **values: object) -> str:
    """The line of something rare."""
    return json.dumps({"k": kind, **values}, separators=(",", ":")) + "\n"


class Stream(Protocol):
    """Where lines go. Nothing here raises: what cannot be written any more is dropped, and said once on stderr."""

    def write(self, line: str) -> None:
        """Appends a line that ends in a newline."""

    def keep(self, line: str) -> None:
        """Appends a line with which all later segments begin, too; the first one is the meta."""

    def forget(self, line: str) -> None:
        """Later segments do not begin with this line, which was kept."""

    def end_step(self, number: int, t: int) -> None:
        """Appends that a training step ended."""

    def begin_part(self, part: str, step: int) -> None:
        """Begins a segment, where there are segments, of this part of the job and in this step."""

    def close(self) -> None:
        """Ends the file behind the last line; what other threads still write is dropped."""

    def abandon(self) -> None:
        """Drops everything from now on and leaves the file alone: for a forked child, whose parent goes on writing."""


class MappedStream:
    """Appends lines to a file through a memory map: no system call a line, and what is written outlives the process.

    After a kill the file ends in zero bytes, the rest of the space that was reserved; `close` cuts them off. Space is
    reserved before it is mapped: a full disk must not become a signal. Raises OSError when the file cannot be opened.
    `native/stream.hpp` is the same for the compiled hook.
    """

    _RESERVE = 1 << 20
    generation = 0

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._path = path
        self._file = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        self._lock = threading.RLock()  # a finalizer or a signal handler may write while its thread does
        self._dropping = False
        end = os.fstat(self._file).st_size
        self._reserve(end, 0)
        if end:  # after a line that a killed process left torn
            self.write("\n")

    def write(self, line: str) -> None:
        if self._dropping:
            return
        data = line.encode()
        with self._lock:  # who makes room lets go of Python's lock
            try:
                self._map.write(data)
            except ValueError:  # no room, or closed meanwhile
                self._write_further(data)

    def keep(self, line: str) -> None:
        self.write(line)

    def forget(self, line: str) -> None:
        pass  # there are no later ones

    def end_step(self, number: int, t: int) -> None:
        self.write(record("step", n=number, t=t))

    def begin_part(self, part: str, step: int) -> None:
        pass  # one file holds all

    def make_room(self) -> None:
        """Before an operation's issue, with the lock of this stream: begins a segment where the last one is full."""

    @property
    def lock(self) -> threading.RLock:
        """Held while lines are written that must stand in one segment."""
        return self._lock

    def close(self) -> None:
        with self._lock:
            self._cut()

    def move_to(self, path: Path) -> bool:
        """Ends the file behind the last line and goes on in another, which is new; False, and said, if it cannot be
        opened."""
        with self._lock:
            end = self._map_used()
            self._map.close()
            os.ftruncate(self._file, end)
            os.close(self._file)
            self._path = path
            try:
                self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o644)
                self._reserve(0, 0)
            except OSError as error:
                self._dropping = True
                notice(f"hocket: {path}: {error.strerror}: recording stops here")
            return not self._dropping

    def _map_used(self) -> int:
        """Bytes of the file that are written."""
        return self._offset + self._map.tell()

    def abandon(self) -> None:
        self._dropping = True
        self._lock = threading.RLock()  # another thread of the parent may have had it, which is not here

    def _write_further(self, data: bytes) -> None:
        if self._dropping:
            return
        try:
            self._reserve(self._offset + self._map.tell(), len(data))
            self._map.write(data)
        except OSError as error:
            notice(f"hocket: {self._path}: {error.strerror}: recording stops here")
            self._cut()

    def _cut(self) -> None:
        if not self._dropping:
            self._dropping = True
            end = self._offset + self._map.tell()
            self._map.close()  # before the cut: a write to the mapped space behind it would end the process
            os.ftruncate(self._file, end)
            os.close(self._file)  # a file system of the network shows others what is in it only then

    def _reserve(self, end: int, size: int) -> None:
        """Maps the file from the page of `end` on, with room for at least `size` bytes."""
        offset = end // mmap.ALLOCATIONGRANULARITY * mmap.ALLOCATIONGRANULARITY
        length = end - offset + size + self._RESERVE
        os.posix_fallocate(self._file, offset, length)
        self._map = mmap.mmap(self._file, length, offset=offset)
        self._map.seek(end - offset)
        self._offset = offset
