"""Whole messages of a trace, for what the columns of a `Trace` do not hold."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from google.protobuf import json_format
from google.protobuf.message import DecodeError, Message

from hocket.base.errors import FormatError, TraceError
from hocket.chakra.eras import Era
from hocket.chakra.schema import AttributeProto, GlobalMetadata, Node
from hocket.chakra.trace_file import TraceFile

__all__ = ["AttributeProto", "GlobalMetadata", "Node", "encode_metadata", "read_messages", "to_json"]

_MEMBERS = {bool: "bool", int: "int64", float: "double", str: "string", bytes: "bytes"}


def encode_metadata(version: str, attributes: Mapping[str, object]) -> bytes:
    """Serialized GlobalMetadata: the inverse of `TraceFile.metadata`, integers as int64, floats as double.

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


def read_messages(path: Path | str, era: Era | str | None = None) -> Iterator[Message]:
    """The messages of a `.et` file one by one: GlobalMetadata, then every Node, with all their fields; those of an old
    schema as messages of today's.

    Raises FormatError, naming the file and the byte offset, at the first record that is truncated or malformed.
    """
    file = TraceFile(path, era)
    yield file.head
    for byte, record in file.messages():
        try:
            yield Node.FromString(record)
        except DecodeError as error:
            raise FormatError(f"{path}: byte {byte}: no Node message: {error}") from error


def to_json(message: Message) -> str:
    """One line of protobuf's JSON form: the schema's field names, enums by name, 64-bit integers as text."""
    return json_format.MessageToJson(message, preserving_proto_field_name=True, indent=None)
