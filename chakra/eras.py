"""Schema eras of Chakra traces: which one a file is of, and old nodes as messages of today's schema.

From the history of MLCommons' et_def.proto. 0.0.1 (January 2023): proto2, typed fields, no metadata record. 0.0.2 (June
2023): attributes of a name, a type and a value. 0.0.3 (July 2023): METADATA_NODE comes first among the node types, so
all others are one higher; GlobalMetadata since August. 0.0.4 (October 2023): proto3, parents split into control and
data dependencies, one oneof of values, collectives numbered as in MPI. 1.0.0 is 0.0.4 under another name.

Files before 0.0.4 do not say what they are, but the fields of each era have other numbers or wire types: the first
nodes that have more than id, name, type and parents tell.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from google.protobuf.empty_pb2 import Empty
from google.protobuf.message import DecodeError
from google.protobuf.unknown_fields import UnknownFieldSet

from hocket.chakra.schema import GlobalMetadata, Node
from hocket.chakra.trace import CollectiveType, NodeType
from hocket.core.enums import StrEnum

__all__ = ["Era", "OldNodeError", "detect", "is_metadata", "upgrade_metadata", "upgrade_node"]


class Era(StrEnum):
    """A version of the schema."""

    V0_0_1 = "0.0.1"
    V0_0_2 = "0.0.2"
    V0_0_3 = "0.0.3"
    V0_0_4 = "0.0.4"
    V1_0_0 = "1.0.0"

    @property
    def is_old(self) -> bool:
        """Whether its messages differ from today's."""
        return self in (Era.V0_0_1, Era.V0_0_2, Era.V0_0_3)


class OldNodeError(ValueError):
    """What is wrong with a record of an old era."""


class _Field(NamedTuple):
    number: int
    wire: int
    value: Any  # int, or bytes


_VARINT, _BYTES, _FIXED32 = 0, 2, 5
_NODES_THAT_TELL = 32
_ID, _NAME, _TYPE, _PARENT, _ATTRIBUTE = 1, 2, 3, 4, 11

# Type and wire type of an attribute's value: the member of today's oneof. The value's field is its type + 4.
_MEMBERS: dict[Era, dict[tuple[int, int], str]] = {
    Era.V0_0_2: {
        (0, _FIXED32): "float_val",
        (1, _VARINT): "int64_val",
        (2, _BYTES): "string_val",
        (3, _FIXED32): "float_list",
        (4, _VARINT): "int64_list",
        (5, _BYTES): "string_list",
    },
    # In August 2023 UINT came before INT and moved what follows; type and wire type together still tell.
    Era.V0_0_3: {
        (0, _VARINT): "bool_val",
        (1, _FIXED32): "float_val",
        (2, _VARINT): "int64_val",
        (3, _VARINT): "int64_val",
        (3, _BYTES): "string_val",
        (4, _VARINT): "bool_list",
        (4, _BYTES): "string_val",
        (5, _VARINT): "bool_list",
        (5, _FIXED32): "float_list",
        (6, _VARINT): "int64_list",
        (6, _FIXED32): "float_list",
        (7, _VARINT): "uint64_list",
        (7, _BYTES): "string_list",
        (8, _VARINT): "int64_list",
        (9, _BYTES): "string_list",
    },
}
_TYPED_FIELDS = {
    5: "tensor_loc",
    6: "tensor_size",
    7: "simulated_run_time",
    8: "input_tensor_loc",
    9: "input_tensor_size",
    10: "output_tensor_loc",
    11: "output_tensor_size",
    12: "num_ops",
    13: "comm_type",
    15: "communicator_id",
    16: "comm_src",
    17: "comm_dst",
    18: "comm_size",
    19: "comm_tag",
    20: "comm_priority",
}
_INVOLVED_DIM = 14
_DURATIONS = ("runtime", "simulated_run_time")
_COLLECTIVES = (
    CollectiveType.ALL_REDUCE,
    CollectiveType.ALL_TO_ALL,
    CollectiveType.ALL_GATHER,
    CollectiveType.REDUCE_SCATTER,
    CollectiveType.BROADCAST,
)
_FIRST_COLLECTIVE = {Era.V0_0_1: 1, Era.V0_0_2: 0, Era.V0_0_3: 0}


