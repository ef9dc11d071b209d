"""Which schema era a Chakra trace is of.

Files before 0.0.4 do not say what they are, but the fields of each era have other numbers or wire types: the first
nodes that have more than id, name, type and parents tell.
"""

from collections.abc import Iterable

from hocket.chakra.eras import (
    ATTRIBUTE,
    BYTES,
    ID,
    MEMBERS,
    PARENT,
    TYPE,
    VARINT,
    Era,
    OldNodeError,
    fields_of,
    kinds_of,
)
from hocket.chakra.trace import NodeType

__all__ = ["detect", "is_metadata"]

_NODES_THAT_TELL = 32


def is_metadata(record: bytes) -> bool:
    """Whether the first record of a file is its GlobalMetadata; else the file is older, and it is a node."""
    return not any(field.number == ID and field.wire == VARINT for field in fields_of(record))


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
        fields = fields_of(record)
    except OldNodeError:
        return None
    if has_metadata:
        old = any(field.number == ATTRIBUTE and field.wire == BYTES for field in fields)
        return Era.V0_0_3 if old else None
    for field in fields:
        if field.number > PARENT and field.wire == VARINT:
            return Era.V0_0_1
        if field.number == TYPE and field.value > max(NodeType) - 1:
            return Era.V0_0_3
        if field.number == ATTRIBUTE and field.wire == BYTES:
            eras = [era for era, members in MEMBERS.items() if kinds_of(field.value) & members.keys()]
            if len(eras) == 1:
                return eras[0]
    return None


def _has_typed_attribute(record: bytes, number: int) -> bool:
    try:
        attributes = [field.value for field in fields_of(record) if (field.number, field.wire) == (number, BYTES)]
        return any(kinds_of(attribute) for attribute in attributes)
    except OldNodeError:
        return False
