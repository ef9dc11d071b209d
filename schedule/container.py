"""The container of `.schedule` files: a JSON header and arrays, opened by memory map.

Layout: the magic (8 bytes), the length of the header (8 bytes, little-endian), the CRC-32 of the header (4 bytes), the
header (JSON), then the arrays, little-endian, each at a multiple of 64 bytes. The header lists the arrays with their
offsets in the file and CRC-32s.
"""

import struct
import zlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Protocol

import msgspec
import numpy as np
from numpy.typing import NDArray

from hocket.base.errors import FormatError
from hocket.base.files import atomic_write

__all__ = ["ArrayEntry", "ByteStream", "Count", "array", "header", "write"]

_MAGIC = b"HOCKETS\x01"
_PREAMBLE = struct.Struct("<8sQI")
_ALIGNMENT = 64

Count = Annotated[int, msgspec.Meta(ge=0, lt=2**31)]
_Bytes = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]


class ArrayEntry(msgspec.Struct, forbid_unknown_fields=True):
    """Where an array is. Without `crc32` its content carries its own checksums."""

    name: str
    dtype: str
    length: _Bytes
    offset: _Bytes
    crc32: int | None


class ByteStream(Protocol):
    """An array of bytes that need not fit in memory, with checksums of its own."""

    @property
    def size(self) -> int: ...
    def pieces(self) -> Iterator[NDArray[np.uint8]]: ...


def write(
    path: Path | str,
    header: Callable[[list[ArrayEntry]], bytes],
    arrays: Mapping[str, NDArray[Any]],
    streams: Mapping[str, ByteStream],
) -> None:
    """Writes the arrays, then the streams, after the header that is made of their table; whole or not at all."""
    table = [
        ArrayEntry(name, column.dtype.str, len(column), 0, zlib.crc32(column.data)) for name, column in arrays.items()
    ]
    table += [ArrayEntry(name, "|u1", stream.size, 0, None) for name, stream in streams.items()]
    # The offsets are part of the header whose length they depend on: reserve room for twenty digits each.
    end = _PREAMBLE.size + len(header(table)) + 20 * len(table)
    for entry in table:
        entry.offset = -(-end // _ALIGNMENT) * _ALIGNMENT
        end = entry.offset + entry.length * np.dtype(entry.dtype).itemsize
    text = header(table)
    contents = [*([column] for column in arrays.values()), *(stream.pieces() for stream in streams.values())]
    with atomic_write(path, "wb") as file:
        file.write(_PREAMBLE.pack(_MAGIC, len(text), zlib.crc32(text)))
        file.write(text)
        for entry, pieces in zip(table, contents, strict=True):
            file.write(bytes(entry.offset - file.tell()))
            for piece in pieces:
                file.write(piece.data)


def header(content: NDArray[np.uint8]) -> bytes:
    """The header of a file. Raises FormatError where it has none or it is damaged."""
    if len(content) < _PREAMBLE.size:
        raise FormatError(f"{len(content)} bytes are too few for a .schedule file")
    magic, length, checksum = _PREAMBLE.unpack_from(content.data)
    if magic != _MAGIC:
        raise FormatError("not a .schedule file (it starts with other bytes; MSCCL XML is named .xml, a program .json)")
    text = content[_PREAMBLE.size : _PREAMBLE.size + length].tobytes()
    if len(text) < length or zlib.crc32(text) != checksum:
        raise FormatError("the header is truncated or damaged (its checksum differs)")
    return text


def array(content: NDArray[np.uint8], entry: ArrayEntry, check: bool) -> NDArray[Any]:
    """An array of a file: a view of its content. Raises FormatError where it is truncated or misplaced or, with
    `check`, damaged."""
    if entry.offset % _ALIGNMENT:
        raise FormatError(f"array {entry.name} is misplaced: offset {entry.offset} is no multiple of {_ALIGNMENT}")
    size = entry.length * np.dtype(entry.dtype).itemsize
    data = content[entry.offset : entry.offset + size]
    if len(data) < size:
        raise FormatError(f"truncated: array {entry.name} ends at byte {entry.offset + size} of {len(content)}")
    if check and entry.crc32 is not None and zlib.crc32(data.data) != entry.crc32:
        raise FormatError(f"array {entry.name} is damaged (its checksum differs)")
    return data.view(entry.dtype)
