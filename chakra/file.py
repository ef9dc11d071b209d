"""The records of a `.et` file, plain or gzip: whole, or block by block so that memory does not grow with the file."""

import mmap
import os
from collections.abc import Iterator
from gzip import GzipFile
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hocket._core import chakra as engine
from hocket.base.errors import FormatError
from hocket.base.reading import opened, read_bytes, require_room

__all__ = ["BLOCK_BYTES", "file_bytes", "open_records", "record_blocks", "split_length"]

BLOCK_BYTES = 16 << 20
_GROWTH = 2  # memory that a byte takes: the columns of its node
_REMEDY = "cut out a part of it first, which `hocket trace slice` does block by block"


def file_bytes(path: Path | str) -> NDArray[np.uint8]:
    """The file's bytes, uint8, memory-mapped; unpacked when it is gzip. Raises FormatError when it cannot be read, or
    memory would not hold its nodes."""
    with opened(path) as file:
        size = os.fstat(file.fileno()).st_size
        if isinstance(file, GzipFile) or not size:
            return np.frombuffer(read_bytes(path, _GROWTH, _REMEDY), np.uint8)
        require_room(path, size, _GROWTH, _REMEDY)
        return np.frombuffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ), np.uint8)


def record_blocks(path: Path | str, block_bytes: int = BLOCK_BYTES) -> Iterator[tuple[int, NDArray[np.uint8]]]:
    """Whole records, about `block_bytes` of them at a time, and the byte at which each block begins (unpacked).

    A file that ends within a record ends with a block that does. Raises FormatError, naming the file, when it cannot be
    read or a record is longer than a message can be.
    """
    begin, rest = 0, np.empty(0, np.uint8)
    for chunk in _chunks(path, block_bytes):
        data = np.concatenate([rest, chunk])
        size = engine.whole_records(data, str(path), begin)
        rest = data[size:].copy()
        found = [(begin, data[:size])] if size else []
        begin += size
        del chunk, data  # whoever asks for other files' blocks meanwhile pays for none of this one's
        if found:
            yield found.pop()
    if len(rest):
        yield begin, rest


def _chunks(path: Path | str, size: int) -> Iterator[NDArray[np.uint8]]:
    """The file in pieces. Between them it is closed, for the files of thousands of ranks are read in turn; but gzip,
    which nobody can enter in the middle, only behind the last."""
    begin, ended = 0, False
    while not ended:
        with opened(path) as file:
            is_gzip = isinstance(file, GzipFile)
            if begin:
                file.seek(begin)
            pieces = [file.read(size)]
            while is_gzip and len(pieces[0]) == size:
                yield np.frombuffer(pieces.pop(), np.uint8)
                pieces.append(file.read(size))
        begin, ended = begin + size, len(pieces[0]) < size
        del file
        if pieces[0]:
            yield np.frombuffer(pieces.pop(), np.uint8)


def split_length(data: memoryview, start: int, path: Path | str, byte: int = 0) -> tuple[int, int]:
    """Where the bytes after the varint at `start` begin, and its value; `byte` is the place of `data` in the file."""
    value = 0
    for index, octet in enumerate(data[start : start + 5]):
        value |= (octet & 0x7F) << 7 * index
        if octet < 0x80:
            return start + index + 1, value
    raise FormatError(f"{path}: byte {byte + start}: a record starts with its length as a varint of at most 5 bytes")


def open_records(block: NDArray[np.uint8], byte: int, path: Path | str) -> Iterator[tuple[int, bytes]]:
    """The messages of a block one by one, and the byte at which each begins in the file. Raises FormatError, naming the
    file and the byte, at a record that is truncated."""
    data, end = block.data, 0
    while end < len(data):
        start, length = split_length(data, end, path, byte)
        end = start + length
        if end > len(data):
            raise FormatError(
                f"{path}: byte {byte + start}: truncated: {length} bytes announced, {len(data) - start} left"
            )
        yield byte + start, bytes(data[start:end])
