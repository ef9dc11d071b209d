"""MLCommons Chakra execution traces: read, write, check, convert."""

from hocket.base.late_imports import late_imports

with late_imports(__name__):
    from hocket.chakra.builder import TraceBuilder
    from hocket.chakra.reading import read_trace, read_traces
    from hocket.chakra.trace import CollectiveType, NodeType, Trace, TraceSet
    from hocket.chakra.writing import write_trace, write_traces

__all__ = [
    "CollectiveType",
    "NodeType",
    "Trace",
    "TraceBuilder",
    "TraceSet",
    "read_trace",
    "read_traces",
    "write_trace",
    "write_traces",
]
