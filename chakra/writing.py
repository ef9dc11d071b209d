"""Writes execution traces as `.et` files that MLCommons' tools and ASTRA-sim read."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path

from hocket._core import chakra as engine
from hocket.chakra.astra_sim import adapt, adapt_trace
from hocket.chakra.groups import FILE_NAMES, write_groups
from hocket.chakra.messages import encode_metadata
from hocket.chakra.profile import Profile
from hocket.chakra.trace import Trace, TraceSet
from hocket.chakra.trace_file import framed
from hocket.core.files import atomic_write

__all__ = ["SCHEMA_VERSION", "write_trace", "write_traces"]

SCHEMA_VERSION = "1.0.0"
_NODES_AT_ONCE = 1 << 16


def write_trace(path: Path | str, trace: Trace, profile: Profile | str = Profile.MLCOMMONS) -> None:
    """Writes one rank's trace: every attribute that is not -1, with the types MLCommons' tools use.

    A trace without a version gets schema version 1.0.0. Raises TraceError when columns disagree, a value does not fit
    the type of its attribute, or the profile cannot express the trace (`hocket.chakra.astra_sim.adapt_trace`).
    """
    if Profile(profile) is Profile.ASTRA_SIM:
        trace = adapt_trace(trace)
    encoder = engine.Encoder(trace)
    metadata = encode_metadata(trace.version or SCHEMA_VERSION, trace.metadata)
    with atomic_write(path, "wb") as file:
        file.write(framed(metadata))
        for begin in range(0, len(trace), _NODES_AT_ONCE):
            file.write(encoder.encode(begin, begin + _NODES_AT_ONCE))


def write_traces(
    folder: Path | str,
    traces: TraceSet,
    prefix: str = "trace",
    profile: Profile | str = Profile.MLCOMMONS,
    on_written: Callable[[int], None] | None = None,
) -> Counter[str]:
    """Writes `PREFIX.<rank>.et` for every rank and comm_groups.json into a folder, made if absent.

    Returns what the profile changed, in words, and on how many nodes; calls `on_written(rank)` after each file.
    Raises TraceError as `write_trace` does.
    """
    changes: Counter[str] = Counter()
    if Profile(profile) is Profile.ASTRA_SIM:
        traces, changes = adapt(traces)
    folder = Path(folder)
    for rank, trace in enumerate(traces.traces):
        write_trace(folder / f"{prefix}.{rank}.et", trace)
        if on_written:
            on_written(rank)
    write_groups(folder / FILE_NAMES[0], traces.groups)
    return changes
