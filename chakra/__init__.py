"""MLCommons Chakra execution traces: read, write, check, convert."""

from hocket.chakra.trace import CollectiveType, NodeType, Trace, TraceSet

__all__ = ["CollectiveType", "NodeType", "Trace", "TraceSet"]
