"""The bytes of a `.et` file, plain or gzip."""

import gzip
import mmap
import zlib
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hocket.core.errors import FormatError

__all__ = ["file_bytes"]

_GZIP_MAGIC = b"\x1f\x8b"


def file_bytes(path: Path | str) -> NDArray[np.uint8]:
    """The file's bytes, uint8, memory-mapped; unpacked when it is gzip. Raises FormatError when it cannot be read."""
    try:
        with open(path, "rb") as file:
            magic = file.read(2)
            file.seek(0)
            if magic == _GZIP_MAGIC:
                return np.frombuffer(gzip.GzipFile(fileobj=file).read(), np.uint8)
            if not magic:
                return np.empty(0, np.uint8)
            return np.frombuffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ), np.uint8)
    except (OSError, EOFError, zlib.error) as error:
        raise FormatError(f"{path}: {getattr(error, 'strerror', None) or error}") from error
