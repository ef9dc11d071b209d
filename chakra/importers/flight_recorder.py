"""Dumps of PyTorch's Flight Recorder: pickle of `_dump_nccl_trace`, JSON of `_dump_fr_trace_json` and the watchdog.

A dump has the newest collectives and messages of one rank (a ring buffer, 2000 of them unless told) with issue times,
sizes, types and sequence numbers, but neither roots, reductions, splits nor waits. Fields: torch/csrc/distributed/
c10d/FlightRecorder.hpp, versions 2.0 to 2.10; the file's name ends in the rank.
"""

import json
import pickle
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import Annotated, Any

import msgspec

from hocket.base.collectives import BARRIER, NAMED_KINDS, kind_called
from hocket.base.errors import FormatError
from hocket.base.reading import JSON, read_bytes
from hocket.chakra.importers.common_calls import agreeing
from hocket.chakra.importers.dtypes import common_dtype, dtype_name, tensors_bytes
from hocket.chakra.importers.lanes import build_lanes
from hocket.chakra.importers.rank import IssuedCall, Notes, RankTrace

__all__ = ["is_flight_recorder", "read_flight_recorder"]

_Count = Annotated[int, msgspec.Meta(ge=0, le=2**62)]
_Extent = Annotated[int, msgspec.Meta(ge=0, le=2**48)]


class _Entry(msgspec.Struct):
    profiling_name: str
    process_group: tuple[str, str]
    time_created_ns: _Count
    record_id: _Count = 0
    collective_seq_id: _Count = 0
    input_sizes: list[list[_Extent]] = []
    output_sizes: list[list[_Extent]] = []
    input_dtypes: list[str] = []
    output_dtypes: list[str] = []
    state: str | None = None
    retired: bool = False
    is_p2p: bool = False
    duration_ms: Annotated[float, msgspec.Meta(ge=0, le=1e12)] | None = None
    time_discovered_started_ns: _Count | None = None
    time_discovered_completed_ns: _Count | None = None
    thread_id: str = ""


class _Group(msgspec.Struct):
    name: str = ""
    desc: str = ""
    ranks: str = "[]"


class _Dump(msgspec.Struct):
    version: str
    entries: list[_Entry] = []
    pg_config: dict[str, _Group] = {}


_COLLECTIVES = {*NAMED_KINDS, BARRIER}
_ROOTED = [kind for kind in NAMED_KINDS if kind.rooted]
_MESSAGE = re.compile(r"(send|recv) (\d{1,9})(?:->|<-)(\d{1,9})")
_RANK = re.compile(r"(\d{1,9})\D*$")


def is_flight_recorder(head: bytes) -> bool:
    """Whether a file that begins like this is a dump: a pickle, or JSON with a dump's first keys."""
    return head[:1] == b"\x80" or bool(re.search(rb'"(comm_lib_version|nccl_version|pg_config|profiling_name)"', head))


def read_flight_recorder(paths: Sequence[Path], notes: Notes) -> list[RankTrace]:
    """The ranks of a job, one dump each. Raises FormatError, naming the file, for what is no dump."""
    dumps = {}
    for path in paths:
        rank = _rank_of(path)
        if rank in dumps:
            raise FormatError(f"{path}: another file is of rank {rank} already; import one job at a time")
        dumps[rank] = _read(path)
    sources = {_rank_of(path): str(path) for path in paths}
    groups = _groups(dumps, notes)
    calls = {rank: list(_calls(rank, dump, groups, sources[rank], notes)) for rank, dump in dumps.items()}
    notes["collectives and messages with unknown waits: nothing but the next of their group depends on them"] += sum(
        map(len, calls.values())
    )
    notes["computation is the time between the issues of operations on the host"] += 1
    kept = agreeing(calls, groups, notes)
    return [
        RankTrace(rank, None, build_lanes(rank, own, "compute", {"generator": "Flight Recorder"}), groups)
        for rank, own in kept.items()
    ]


def _rank_of(path: Path) -> int:
    found = _RANK.search(path.name.removesuffix(".gz").removesuffix(".json").removesuffix(".pkl"))
    if not found:
        raise FormatError(f"{path}: the name of a Flight Recorder dump ends in its rank, as nccl_trace_rank_3 does")
    return int(found[1])


class _Unpickler(pickle._Unpickler):
    """Builds nothing but lists, tuples, dictionaries, texts and numbers; no pickle can call anything.

    In Python, since the one in C takes as much memory as the pickle asks for.
    """

    def find_class(self, module: str, name: str) -> Any:
        if module == "torch.jit._pickle" and name in ("build_intlist", "build_doublelist", "build_boollist"):
            return list
        raise pickle.UnpicklingError(f"it wants {module}.{name}, which no Flight Recorder dump needs")


