"""The ranks of a job whose traces are there."""

import re
from dataclasses import dataclass, field
from pathlib import Path

from hocket.base.errors import TraceError
from hocket.chakra.groups import read_groups
from hocket.chakra.job_metadata import ASSUMED_WORLD, described_groups
from hocket.chakra.merging import trace_paths
from hocket.chakra.reading import find_groups, read_trace
from hocket.chakra.trace import Trace

__all__ = ["KnownRanks", "read_known"]

_RANK = re.compile(r"\.([0-9]{1,7})\.et(?:\.gz)?$")


@dataclass(frozen=True)
class KnownRanks:
    """Traces by rank, and the process groups as in `TraceSet`; `world` is the job's number of ranks where the traces
    tell it, `paths` has each rank's file, `descriptions` what groups are for."""

    traces: dict[int, Trace]
    groups: dict[str, tuple[int, ...]]
    world: int | None
    paths: dict[int, str] = field(default_factory=dict)
    descriptions: dict[str, str] = field(default_factory=dict)


def read_known(path: Path | str) -> KnownRanks:
    """The traces in a folder, of a prefix, or one file.

    The rank is in a trace's metadata, else in its file's name. Raises FormatError for what cannot be read, and
    TraceError where two files are of one rank, of jobs of different sizes, or nothing tells a rank.
    """
    traces: dict[int, Trace] = {}
    paths: dict[int, str] = {}
    worlds: dict[int, str] = {}
    descriptions: dict[str, str] = {}
    files = trace_paths(Path(path))
    for file in files:
        trace = read_trace(file, complete=True)
        rank = _rank_of(file, trace)
        if rank in traces:
            raise TraceError(f"{file} and {paths[rank]} are both of rank {rank}: give the traces of one job")
        traces[rank], paths[rank] = trace, str(file)
        world = trace.metadata.get("world_size")
        if isinstance(world, int) and not trace.metadata.keys() & ASSUMED_WORLD.keys():
            worlds.setdefault(world, str(file))
        descriptions |= described_groups(trace.metadata)
    if len(worlds) > 1:
        (first, one), (second, other) = list(worlds.items())[:2]
        raise TraceError(f"{one}: of a job of {first} ranks, but {other} is of one of {second}: give those of one job")
    found = find_groups(files[0].parent)
    return KnownRanks(traces, read_groups(found) if found else {}, next(iter(worlds), None), paths, descriptions)


def _rank_of(file: Path, trace: Trace) -> int:
    rank = trace.metadata.get("rank")
    if isinstance(rank, int) and rank >= 0:
        return rank
    number = _RANK.search(file.name)
    if number is None:
        raise TraceError(f"{file}: neither its metadata nor its name tells its rank: call it NAME.RANK.et")
    return int(number[1])
