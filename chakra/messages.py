"""The messages of et_def.proto as protobuf classes, for what the columns of a `Trace` do not hold.

The classes live in a descriptor pool of their own: no generated code that binds to one protobuf version, and no clash
with another copy of et_def.proto in the same process.
"""

from collections.abc import Iterator, Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, json_format, message_factory
from google.protobuf.message import DecodeError, Message

from hocket.chakra.file import file_bytes
from hocket.core.errors import FormatError, TraceError

__all__ = ["AttributeProto", "GlobalMetadata", "Node", "decode_metadata", "encode_metadata", "read_messages", "to_json"]


def _message_classes(*names: str) -> list[Any]:
    pool = descriptor_pool.DescriptorPool()
    for file in descriptor_pb2.FileDescriptorSet.FromString(
        files("hocket.chakra").joinpath("et_def.binpb").read_bytes()
    ).file:
        pool.Add(file)
    return [message_factory.GetMessageClass(pool.FindMessageTypeByName(f"ChakraProtoMsg.{name}")) for name in names]


AttributeProto, GlobalMetadata, Node = _message_classes("AttributeProto", "GlobalMetadata", "Node")

_MEMBERS = {bool: "bool", int: "int64", float: "double", str: "string", bytes: "bytes"}


def decode_metadata(message: bytes, source: Path | str) -> tuple[str, dict[str, object]]:
    """Version and attributes of a serialized GlobalMetadata. Raises FormatError, naming `source`, for other bytes."""
    try:
        metadata = GlobalMetadata.FromString(message)
    except DecodeError as error:
        raise FormatError(f"{source}: the first record is no GlobalMetadata; this is no Chakra trace") from error
    return metadata.version, {attribute.name: _value(attribute) for attribute in metadata.attr}


def _value(attribute: Any) -> object:
    member = attribute.WhichOneof("value")
    if member is None:
        return None
    value = getattr(attribute, member)
    return list(value.values) if member.endswith("_list") else value


def encode_metadata(version: str, attributes: Mapping[str, object]) -> bytes:
    """Serialized GlobalMetadata: the inverse of `decode_metadata`, integers as int64, floats as double.

    Raises TraceError for a value that is no bool, int, float, str or bytes, nor a list of one of these.
    """
    metadata = GlobalMetadata(version=version)
    for name, value in attributes.items():
        attribute = metadata.attr.add(name=name)
        is_list = isinstance(value, list)
        kinds = {type(item) for item in value} if isinstance(value, list) else {type(value)}
        if value is None or kinds == set():
            continue
        member = _MEMBERS.get(kinds.pop()) if len(kinds) == 1 else None
        if member is None:
            raise TraceError(f"metadata {name} = {value!r}: a value is a bool, int, float, str, bytes or list of one")
        if is_list:
            getattr(attribute, f"{member}_list").values.extend(value)
        else:
            setattr(attribute, f"{member}_val", value)
    return bytes(metadata.SerializeToString())


def read_messages(path: Path | str) -> Iterator[Message]:
    """The messages of a `.et` file one by one: GlobalMetadata, then every Node, with all their fields.

    Raises FormatError, naming the file and the byte offset, at the first record that is truncated or malformed.
    """
    data = file_bytes(path).data
    kind, end = GlobalMetadata, 0
    if not data:
        raise FormatError(f"{path}: byte 0: the file is empty")
    while end < len(data):
        start, length = _varint(data, end, path)
        end = start + length
        if end > len(data):
            raise FormatError(f"{path}: byte {start}: truncated: {length} bytes announced, {len(data) - start} left")
        try:
            yield kind.FromString(bytes(data[start:end]))
        except DecodeError as error:
            raise FormatError(f"{path}: byte {start}: no {kind.DESCRIPTOR.name} message: {error}") from error
        kind = Node


def _varint(data: memoryview, start: int, path: Path | str) -> tuple[int, int]:
    """Where the bytes after the varint at `start` begin, and its value."""
    value = 0
    for index, byte in enumerate(data[start : start + 5]):
        value |= (byte & 0x7F) << 7 * index
        if byte < 0x80:
            return start + index + 1, value
    raise FormatError(f"{path}: byte {start}: a record starts with its length as a varint of at most 5 bytes")


def to_json(message: Message) -> str:
    """One line of protobuf's JSON form: the schema's field names, enums by name, 64-bit integers as text."""
    return json_format.MessageToJson(message, preserving_proto_field_name=True, indent=None, ensure_ascii=False)
