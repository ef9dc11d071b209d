"""Metadata and nodes of old schemas as messages of today's."""

from typing import Any

import numpy as np

from hocket.chakra.eras import (
    ATTRIBUTE,
    BYTES,
    ID,
    MEMBERS,
    NAME,
    PARENT,
    TYPE,
    VARINT,
    Era,
    Field,
    OldNodeError,
    fields_of,
    kinds_of,
)
from hocket.chakra.schema import GlobalMetadata, Node
from hocket.chakra.trace import CollectiveType, NodeType

__all__ = ["upgrade_metadata", "upgrade_node"]

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


def upgrade_metadata(record: bytes) -> Any:
    """The GlobalMetadata of schema 0.0.3 as one of today's. Raises OldNodeError."""
    metadata = GlobalMetadata(version=Era.V0_0_3)
    for field in fields_of(record):
        if (field.number, field.wire) == (1, BYTES):
            _add_attribute(metadata, field.value, Era.V0_0_3)
    return metadata


def upgrade_node(record: bytes, era: Era) -> Any:
    """A node of an old era as a Node of today's: parents become data dependencies, run times the duration in
    microseconds, communicator_id the process group. Raises OldNodeError for what the era has no meaning for."""
    node = Node()
    try:
        for field in fields_of(record):
            _add_field(node, field, era)
    except (UnicodeDecodeError, ValueError, TypeError, OverflowError) as error:
        raise OldNodeError(str(error)) from error
    return node


def _add_field(node: Any, field: Field, era: Era) -> None:
    if field.wire != (BYTES if field.number == NAME else VARINT) and field.number <= PARENT:
        raise OldNodeError(f"field {field.number} of Node has wire type {field.wire}")
    if field.number == ID:
        node.id = field.value
    elif field.number == NAME:
        node.name = field.value.decode()
    elif field.number == TYPE:
        node.type = field.value + (era is not Era.V0_0_3 and field.value > 0)
        if node.type > max(NodeType):
            raise OldNodeError(f"no node type has the number {field.value}")
    elif field.number == PARENT:
        node.data_deps.append(field.value)
    elif era is Era.V0_0_1:
        _add_typed_field(node, field)
    elif field.number < ATTRIBUTE and field.wire == BYTES:
        info = node.inputs if field.number < 8 else node.outputs
        setattr(info, ("values", "shapes", "types")[(field.number - 5) % 3], field.value.decode())
    elif field.number == ATTRIBUTE and field.wire == BYTES:
        _add_attribute(node, field.value, era)
    else:
        raise OldNodeError(f"schema {era} has no field {field.number} of wire type {field.wire}")


def _add_typed_field(node: Any, field: Field) -> None:
    if field.number == _INVOLVED_DIM and field.wire == VARINT:
        last = node.attr[-1] if node.attr and node.attr[-1].name == "involved_dim" else node.attr.add()
        last.name = "involved_dim"
        last.bool_list.values.append(bool(field.value))
        return
    name = _TYPED_FIELDS.get(field.number)
    if name is None or field.wire != VARINT:
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
    fields = fields_of(attribute)
    name = b"".join(field.value for field in fields if (field.number, field.wire) == (1, BYTES)).decode()
    kinds = kinds_of(attribute)
    values = [field.value for field in fields if any(field.number == kind + 4 for kind, _ in kinds)]
    if not values:
        owner.attr.add(name=name)
        return
    member = MEMBERS[era].get(kinds.pop())
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
