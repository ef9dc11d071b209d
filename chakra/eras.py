"""Schema eras of Chakra traces, and the messages of old ones field by field.

From the history of MLCommons' et_def.proto. 0.0.1 (January 2023): proto2, typed fields, no metadata record. 0.0.2 (June
2023): attributes of a name, a type and a value. 0.0.3 (July 2023): METADATA_NODE comes first among the node types, so
all others are one higher; GlobalMetadata since August. 0.0.4 (October 2023): proto3, parents split into control and
data dependencies, one oneof of values, collectives numbered as in MPI. 1.0.0 is 0.0.4 under another name.
"""

from typing import Any, NamedTuple

from google.protobuf.empty_pb2 import Empty
from google.protobuf.message import DecodeError
from google.protobuf.unknown_fields import UnknownFieldSet

from hocket.base.enums import StrEnum

__all__ = [
    "ATTRIBUTE",
    "BYTES",
    "ID",
    "MEMBERS",
    "NAME",
    "PARENT",
    "TYPE",
    "VARINT",
    "Era",
    "Field",
    "OldNodeError",
    "fields_of",
    "kinds_of",
]


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


class Field(NamedTuple):
    """A field of a message: its number, its wire type, its value."""

    number: int
    wire: int
    value: Any  # int, or bytes


# Wire types, and the fields of a node that all old eras have.
VARINT, BYTES, FIXED32 = 0, 2, 5
ID, NAME, TYPE, PARENT, ATTRIBUTE = 1, 2, 3, 4, 11

# Type and wire type of an attribute's value: the member of today's oneof. The value's field is its type + 4.
MEMBERS: dict[Era, dict[tuple[int, int], str]] = {
    Era.V0_0_2: {
        (0, FIXED32): "float_val",
        (1, VARINT): "int64_val",
        (2, BYTES): "string_val",
        (3, FIXED32): "float_list",
        (4, VARINT): "int64_list",
        (5, BYTES): "string_list",
    },
    # In August 2023 UINT came before INT and moved what follows; type and wire type together still tell.
    Era.V0_0_3: {
        (0, VARINT): "bool_val",
        (1, FIXED32): "float_val",
        (2, VARINT): "int64_val",
        (3, VARINT): "int64_val",
        (3, BYTES): "string_val",
        (4, VARINT): "bool_list",
        (4, BYTES): "string_val",
        (5, VARINT): "bool_list",
        (5, FIXED32): "float_list",
        (6, VARINT): "int64_list",
        (6, FIXED32): "float_list",
        (7, VARINT): "uint64_list",
        (7, BYTES): "string_list",
        (8, VARINT): "int64_list",
        (9, BYTES): "string_list",
    },
}


def kinds_of(attribute: bytes) -> set[tuple[int, int]]:
    """Type and wire type of an old attribute's values."""
    fields = fields_of(attribute)
    types = [field.value for field in fields if (field.number, field.wire) == (2, VARINT)]
    return {(kind, field.wire) for kind in types[-1:] for field in fields if field.number == kind + 4}


def fields_of(message: bytes) -> list[Field]:
    """Number, wire type and value of each field of a message of an unknown type."""
    try:
        unknown = UnknownFieldSet(Empty.FromString(message))
        return [Field(field.field_number, field.wire_type, field.data) for field in unknown]  # type: ignore[attr-defined]  # types-protobuf leaves __iter__ out
    except DecodeError as error:
        raise OldNodeError(str(error)) from error
