"""Writes execution traces as `.et` files that MLCommons' tools and ASTRA-sim read."""

import gzip
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from hocket._core import chakra as engine
from hocket.base.files import atomic_write, make_folder, together
from hocket.chakra.astra_sim import adapt, adapt_trace
from hocket.chakra.eras import Era
from hocket.chakra.groups import FILE_NAMES, write_groups
from hocket.chakra.messages import encode_metadata
from hocket.chakra.profile import TraceProfile
from hocket.chakra.trace import Trace, TraceSet
from hocket.chakra.trace_file import framed

__all__ = ["SCHEMA_VERSION", "write_blocks", "write_trace", "write_traces"]

SCHEMA_VERSION = "1.0.0"
_OLD = ("", *(era for era in Era if era.is_old))  # written anew, they are of today's schema
_NODES_AT_ONCE = 1 << 16
_COMPRESSION = 6  # of gzip


def write_trace(path: Path | str, trace: Trace, profile: TraceProfile | str = TraceProfile.MLCOMMONS) -> None:
    """Writes one rank's trace: every attribute that is not -1, with the types MLCommons' tools use.

    A name that ends in .gz makes it gzip. A trace without a version gets schema version 1.0.0. Raises TraceError when
    columns disagree, a value does not fit the type of its attribute, or the profile cannot express the trace
    (`hocket.chakra.astra_sim.adapt_trace`).
    """
    write_blocks(path, [adapt_trace(trace) if TraceProfile(profile) is TraceProfile.ASTRA_SIM else trace])


def write_blocks(path: Path | str, blocks: Iterable[Trace]) -> int:
    """Writes the blocks of one rank's trace, of which there is at least one, as one file, as `write_trace` does; says
    how many nodes they have."""
    num_nodes = 0
    with atomic_write(path, "wb") as raw, _packed(raw, path) as file:
        for number, trace in enumerate(blocks):
            if number == 0:
                version = SCHEMA_VERSION if trace.version in _OLD else trace.version
                file.write(framed(encode_metadata(version, trace.metadata)))
            encoder = engine.Encoder(trace)
            for begin in range(0, len(trace), _NODES_AT_ONCE):
                file.write(encoder.encode(begin, begin + _NODES_AT_ONCE))
            num_nodes += len(trace)
    return num_nodes


@contextmanager
def _packed(raw: IO[bytes], path: Path | str) -> Iterator[IO[bytes] | gzip.GzipFile]:
    if not str(path).endswith(".gz"):
        yield raw
        return
    with gzip.GzipFile("", "wb", _COMPRESSION, raw, mtime=0) as file:
        yield file


def write_traces(
    folder: Path | str,
    traces: TraceSet,
    prefix: str = "trace",
    profile: TraceProfile | str = TraceProfile.MLCOMMONS,
    on_written: Callable[[int], None] | None = None,
    suffix: str = ".et",
) -> Counter[str]:
    """Writes `PREFIX.<rank>.et` (`suffix` .et.gz: as gzip) for every rank and comm_groups.json into a folder, made if
    absent; all of them or none.

    Returns what the profile changed, in words, and on how many nodes; calls `on_written(rank)` after each file.
    Raises TraceError as `write_trace` does.
    """
    changes: Counter[str] = Counter()
    if TraceProfile(profile) is TraceProfile.ASTRA_SIM:
        traces, changes = adapt(traces)
    with together():
        folder = make_folder(folder)
        for rank, trace in enumerate(traces.traces):
            write_trace(folder / f"{prefix}.{rank}{suffix}", trace)
            if on_written:
                on_written(rank)
        write_groups(folder / FILE_NAMES[0], traces.groups)
    return changes