def is_metadata(record: bytes) -> bool:
    """Whether the first record of a file is its GlobalMetadata; else the file is older, and it is a node."""
    return not any(field.number == _ID and field.wire == _VARINT for field in _fields(record))


def detect(records: Iterable[bytes]) -> Era | None:
    """The era of a file that begins with these records; None when they do not tell.

    Whatever has a metadata record and no sign of an old era, in it or in the first nodes, counts as today's.
    """
    has_metadata = False
    for number, record in enumerate(records):
        if number == 0 and is_metadata(record):
            has_metadata = True
            if _has_typed_attribute(record, 1):
                return Era.V0_0_3
        elif has_metadata and number > _NODES_THAT_TELL:
            return Era.V1_0_0
        elif era := _era_of_node(record, has_metadata):
            return era
    return Era.V1_0_0 if has_metadata else None


def _era_of_node(record: bytes, has_metadata: bool) -> Era | None:
    try:
        fields = _fields(record)
    except OldNodeError:
        return None
    if has_metadata:
        old = any(field.number == _ATTRIBUTE and field.wire == _BYTES for field in fields)
        return Era.V0_0_3 if old else None
    for field in fields:
        if field.number > _PARENT and field.wire == _VARINT:
            return Era.V0_0_1
        if field.number == _TYPE and field.value > max(NodeType) - 1:
            return Era.V0_0_3
        if field.number == _ATTRIBUTE and field.wire == _BYTES:
            eras = [era for era, members in _MEMBERS.items() if _kinds(field.value) & members.keys()]
            if len(eras) == 1:
                return eras[0]
    return None


def _has_typed_attribute(record: bytes, number: int) -> bool:
    try:
        attributes = [field.value for field in _fields(record) if (field.number, field.wire) == (number, _BYTES)]
        return any(_kinds(attribute) for attribute in attributes)
    except OldNodeError:
        return False


def _kinds(attribute: bytes) -> set[tuple[int, int]]:
    """Type and wire type of an old attribute's values."""
    fields = _fields(attribute)
    types = [field.value for field in fields if (field.number, field.wire) == (2, _VARINT)]
    return {(kind, field.wire) for kind in types[-1:] for field in fields if field.number == kind + 4}


def upgrade_metadata(record: bytes) -> Any:
    """The GlobalMetadata of schema 0.0.3 as one of today's. Raises OldNodeError."""
    metadata = GlobalMetadata(version=Era.V0_0_3)
    for field in _fields(record):
        if (field.number, field.wire) == (1, _BYTES):
            _add_attribute(metadata, field.value, Era.V0_0_3)
    return metadata


def upgrade_node(record: bytes, era: Era) -> Any:
    """A node of an old era as a Node of today's: parents become data dependencies, run times the duration in
    microseconds, communicator_id the process group. Raises OldNodeError for what the era has no meaning for."""
    node = Node()
    try:
        for field in _fields(record):
            _add_field(node, field, era)
    except (UnicodeDecodeError, ValueError, TypeError, OverflowError) as error:
        raise OldNodeError(str(error)) from error
    return node


