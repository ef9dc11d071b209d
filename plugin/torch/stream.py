"""The crash-safe record of one rank: a file of JSON lines.

Every line has "k", its kind; times are nanoseconds of the rank's `time.perf_counter_ns`:
meta        the rank, its job, its clock (first line of a session; a file that is appended to holds several)
group       a process group, at its first use: id, name, description, world ranks, backend, order
collective  an operation is issued: id, op, group, seq (its number in the group), step, t, thread, in and out
            (bytes), dtype, "async" if so, ptr (addresses of its outputs), root, peer, tag, reduce, splits
done        the operation `id` is complete
wait        a thread waited for the operation `id` from t0 to t1; or, with "ptr", for the one that wrote there
backward    an autograd pass ended; between t0 and t1 it waited for those of its operations `ids` that have no wait
step        training step `n` ended
clock       the offset to rank 0's clock: add it to t of this rank
error       an operation ran but could not be described
end         the script ended; "ok" tells whether without an exception
"""

import json
import mmap
import os
import threading
from pathlib import Path

__all__ = ["Stream"]


class Stream:
    """Appends lines to a file through a memory map: no system call a line, and what is written outlives the process.

    After a kill the file ends in zero bytes, the rest of the space that was reserved; `close` cuts them off. Space is
    reserved before it is mapped, so that a full disk raises OSError.
    """

    _RESERVE = 1 << 20

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        self._lock = threading.Lock()
        end = os.fstat(self._file).st_size
        self._reserve(end, 0)
        if end:  # after a line that a killed process left torn
            self.write("\n")

    def write(self, line: str) -> None:
        """Appends a line that is JSON already and ends in a newline (the hot path formats its own)."""
        data = line.encode()
        try:
            self._map.write(data)
        except ValueError:  # no room
            self._write_further(data)

    def write_record(self, kind: str, **values: object) -> None:
        """Appends one record."""
        self.write(json.dumps({"k": kind, **values}, separators=(",", ":")) + "\n")

    def close(self) -> None:
        """Cuts off the space that was not used; what other threads still write is dropped."""
        with self._lock:
            end = self._offset + self._map.tell()
            self._map.close()  # before the cut: a write to the mapped space behind it would end the process
            os.ftruncate(self._file, end)

    def _write_further(self, data: bytes) -> None:
        with self._lock:
            if self._map.closed:
                return
            try:
                self._map.write(data)  # another thread has made room meanwhile
            except ValueError:
                self._reserve(self._offset + self._map.tell(), len(data))
                self._map.write(data)

    def _reserve(self, end: int, size: int) -> None:
        """Maps the file from the page of `end` on, with room for at least `size` bytes."""
        self._offset = end // mmap.ALLOCATIONGRANULARITY * mmap.ALLOCATIONGRANULARITY
        length = end - self._offset + size + self._RESERVE
        os.posix_fallocate(self._file, self._offset, length)
        self._map = mmap.mmap(self._file, length, offset=self._offset)
        self._map.seek(end - self._offset)
