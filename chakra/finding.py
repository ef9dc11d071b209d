"""What a check of a trace has to say about one node."""

from dataclasses import dataclass
from typing import SupportsIndex

from hocket.base.enums import StrEnum
from hocket.chakra.trace import Trace, TraceSource

__all__ = ["TraceFinding", "TraceSeverity", "at_node", "source_of"]


class TraceSeverity(StrEnum):
    """An error makes a trace useless for simulation; a warning does not."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True)
class TraceFinding:
    """One thing found: where (`source` is the file), in which `field` of the schema, and what was expected."""

    severity: TraceSeverity
    source: str
    field: str
    message: str
    node_id: int | None = None
    node_name: str = ""

    @property
    def text(self) -> str:
        """Where and what, without the severity."""
        node = "" if self.node_id is None else f" node {self.node_id} '{self.node_name}':"
        return f"{self.source}:{node} {self.field}: {self.message}"

    def __str__(self) -> str:
        return f"{self.severity}: {self.text}"


def at_node(
    trace: Trace,
    source: str,
    row: SupportsIndex,
    field: str,
    message: str,
    severity: TraceSeverity = TraceSeverity.ERROR,
) -> TraceFinding:
    """A finding at a row of a trace."""
    return TraceFinding(severity, source, field, message, int(trace.id[row]), trace.strings[trace.name[row]])


def source_of(traces: TraceSource, rank: int) -> str:
    """The file of a rank's trace, or `rank R` when it came from no file."""
    return traces.paths[rank] if traces.paths else f"rank {rank}"
