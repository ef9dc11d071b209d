"""Timelines in the "Trace Event Format", which Perfetto (https://ui.perfetto.dev) and chrome://tracing open: complete
events `X`, names of processes and tracks `M`, and arrows `s` to `f` between events; times in microseconds."""

import gzip
import json
from collections.abc import Iterable, Mapping
from contextlib import nullcontext
from itertools import islice
from pathlib import Path
from typing import IO, Any

from hocket.base.files import atomic_write

__all__ = ["arrow_event", "name_event", "span_event", "write_events"]

_BATCH = 4096  # events written at a time
_COMPRESSION = 3  # of gzip: a third larger than at most, in a fraction of the time


def write_events(path: Path | str, events: Iterable[str], about: Mapping[str, Any] | None = None) -> None:
    """Writes a file, gzipped where its name ends in .gz, of events that are JSON already: hundreds of thousands are put
    together from parts that are encoded once. `about` stands beside them, where viewers show it or leave it."""
    events, separator = iter(events), ""
    with atomic_write(path, "wb") as raw, _packed(raw) if Path(path).suffix == ".gz" else nullcontext(raw) as file:
        file.write(b'{"displayTimeUnit": "ns", "traceEvents": [\n')
        while batch := list(islice(events, _BATCH)):
            file.write((separator + ",\n".join(batch)).encode())
            separator = ",\n"
        file.write(f'\n], "otherData": {json.dumps(about or {})}}}\n'.encode())


def _packed(raw: IO[bytes]) -> gzip.GzipFile:
    return gzip.GzipFile("", "wb", _COMPRESSION, raw, mtime=0)


def name_event(what: str, process: int, track: int, name: str) -> str:
    """Names a process (`what` is process_name) or a track of it (thread_name)."""
    return json.dumps({"ph": "M", "name": what, "pid": process, "tid": track, "args": {"name": name}})


def span_event(name: str, process: int, track: int, begin_us: float, duration_us: float, arguments: str) -> str:
    """Something that takes time. Name and arguments (without braces) are JSON."""
    return (
        f'{{"ph": "X", "name": {name}, "pid": {process}, "tid": {track}, "ts": {begin_us}, "dur": {duration_us},'
        f' "args": {{{arguments}}}}}'
    )


def arrow_event(number: int, process: int, track: int, at_us: float, *, begins: bool) -> str:
    """An end of the arrow `number`, which joins the spans that these two tracks show at these times."""
    end = '"ph": "s"' if begins else '"ph": "f", "bp": "e"'
    where = f'"pid": {process}, "tid": {track}, "ts": {at_us}'
    return f'{{{end}, "name": "message", "cat": "message", "id": {number}, {where}}}'