def _read(path: Path) -> _Dump:
    data = read_bytes(path, JSON)
    try:
        dump = msgspec.convert(_Unpickler(BytesIO(data)).load() if data[:1] == b"\x80" else json.loads(data), _Dump)
    except Exception as error:  # whatever damaged pickles raise, which may be anything
        raise FormatError(f"{path}: no Flight Recorder dump: {type(error).__name__}: {error}") from error
    if not dump.version.startswith("2."):
        raise FormatError(f"{path}: a Flight Recorder dump of version {dump.version}; versions 2.x can be read")
    return dump


def _groups(dumps: Mapping[int, _Dump], notes: Notes) -> dict[str, tuple[int, ...]]:
    """World ranks of every group that was used, by name."""
    users: dict[str, set[int]] = defaultdict(set)
    described = {}
    for rank, dump in dumps.items():
        for entry in dump.entries:
            name, description = entry.process_group
            users[name].add(rank)
            described[name] = description
    told: dict[str, tuple[int, ...]] = {}
    for dump in dumps.values():
        for name, group in dump.pg_config.items():
            ranks = tuple(int(number) for number in re.findall(r"\d{1,9}", group.ranks))
            if ranks and len(set(ranks)) == len(ranks):
                told[group.name or name] = ranks
    groups = {}
    for name, seen in users.items():
        if seen <= set(told.get(name, ())):
            groups[name] = told[name]
        elif described[name] == "default_pg":
            groups[name] = tuple(range(max(dumps) + 1))
        else:
            groups[name] = tuple(sorted(seen))
            notes[f"group {name}: its ranks are not in the dumps; taken to be those that used it: {sorted(seen)}"] += 1
    return groups


def _calls(
    rank: int, dump: _Dump, groups: Mapping[str, tuple[int, ...]], source: str, notes: Notes
) -> Iterator[IssuedCall]:
    lanes: dict[str, int] = {}
    for entry in sorted(dump.entries, key=lambda entry: entry.record_id):
        place = f"{source}: record {entry.record_id} '{entry.profiling_name}'"
        backend, _, operation = entry.profiling_name.rpartition(":")
        group = entry.process_group[0]
        lane = lanes.setdefault(entry.thread_id, len(lanes))
        begin = entry.time_created_ns
        if entry.state != "completed" and not entry.retired:
            state = f"{entry.state or 'scheduled'}, never completed"
            notes[f"rank {rank}: {operation} #{entry.collective_seq_id} of group {group}: {state}"] += 1
        if message := _MESSAGE.fullmatch(operation):
            kind, peer = message[1], int(message[3])
            if peer >= len(groups[group]):
                raise FormatError(f"{place}: the group has {len(groups[group])} ranks")
            num_bytes = _output_bytes(entry, place) if kind == "recv" else _input_bytes(entry, place)
            yield IssuedCall(kind, group, num_bytes, begin, _end(entry, notes), lane, peer=groups[group][peer])
        elif (kind := kind_called(operation)) in _COLLECTIVES:
            if kind in _ROOTED:
                notes[f"{kind} operations with unknown root"] += 1
            if backend == "gloo" and kind == "all_reduce":
                notes["all_reduce of gloo may stand for reduce_scatter, which gloo builds from it"] += 1
            num_bytes = 0 if kind == "barrier" else _input_bytes(entry, place)
            if kind == "scatter" and not entry.input_sizes:
                num_bytes = _output_bytes(entry, place) * len(groups[group])
            queue = group if backend == "nccl" else ""
            number = entry.collective_seq_id
            dtype = common_dtype(map(dtype_name, entry.input_dtypes or entry.output_dtypes))
            end = _end(entry, notes)
            yield IssuedCall(kind, group, num_bytes, begin, end, lane, dtype=dtype, sequence=number, queue=queue)
        else:
            notes[f"operations '{entry.profiling_name}' that stand for no collective of their own: left out"] += 1


def _input_bytes(entry: _Entry, place: str) -> int:
    return tensors_bytes(entry.input_sizes, entry.input_dtypes, place)


def _output_bytes(entry: _Entry, place: str) -> int:
    return tensors_bytes(entry.output_sizes, entry.output_dtypes, place)


def _end(entry: _Entry, notes: Notes) -> int | None:
    if entry.duration_ms is not None:
        return entry.time_created_ns + round(entry.duration_ms * 1e6)
    begin, end = entry.time_discovered_started_ns, entry.time_discovered_completed_ns
    if begin and end:
        notes["durations from when the watchdog looked, which may be late (TORCH_NCCL_ENABLE_TIMING=1 measures)"] += 1
        return entry.time_created_ns + max(end - begin, 0)
    notes["operations of unknown duration"] += 1
    return None
