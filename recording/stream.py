"""The crash-safe record of one rank: a file of short text lines, written while the job runs.

A session starts with a line of kind meta; a file that is appended to holds several. Times are nanoseconds of the rank's
`time.perf_counter_ns` (CLOCK_MONOTONIC). What happens at every collective is a letter and whole numbers below 10^18:

    c ID SHAPE SEQUENCE T THREAD             an operation is issued: the shape it has, its number in its group
    d ID T                                   the operation is complete
    w ID T DURATION THREAD                   a thread waited for the operation from T on
    a ID T DURATION THREAD PEER              the same of a receive from any source: world rank PEER was the source
    b ID BATCH                               the operation, a message, was issued as part of a batch
    s ID SHAPE                               the operation, a receive of MPI, turned out to have this shape
    x ID                                     the operation was refused or, of MPI, cancelled: it never took place

IDs ascend from 0 with the issues. A message's SEQUENCE is 0. THREAD numbers the threads by their first appearance.
What is rare is a JSON object whose "k" is its kind:

    meta      the rank, its job, its clock, the format of the stream (FORMAT), the training step it starts in
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
    end       the script ended; "ok" tells whether without an exception
"""

import json
import mmap
import os
import sys
import threading
from pathlib import Path
from typing import Protocol

__all__ = ["FORMAT", "MappedStream", "Stream", "record"]

FORMAT = 2


def record(kind: str, **values: object) -> str:
    """The line of something rare."""
    return json.dumps({"k": kind, **values}, separators=(",", ":")) + "\n"


class Stream(Protocol):
    """Where lines go. Nothing here raises: what cannot be written any more is dropped, and said once on stderr."""

    def write(self, line: str) -> None:
        """Appends a line that ends in a newline."""

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

    def close(self) -> None:
        with self._lock:
            self._cut()

    def abandon(self) -> None:
        self._dropping = True

    def _write_further(self, data: bytes) -> None:
        if self._dropping:
            return
        try:
            self._reserve(self._offset + self._map.tell(), len(data))
            self._map.write(data)
        except OSError as error:
            print(f"hocket: {self._path}: {error.strerror}: recording stops here", file=sys.stderr)
            self._cut()

    def _cut(self) -> None:
        if not self._dropping:
            self._dropping = True
            end = self._offset + self._map.tell()
            self._map.close()  # before the cut: a write to the mapped space behind it would end the process
            os.ftruncate(self._file, end)

    def _reserve(self, end: int, size: int) -> None:
        """Maps the file from the page of `end` on, with room for at least `size` bytes."""
        offset = end // mmap.ALLOCATIONGRANULARITY * mmap.ALLOCATIONGRANULARITY
        length = end - offset + size + self._RESERVE
        os.posix_fallocate(self._file, offset, length)
        self._map = mmap.mmap(self._file, length, offset=offset)
        self._map.seek(end - offset)
        self._offset = offset
