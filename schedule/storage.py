"""`.schedule` files: schedules, spelled out or folded, each with its collective and its topology in one container."""

from pathlib import Path
from typing import Annotated, Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from hocket.base.errors import FormatError, HocketError, ScheduleError
from hocket.schedule import container
from hocket.schedule.collective import Collective, Kind
from hocket.schedule.conditions import Conditions
from hocket.schedule.container import ArrayEntry, Count
from hocket.schedule.folded import AnySchedule, FoldedSchedule
from hocket.schedule.folded_storage import (
    FoldedHeader,
    dtype,
    folded_arrays,
    folded_header,
    folded_streams,
    phases,
    symmetry,
)
from hocket.schedule.schedule import Bound, Schedule
from hocket.topology import DEFAULT_ROUTING, Dimension, Topology

__all__ = ["load", "load_expanded", "save"]

_SCHEDULE_ARRAYS = {
    "route_offset": "<i8",
    "route_links": "<i4",
    "chunk": "<i4",
    "route": "<i4",
    "reduce": "|b1",
    "start_ps": "<i8",
    "finish_ps": "<i8",
}
_TOPOLOGY_ARRAYS = {
    "src": "<i4",
    "dst": "<i4",
    "latency_ps": "<i8",
    "bandwidth": "<i8",
    "link_class": "<i4",
    "machine": "<i4",
}
_CONDITION_ARRAYS = {"origin": "<i4", "destination": "<i4", "chunk_bytes": "<i8"}
_OPTIONAL_ARRAYS = {"group": "<i4", "own": "|b1"} | {
    f"conditions.{name}": dtype for name, dtype in _CONDITION_ARRAYS.items()
}
_DTYPES = _SCHEDULE_ARRAYS | {f"topology.{name}": dtype for name, dtype in _TOPOLOGY_ARRAYS.items()} | _OPTIONAL_ARRAYS

_Bytes = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]


