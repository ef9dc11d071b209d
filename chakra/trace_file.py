"""One rank's `.et` file: its head, and its nodes as records of today's schema, block by block."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from google.protobuf.message import DecodeError
from numpy.typing import NDArray

from hocket._core import chakra as engine
from hocket.base.errors import FormatError
from hocket.chakra.era_detection import detect, is_metadata
from hocket.chakra.eras import Era, OldNodeError
from hocket.chakra.file import BLOCK_BYTES, file_bytes, open_records, record_blocks, split_length
from hocket.chakra.schema import GlobalMetadata
from hocket.chakra.trace import Trace
from hocket.chakra.upgrading import upgrade_metadata, upgrade_node

__all__ = ["TraceFile", "framed"]

_HEAD_BYTES = 1 << 20


class _Block(NamedTuple):
    byte: int  # where it begins in the file
    records: NDArray[np.uint8]


class TraceFile:
    """A file's `era`, `version` and `metadata`; its nodes are read when asked for, as often as asked.

    Raises FormatError, naming the file and the byte, when it cannot be read, holds no trace, or is older than schema
    0.0.4 and does not tell of which: `era` says so then, and overrules what the file looks like.
    """

    def __init__(self, path: Path | str, era: Era | str | None = None) -> None:
        self.path = Path(path)
        _, head = next(record_blocks(path, _HEAD_BYTES), (0, np.empty(0, np.uint8)))
        if not len(head):
            raise FormatError(f"{path}: byte 0 (GlobalMetadata): the file is empty")
        start, length = split_length(head.data, 0, path)
        first = bytes(head[start : start + length])
        self.era = Era(era) if era else self._detect(head)
        self._body = 0
        self.head: Any = GlobalMetadata()
        if self._has_metadata(first):
            if len(first) < length:
                raise FormatError(f"{path}: byte {start} (GlobalMetadata): truncated: {length} bytes announced")
            self._body = start + length
            self.head = self._decode_head(first)

    @property
    def version(self) -> str:
        """What the file says of its schema; of an old one, its era."""
        return str(self.era) if self.era.is_old else self.head.version

    @property
    def metadata(self) -> dict[str, object]:
        """The attributes of the file's GlobalMetadata."""
        return {attribute.name: _value(attribute) for attribute in self.head.attr}

    def blocks(self, block_bytes: int | None = BLOCK_BYTES, complete: bool = False) -> Iterator[Trace]:
        """The nodes, about `block_bytes` of the file at a time (None: all at once); at least one block.

        `complete` keeps the fields that have no column. Raises FormatError, naming the file, the byte and the node, for
        what is truncated, of another schema or out of range.
        """
        row = 0
        for block in self._blocks(block_bytes):
            read = [self._read(block, row, complete)]
            row += len(read[0])
            del block  # as in `record_blocks`
            yield read.pop()

    def _read(self, block: _Block, row: int, complete: bool) -> Trace:
        """The nodes of a block, of which `row` come before."""
        if self.era.is_old:
            columns, strings = self._read_old(block, row, complete)
        else:
            columns, strings = engine.read_nodes(block.records, str(self.path), block.byte, row, complete)
        return Trace(version=self.version, metadata=self.metadata, strings=strings, **columns)

    def messages(self) -> Iterator[tuple[int, bytes]]:
        """The Node messages of today's schema one by one, serialized, and the byte at which each begins in the file."""
        for block in self._blocks(BLOCK_BYTES):
            for byte, record in open_records(block.records, block.byte, self.path):
                yield byte, self._upgraded(byte, record) if self.era.is_old else record

    def _detect(self, head: NDArray[np.uint8]) -> Era:
        def records() -> Iterator[bytes]:
            try:
                yield from (record for _, record in open_records(head, 0, self.path))
            except FormatError:  # damaged: whoever reads on says so
                return

        try:
            era = detect(records())
        except OldNodeError:
            return Era.V1_0_0
        if era is None:
            raise FormatError(
                f"{self.path}: the first record is no GlobalMetadata, so this is no trace of schema 0.0.4 or later, "
                "and its nodes do not tell whether it is one of 0.0.1, 0.0.2 or 0.0.3: say so with --schema"
            )
        return era

    def _has_metadata(self, first: bytes) -> bool:
        if not self.era.is_old:
            return True
        try:
            return self.era is Era.V0_0_3 and is_metadata(first)
        except OldNodeError:
            return False

    def _decode_head(self, first: bytes) -> Any:
        try:
            return upgrade_metadata(first) if self.era.is_old else GlobalMetadata.FromString(first)
        except (DecodeError, OldNodeError, ValueError) as error:
            raise FormatError(
                f"{self.path}: byte 0 (GlobalMetadata): the first record is none; this is no Chakra trace"
            ) from error

    def _blocks(self, block_bytes: int | None) -> Iterator[_Block]:
        if block_bytes is None:
            yield _Block(self._body, file_bytes(self.path)[self._body :])
            return
        empty = True
        for byte, records in record_blocks(self.path, block_bytes):
            skipped = max(self._body - byte, 0)
            if len(records) > skipped:
                empty = False
                blocks = [_Block(byte + skipped, records[skipped:])]
                del records
                yield blocks.pop()
        if empty:
            yield _Block(self._body, np.empty(0, np.uint8))

    def _upgraded(self, byte: int, record: bytes) -> bytes:
        try:
            return bytes(upgrade_node(record, self.era).SerializeToString())
        except OldNodeError as error:
            raise FormatError(f"{self.path}: byte {byte}: no node of schema {self.era}: {error}") from error

    def _read_old(self, block: _Block, row: int, complete: bool) -> tuple[dict[str, Any], tuple[str, ...]]:
        records = [
            (byte, framed(self._upgraded(byte, record)))
            for byte, record in open_records(block.records, block.byte, self.path)
        ]
        upgraded = np.frombuffer(b"".join(record for _, record in records), np.uint8)
        try:
            return engine.read_nodes(upgraded, str(self.path), block.byte, row, complete)
        except FormatError:  # its byte is one of the upgraded records: say it for the node's own
            for number, (byte, record) in enumerate(records):
                engine.read_nodes(np.frombuffer(record, np.uint8), str(self.path), byte, row + number, complete)
            raise


def framed(message: bytes) -> bytes:
    """A record: the length of the message as a varint, and the message."""
    length = len(message)
    prefix = bytearray()
    while length > 0x7F:
        prefix.append(length & 0x7F | 0x80)
        length >>= 7
    return bytes([*prefix, length]) + message


def _value(attribute: Any) -> object:
    member = attribute.WhichOneof("value")
    if member is None:
        return None
    value = getattr(attribute, member)
    return list(value.values) if member.endswith("_list") else value