def _add_field(node: Any, field: _Field, era: Era) -> None:
    if field.wire != (_BYTES if field.number == _NAME else _VARINT) and field.number <= _PARENT:
        raise OldNodeError(f"field {field.number} of Node has wire type {field.wire}")
    if field.number == _ID:
        node.id = field.value
    elif field.number == _NAME:
        node.name = field.value.decode()
    elif field.number == _TYPE:
        node.type = field.value + (era is not Era.V0_0_3 and field.value > 0)
        if node.type > max(NodeType):
            raise OldNodeError(f"no node type has the number {field.value}")
    elif field.number == _PARENT:
        node.data_deps.append(field.value)
    elif era is Era.V0_0_1:
        _add_typed_field(node, field)
    elif field.number < _ATTRIBUTE and field.wire == _BYTES:
        info = node.inputs if field.number < 8 else node.outputs
        setattr(info, ("values", "shapes", "types")[(field.number - 5) % 3], field.value.decode())
    elif field.number == _ATTRIBUTE and field.wire == _BYTES:
        _add_attribute(node, field.value, era)
    else:
        raise OldNodeError(f"schema {era} has no field {field.number} of wire type {field.wire}")


def _add_typed_field(node: Any, field: _Field) -> None:
    if field.number == _INVOLVED_DIM and field.wire == _VARINT:
        last = node.attr[-1] if node.attr and node.attr[-1].name == "involved_dim" else node.attr.add()
        last.name = "involved_dim"
        last.bool_list.values.append(bool(field.value))
        return
    name = _TYPED_FIELDS.get(field.number)
    if name is None or field.wire != _VARINT:
        raise OldNodeError(f"schema {Era.V0_0_1} has no field {field.number} of wire type {field.wire}")
    if name == "communicator_id":
        node.attr.add(name="pg_name", string_val=str(field.value))
    elif name != "comm_type" or field.value:  # 0: INVALID_COMM, of nodes that are no collectives
        _add_number(node, name, field.value, Era.V0_0_1)


def _add_number(node: Any, name: str, value: int, era: Era) -> None:
    if value >= 1 << 63:
        raise OldNodeError(f"{name} = {value} exceeds 2^63 - 1")
    if name in _DURATIONS:
        node.duration_micros = value
        if value > ((1 << 63) - 1) // 1000:
            raise OldNodeError(f"{name} = {value} is too long")
        return
    if name == "comm_type":
        value = _collective(value - _FIRST_COLLECTIVE[era])
    node.attr.add(name=name, int64_val=value)


def _collective(place: int) -> CollectiveType:
    if not 0 <= place < len(_COLLECTIVES):
        raise OldNodeError(f"no collective has the comm_type at place {place}")
    return _COLLECTIVES[place]


def _add_attribute(owner: Any, attribute: bytes, era: Era) -> None:
    fields = _fields(attribute)
    name = b"".join(field.value for field in fields if (field.number, field.wire) == (1, _BYTES)).decode()
    kinds = _kinds(attribute)
    values = [field.value for field in fields if any(field.number == kind + 4 for kind, _ in kinds)]
    if not values:
        owner.attr.add(name=name)
        return
    member = _MEMBERS[era].get(kinds.pop())
    if member is None:
        raise OldNodeError(f"attribute {name}: not of a type that schema {era} has")
    if member.startswith("float"):
        values = [_float(value) for value in values]
    elif member.startswith("string"):
        values = [value.decode() for value in values]
    elif member.startswith("int64"):
        values = [value - (1 << 64) if value >= 1 << 63 else value for value in values]
    if member == "int64_val" and (name in _DURATIONS or name == "comm_type"):
        _add_number(owner, name, values[-1] % (1 << 64), era)
    elif member.endswith("_list"):
        getattr(owner.attr.add(name=name), member).values.extend(values)
    else:
        setattr(owner.attr.add(name=name), member, bool(values[-1]) if member == "bool_val" else values[-1])


def _float(bits: int) -> float:
    return float(np.uint32(bits).view(np.float32))


def _fields(message: bytes) -> list[_Field]:
    """Number, wire type and value of each field of a message of an unknown type."""
    try:
        unknown = UnknownFieldSet(Empty.FromString(message))
        return [_Field(field.field_number, field.wire_type, field.data) for field in unknown]  # type: ignore[attr-defined]  # types-protobuf leaves __iter__ out
    except DecodeError as error:
        raise OldNodeError(str(error)) from error
