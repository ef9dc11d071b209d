"""The crash-safe record of one rank: a file of JSON lines, each handed to the kernel whole.

Every line has "k", its kind; times are nanoseconds of the rank's `time.perf_counter_ns`:
meta        the rank, its job, its clock (first line of a session; a file that is appended to holds several)
group       a process group, at its first use: id, name, description, world ranks, backend, order
collective  an operation is issued: id, op, group, seq (its number in the group), step, t, thread, in and out (bytes)
done        the operation `id` is complete
wait        a thread waited for the operation `id` from t0 to t1; or, with "ptr", for the one that wrote there
backward    an autograd pass ended; between t0 and t1 it waited for those of its operations `ids` that have no wait
step        training step `n` ended
clock       the offset to rank 0's clock: add it to t of this rank
error       an operation ran but could not be described
end         the script ended; "ok" tells whether without an exception
"""

import json
import os
from pathlib import Path

__all__ = ["Stream", "stream_path"]


def stream_path(folder: Path | str, rank: int) -> Path:
    """Where rank `rank`'s stream lies in a collection's folder."""
    return Path(folder) / "stream" / f"rank{rank}.jsonl"


class Stream:
    """Appends lines to a file. `write` is one system call: a line is in the file, whole, when it returns."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        if os.fstat(self._file).st_size:  # after a line that a killed process left torn
            os.write(self._file, b"\n")

    def write(self, line: str) -> None:
        """Appends a line that is JSON already and ends in a newline (the hot path formats its own)."""
        os.write(self._file, line.encode())

    def write_record(self, kind: str, **values: object) -> None:
        """Appends one record."""
        self.write(json.dumps({"k": kind, **values}, separators=(",", ":")) + "\n")