class _Collective(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    kind: Kind
    num_ranks: Count
    size_bytes: _Bytes
    chunks_per_rank: Count
    root: Count
    block_bytes: tuple[_Bytes, ...] | None = None
    sets: tuple[tuple[Count, ...], ...] = ()
    cut_whole: bool = False


class _Topology(msgspec.Struct, forbid_unknown_fields=True):
    name: str
    num_ranks: Count
    num_nodes: Count
    classes: list[str]
    dimensions: list[Dimension]
    notes: list[str]
    fingerprint: str
    in_network: list[Count] = []


class _Header(msgspec.Struct, forbid_unknown_fields=True):
    collective: _Collective
    topology: _Topology
    timed: bool
    blocking: bool
    bound: Bound | None
    generator: str
    seed: int | None
    arrays: list[ArrayEntry]
    folded: FoldedHeader | None = None
    relays: bool = False


def _arrays(schedule: AnySchedule) -> dict[str, NDArray[Any]]:
    if isinstance(schedule, FoldedSchedule):
        arrays = folded_arrays(schedule)
    else:
        arrays = {name: getattr(schedule, name) for name in _SCHEDULE_ARRAYS}
        if schedule.group is not None:
            arrays["group"] = schedule.group
        if schedule.is_own.any():
            arrays["own"] = schedule.is_own
    if (conditions := schedule.collective.conditions) is not None:
        arrays |= {f"conditions.{name}": getattr(conditions, name) for name in _CONDITION_ARRAYS}
    arrays |= {f"topology.{name}": getattr(schedule.topology, name) for name in _TOPOLOGY_ARRAYS}
    return {name: np.ascontiguousarray(array, dtype=_dtype(name)) for name, array in arrays.items()}


def _dtype(name: str) -> str | None:
    return _DTYPES.get(name) or dtype(name)


def _header(schedule: AnySchedule, table: list[ArrayEntry]) -> bytes:
    collective, topology = schedule.collective, schedule.topology
    header = _Header(
        collective=_Collective(
            collective.kind,
            collective.num_ranks,
            collective.size_bytes,
            collective.chunks_per_rank,
            collective.root,
            collective.block_bytes,
            () if collective.conditions is None else collective.conditions.sets,
            collective.cut_whole,
        ),
        topology=_Topology(
            topology.name,
            topology.num_ranks,
            topology.num_nodes,
            list(topology.classes),
            list(topology.dimensions),
            list(topology.notes),
            topology.fingerprint,
            list(topology.in_network),
        ),
        timed=isinstance(schedule, FoldedSchedule) or schedule.timed,
        blocking=schedule.blocking,
        bound=schedule.bound,
        generator=schedule.generator,
        seed=schedule.seed,
        arrays=table,
        folded=folded_header(schedule) if isinstance(schedule, FoldedSchedule) else None,
        relays=isinstance(schedule, Schedule) and schedule.relays,
    )
    return msgspec.json.encode(header)


def save(schedule: AnySchedule, path: Path | str) -> None:
    """Writes the schedule, its collective and its topology to one file, whole or not at all."""
    streams = folded_streams(schedule) if isinstance(schedule, FoldedSchedule) else {}
    container.write(path, lambda table: _header(schedule, table), _arrays(schedule), streams)


def load(path: Path | str, check: bool = True) -> AnySchedule:
    """The schedule in a `.schedule` file; its columns are read-only memory maps of the file. Rounds of a folded one are
    read, and their checksums compared, when they are needed.

    Raises FormatError, naming the file, when it is not what `save` wrote: `check` compares the checksum of every array
    and checks every index; without it a file of any size opens at once and only the header is checked.
    """
    path = Path(path)
    try:
        content = np.memmap(path, mode="r")
    except OSError as error:
        raise FormatError(f"{path}: {error.strerror}") from error
    except ValueError as error:
        raise FormatError(f"{path}: empty, not a .schedule file") from error
    try:
        return _parse(path, content, check)
    except (HocketError, msgspec.MsgspecError) as error:
        raise FormatError(f"{path}: {error}; write it again with `hocket synthesize -o`") from error


def load_expanded(path: Path | str) -> Schedule:
    """The schedule in a `.schedule` file, a folded one spelled out. Raises what `load` does, and ScheduleError when it
    has more transfers than memory can hold."""
    schedule = load(path)
    try:
        return schedule.expand()
    except ScheduleError as error:
        raise ScheduleError(f"{path}: {error}") from error


def _parse(path: Path, content: NDArray[np.uint8], check: bool) -> AnySchedule:
    header = msgspec.json.decode(container.header(content), type=_Header)
    for entry in header.arrays:
        if _dtype(entry.name) != entry.dtype:
            raise FormatError(f"array {entry.name} of type {entry.dtype} is not part of a schedule")
    arrays = {entry.name: container.array(content, entry, check) for entry in header.arrays}
    wanted = {f"topology.{name}" for name in _TOPOLOGY_ARRAYS} | (set() if header.folded else _SCHEDULE_ARRAYS.keys())
    missing = wanted - arrays.keys()
    if missing:
        raise FormatError(f"array {min(missing)} is missing")
    topology = Topology(
        name=header.topology.name,
        num_ranks=header.topology.num_ranks,
        num_nodes=header.topology.num_nodes,
        classes=tuple(header.topology.classes),
        dimensions=tuple(header.topology.dimensions),
        notes=tuple(header.topology.notes),
        in_network=tuple(header.topology.in_network),
        routing=DEFAULT_ROUTING,  # the schedule names its routes
        cluster=(),
        **{name: arrays[f"topology.{name}"] for name in _TOPOLOGY_ARRAYS},
    )
    if topology.fingerprint != header.topology.fingerprint:
        raise FormatError("the topology is not the one the schedule was made for (its fingerprint differs)")
    collective = _collective(header.collective, arrays)
    if header.folded is not None:
        folded = FoldedSchedule(
            collective=collective,
            topology=topology,
            symmetry=symmetry(header.folded),
            phases=tuple(phases(header.folded, arrays, header.arrays, path, collective.num_chunks)),
            blocking=header.blocking,
            bound=header.bound,
            generator=header.generator,
            seed=header.seed,
        )
        if check:
            folded.check()
        return folded
    schedule = Schedule(
        collective=collective,
        topology=topology,
        **{name: arrays[name] for name in _SCHEDULE_ARRAYS},
        timed=header.timed,
        blocking=header.blocking,
        bound=header.bound,
        generator=header.generator,
        seed=header.seed,
        group=arrays.get("group"),
        relays=header.relays,
        own=arrays.get("own"),
    )
    if check:
        _ = schedule.transfers  # the engine checks every index
    return schedule


def _collective(header: _Collective, arrays: dict[str, NDArray[Any]]) -> Collective:
    fields = msgspec.structs.asdict(header)
    sets = fields.pop("sets")
    if header.kind is not Kind.CUSTOM:
        return Collective(**fields)
    missing = {f"conditions.{name}" for name in _CONDITION_ARRAYS} - arrays.keys()
    if missing:
        raise FormatError(f"array {min(missing)} is missing")
    columns = {name: arrays[f"conditions.{name}"] for name in _CONDITION_ARRAYS}
    return Collective(**fields, conditions=Conditions(**columns, sets=sets))
