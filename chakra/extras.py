"""Attributes of nodes that have no column."""

from hocket.chakra.schema import Node
from hocket.chakra.trace import Trace

__all__ = ["extra_attributes"]


def extra_attributes(trace: Trace, row: int) -> dict[str, int | str]:
    """Those of the node in a row, such as `pass`, `stage` and `micro_batch` of a generated training step; whole numbers
    and texts only."""
    node = Node()
    node.ParseFromString(trace.rest[trace.rest_offset[row] : trace.rest_offset[row + 1]].tobytes())
    found: dict[str, int | str] = {}
    for attribute in node.attr:
        if attribute.HasField("int64_val"):
            found[attribute.name] = int(attribute.int64_val)
        elif attribute.HasField("string_val"):
            found[attribute.name] = str(attribute.string_val)
    return found
