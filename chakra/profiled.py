"""What a profile's trace says beside its columns: computations that run side by side, communication of unknown size."""

from collections.abc import Mapping

from hocket.chakra.trace import Trace

__all__ = ["HOST", "RUNS_SIDE_BY_SIDE", "SIDE_BY_SIDE", "UNSIZED", "is_unsized", "runs_side_by_side", "unsized"]

#: The name of a COMP node in which a rank, or one of its streams, waits for the host.
HOST = "host"
#: How the names of COMP nodes begin that are `unsized`.
UNSIZED = "communication of unknown size"

SIDE_BY_SIDE = "computes_side_by_side"
#: Metadata of a trace whose dependencies say all of what runs after what on the rank, as those of a GPU's streams or a
#: host's threads: computations that do not depend on each other run side by side. Without it a rank computes one node
#: at a time.
RUNS_SIDE_BY_SIDE: Mapping[str, object] = {SIDE_BY_SIDE: True}


def runs_side_by_side(trace: Trace) -> bool:
    """Whether the trace says RUNS_SIDE_BY_SIDE."""
    return trace.metadata.get(SIDE_BY_SIDE) is True


def unsized(kernel: str) -> str:
    """The name of a COMP node for a kernel that communicates, of which nothing but its time is known."""
    return f"{UNSIZED}: {kernel}"


def is_unsized(name: str) -> bool:
    """Whether a COMP node of this name is communication that takes the time that was recorded, and uses no links."""
    return name.startswith(UNSIZED)
