"""The files that a part is made of, and whether they are still what they were."""

import os
from pathlib import Path

from hocket.base.errors import FormatError
from hocket.recording.parts.head import PartSource

__all__ = ["source_of"]

_PIECE = 1 << 20


def source_of(path: Path) -> PartSource:
    """The file as it is now. Raises FormatError when it cannot be read."""
    try:
        with path.open("rb") as file:
            state = os.fstat(file.fileno())
            used = state.st_size
            while used > 0:  # a stream that was not closed, or is still written, ends in zero bytes
                begin = max(0, used - _PIECE)
                piece = os.pread(file.fileno(), used - begin, begin).rstrip(b"\0")
                used = begin + len(piece)
                if piece:
                    break
    except OSError as error:
        raise FormatError(f"{path}: {error.strerror}") from error
    return PartSource(os.path.abspath(path), state.st_size, state.st_mtime_ns, used)
