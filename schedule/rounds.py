"""Transfers that happen in rounds, in a form that a file can hold at two bytes each and more than memory of."""

import fcntl
import json
import mmap
import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import numpy as np
from numpy.typing import NDArray

from hocket._core import schedule as engine
from hocket.base.errors import FormatError, HocketError
from hocket.base.files import growing_file
from hocket.schedule.folded import TransferColumns

__all__ = ["RoundShape", "RoundSpool", "Rounds"]

_BLOCK = 2**16
_GIVE_BACK = 2**24  # bytes read until their pages are given back


@dataclass(frozen=True)
class RoundShape:
    """What frames speak of: so many routes and chunks; round r starts at r * `length_ps`."""

    num_routes: int
    num_chunks: int
    length_ps: int

    def size_bytes(self, transfers: int) -> int:
        """About what the frames of so many transfers take, when most routes are busy."""
        a_round = 16 + (self.num_routes + 7) // 8
        return transfers * (2 if self.num_chunks <= 2**16 else 4) + transfers // max(1, self.num_routes) * a_round


@dataclass(frozen=True, eq=False)
class Rounds:
    """Transfers as `size` bytes of frames (hocket/schedule/round_frames.hpp says how they look) from `offset` on in a
    file that is mapped into memory. They are read and their checksums compared whenever they are needed, some at a
    time: FormatError names the first damaged round."""

    file: mmap.mmap
    offset: int
    size: int
    shape: RoundShape
    num_rounds: int
    num_transfers: int

    @classmethod
    def of(cls, file: IO[bytes], offset: int, size: int, shape: RoundShape, num_rounds: int, count: int) -> "Rounds":
        """Those in an open file, which may be closed after. Raises FormatError where it is too short."""
        if offset + size > os.fstat(file.fileno()).st_size:
            raise FormatError(f"truncated: the rounds end at byte {offset + size}")
        mapping = mmap.mmap(file.fileno(), offset + size, access=mmap.ACCESS_READ)
        return cls(mapping, offset, size, shape, num_rounds, count)

    def __len__(self) -> int:
        return self.num_transfers

    @property
    def frames(self) -> NDArray[np.uint8]:
        return np.frombuffer(self.file, np.uint8, self.size, self.offset)

    def blocks(self) -> Iterator[TransferColumns]:
        """The transfers, about 2^16 or those of a round at a time; memory that was read is given back."""
        reader, count = self._reader(), 0
        for block in self._read(reader, _BLOCK):
            count += len(block)
            yield block
        if (count, reader.num_rounds) != (self.num_transfers, self.num_rounds):
            raise FormatError(
                f"{count} transfers in {reader.num_rounds} rounds, but the header says {self.num_transfers} in "
                f"{self.num_rounds}"
            )

    def whole(self, stretch: int, total: int | None) -> "Rounds":
        """Those up to the last multiple of `stretch` rounds that is whole; all when they are `total` transfers."""
        reader, count, stretches = self._reader(), 0, 0
        read, kept = (0, 0), (0, 0, 0)  # bytes and rounds; these, and transfers
        with suppress(FormatError):  # torn where the search was cut off
            for block in self._read(reader, 1):
                begun = int(block.start_ps[0]) // self.shape.length_ps // stretch
                if begun > stretches:
                    stretches, kept = begun, (*read, count)
                count += len(block)
                read = reader.position, reader.num_rounds
        if count == total or read[1] % stretch == 0:
            kept = (*read, count)
        return Rounds(self.file, self.offset, kept[0], self.shape, kept[1], kept[2])

    def _reader(self) -> engine.RoundReader:
        return engine.RoundReader(self.frames, self.shape.num_routes, self.shape.num_chunks, self.shape.length_ps)

    def _read(self, reader: engine.RoundReader, wanted: int) -> Iterator[TransferColumns]:
        released = 0
        while True:
            start_ps, route, chunk = reader.read(wanted)
            if len(start_ps) == 0:
                return
            yield TransferColumns(chunk, route, start_ps)
            if reader.position - released >= _GIVE_BACK:
                self._give_back(self.offset + released, self.offset + reader.position)
                released = reader.position

    def check(self, num_routes: int, num_chunks: int) -> None:
        """Frames are checked when they are read."""

    def pieces(self) -> Iterator[NDArray[np.uint8]]:
        """The frames, some bytes at a time; memory that was read is given back."""
        for at in range(self.offset, self.offset + self.size, _GIVE_BACK):
            end = min(at + _GIVE_BACK, self.offset + self.size)
            yield np.frombuffer(self.file, np.uint8, end - at, at)
            self._give_back(at, end)

    def _give_back(self, begin: int, end: int) -> None:
        pages = range(begin // mmap.PAGESIZE * mmap.PAGESIZE, end, mmap.PAGESIZE)
        self.file.madvise(mmap.MADV_DONTNEED, pages.start, len(pages) * mmap.PAGESIZE)

    def time_ps(self, durations: NDArray[np.int64]) -> int:
        """When the last is done, where all take as long as one over route 0 (rounds are for links that are alike)."""
        return (self.num_rounds - 1) * self.shape.length_ps + int(durations.max(initial=0)) if self.num_rounds else 0

    def route_count(self, num_routes: int) -> NDArray[np.int64]:
        """Number of transfers over each route (int64)."""
        count = np.zeros(num_routes, np.int64)
        for block in self.blocks():
            count += np.bincount(block.route, minlength=num_routes)
        return count


class RoundSpool:
    """A file that rounds are written to as they are found: in a `with` block through `writer`, until `finish`.

    Without a path a temporary one (in $TMPDIR) that vanishes with the last who uses it. With one, rounds that a search
    which was cut off left there are kept when it was of the same `problem` (any text that says what is searched, and
    how): `done` are those, to be replayed before the search goes on after them, at a multiple of `stretch` rounds, or
    all when they are the `total` transfers of a search at its end. Raises HocketError when the file is of another
    problem, another process writes to it, or it cannot be written.
    """

    def __init__(
        self, shape: RoundShape, problem: str, path: Path | None = None, stretch: int = 1, total: int | None = None
    ) -> None:
        self.shape = shape
        head = json.dumps({"rounds of": problem}).encode() + b"\n"
        self._file = _open(path, head)
        self._begin = len(head)
        self.done = self._all(0, 0).whole(stretch, total)
        self._file.truncate(self._begin + self.done.size)
        self._file.seek(0, os.SEEK_END)
        self.writer = engine.RoundWriter(self._file.fileno(), shape.num_routes, shape.num_chunks, self.done.num_rounds)

    def __enter__(self) -> "RoundSpool":
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(HocketError):  # where it cannot be written, that was said before
            self.writer.flush()
        fcntl.flock(self._file, fcntl.LOCK_UN)  # mappings of the file hold it open
        self._file.close()

    def finish(self) -> Rounds:
        """All rounds, read from the file."""
        self.writer.flush()
        return self._all(self.writer.num_rounds, self.done.num_transfers + self.writer.num_transfers)

    def _all(self, num_rounds: int, num_transfers: int) -> Rounds:
        size = os.fstat(self._file.fileno()).st_size - self._begin
        return Rounds.of(self._file, self._begin, size, self.shape, num_rounds, num_transfers)


def _open(path: Path | None, head: bytes) -> IO[bytes]:
    """The file (None: a temporary one) that begins with `head`, for this process alone."""
    try:
        file = growing_file(path)  # open as long as the spool is, whose writer adds to it
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            file.seek(0)
            found = file.read(len(head))
            if not head.startswith(found):
                raise HocketError(f"{path}: holds the rounds of another search; remove it to start anew")
            if found != head:  # new, or cut off at once
                file.truncate(0)
                file.write(head)
                file.flush()
        except BaseException:
            file.close()
            raise
    except BlockingIOError as error:
        raise HocketError(f"{path}: another process is at this search; wait until it is done") from error
    except OSError as error:
        raise HocketError(f"{path or 'a temporary file'}: cannot be written: {error.strerror}") from error
    return file
