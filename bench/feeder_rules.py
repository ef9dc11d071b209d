"""Reads traces as MLCommons' and ASTRA-sim's feeders do, by rules of their own, and asserts that they may.

The bytes are taken apart here, field by field as the schema's descriptor tells, so that nothing of Hocket's or
protobuf's leniency hides a wrong member: the first feeder reads one member of the value and takes another for 0.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from google.protobuf.descriptor import Descriptor, FieldDescriptor

from hocket.chakra.messages import GlobalMetadata, Node

__all__ = ["check_astra_sim", "check_mlcommons"]

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_WIRE = {
    FieldDescriptor.TYPE_DOUBLE: _FIXED64,
    FieldDescriptor.TYPE_FIXED64: _FIXED64,
    FieldDescriptor.TYPE_SFIXED64: _FIXED64,
    FieldDescriptor.TYPE_FLOAT: _FIXED32,
    FieldDescriptor.TYPE_FIXED32: _FIXED32,
    FieldDescriptor.TYPE_SFIXED32: _FIXED32,
    FieldDescriptor.TYPE_STRING: _BYTES,
    FieldDescriptor.TYPE_BYTES: _BYTES,
    FieldDescriptor.TYPE_MESSAGE: _BYTES,
}
# The member of the value in which each attribute is read.
MEMBERS = {
    "is_cpu_op": "bool_val",
    "num_ops": "int64_val",
    "tensor_size": "uint64_val",
    "comm_type": "int64_val",
    "comm_size": "int64_val",
    "comm_src": "int32_val",
    "comm_dst": "int32_val",
    "comm_tag": "int32_val",
    "comm_priority": "int32_val",
    "pg_name": "string_val",
    "involved_dim": "bool_list",
}
# What Hocket adds (docs/chakra.md); both feeders pass over what they do not know.
ADDED = {"duration_ns": "int64_val", "in_split_size": "string_val", "comm_root": "int32_val", "dtype": "string_val"}
COMP, SEND, RECV, COLLECTIVE = 4, 5, 6, 7
_NEEDED = {
    COMP: {"is_cpu_op"},
    SEND: {"is_cpu_op", "comm_src", "comm_dst", "comm_tag", "comm_size"},
    RECV: {"is_cpu_op", "comm_src", "comm_dst", "comm_tag", "comm_size"},
    COLLECTIVE: {"is_cpu_op", "comm_type", "comm_size"},
}
# ALL_REDUCE, ALL_GATHER, BROADCAST, ALL_TO_ALL, REDUCE_SCATTER.
_ASTRA_COLLECTIVES = {0, 2, 5, 6, 7}


def check_mlcommons(folder: Path) -> None:
    """Every trace of the folder: known fields of the right wire types, attributes in the members that are read.

    Raises AssertionError naming file and node.
    """
    for path in _traces(folder):
        metadata, nodes = _read(path)
        assert metadata["version"] == [b"1.0.0"], path
        ids = [_id(node) for node in nodes]
        assert len(set(ids)) == len(ids) > 0, path
        for node in nodes:
            attributes = _attributes(node)
            place = f"{path}: node {_id(node)}"
            for name, member in (MEMBERS | ADDED).items():
                assert name not in attributes or attributes[name][0] == member, f"{place}: {name}"
            assert _NEEDED.get(node["type"][0], set()) <= attributes.keys(), place
            assert set(_deps(node)) <= set(ids), place
            assert _id(node) not in _deps(node), place


def check_astra_sim(folder: Path) -> None:
    """What `check_mlcommons` asks for and what ASTRA-sim refuses beyond. Raises AssertionError naming file and node."""
    check_mlcommons(folder)
    groups = json.loads((folder / "comm_groups.json").read_text())
    for path in _traces(folder):
        rank = int(path.suffixes[-2].removeprefix("."))
        _, nodes = _read(path)
        assert any(not _deps(node) for node in nodes), path
        for node in nodes:
            place, kind = f"{path}: node {_id(node)}", node["type"][0]
            attributes = {name: value for name, (_, value) in _attributes(node).items()}
            assert attributes.keys() <= (MEMBERS | ADDED).keys(), place
            assert not {"inputs", "outputs"} & node.keys(), place
            assert kind != 1 and attributes["is_cpu_op"] == 0, place
            group = attributes.get("pg_name", b"0").decode() or "0"
            assert group == "0" or (group.isdecimal() and rank in groups[group]), place
            if kind == COLLECTIVE:
                assert attributes["comm_type"] in _ASTRA_COLLECTIVES, place
            elif kind in (SEND, RECV):
                assert attributes["comm_src" if kind == SEND else "comm_dst"] == rank, place


def _traces(folder: Path) -> list[Path]:
    found = sorted(folder.glob("*.et"))
    assert found, folder
    return found


def _read(path: Path) -> tuple[dict[str, list[Any]], list[dict[str, list[Any]]]]:
    """The metadata, and the nodes."""
    data, at, records = path.read_bytes(), 0, []
    while at < len(data):
        size, at = _varint(data, at)
        assert at + size <= len(data), path
        records.append(data[at : at + size])
        at += size
    metadata = _decode(GlobalMetadata.DESCRIPTOR, records[0])
    return metadata, [_decode(Node.DESCRIPTOR, record) for record in records[1:]]


def _id(node: dict[str, list[Any]]) -> int:
    return int(node.get("id", [0])[0])


def _deps(node: dict[str, list[Any]]) -> list[int]:
    return [*node.get("data_deps", []), *node.get("ctrl_deps", [])]


def _attributes(node: dict[str, list[Any]]) -> dict[str, tuple[str, Any]]:
    """Member and value of each attribute, by name."""
    found: dict[str, tuple[str, Any]] = {}
    for attribute in node.get("attr", []):
        name = attribute["name"][0].decode()
        assert name not in found, name
        ((member, values),) = [item for item in attribute.items() if item[0] not in ("name", "doc_string")]
        found[name] = member, values[0]
    return found


def _decode(descriptor: Descriptor, data: bytes) -> dict[str, list[Any]]:
    """The values of a message's fields by name; strings as bytes, numbers as written."""
    found: dict[str, list[Any]] = {}
    for number, wire, value in _fields(data):
        field = descriptor.fields_by_number[number]
        packed = wire == _BYTES and _WIRE.get(field.type, _VARINT) != _BYTES
        assert packed or wire == _WIRE.get(field.type, _VARINT), field.full_name
        if packed:
            at = 0
            while at < len(value):
                item, at = _varint(value, at)
                found.setdefault(field.name, []).append(item)
        elif field.type == FieldDescriptor.TYPE_MESSAGE:
            assert field.message_type is not None
            found.setdefault(field.name, []).append(_decode(field.message_type, value))
        else:
            if field.type == FieldDescriptor.TYPE_ENUM:
                assert field.enum_type is not None and value in field.enum_type.values_by_number, field.full_name
            found.setdefault(field.name, []).append(value)
    return found


def _fields(data: bytes) -> Iterator[tuple[int, int, Any]]:
    """Number, wire type and value."""
    at = 0
    while at < len(data):
        tag, at = _varint(data, at)
        number, wire = tag >> 3, tag & 7
        if wire == _VARINT:
            value, at = _varint(data, at)
            yield number, wire, value
        else:
            size = {_FIXED64: 8, _FIXED32: 4}.get(wire)
            if size is None:
                assert wire == _BYTES, wire
                size, at = _varint(data, at)
            assert at + size <= len(data)
            yield number, wire, data[at : at + size]
            at += size


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at
