"""The `.schedule` container: one self-contained file per schedule, opened by memory map.

Layout: the magic (8 bytes), the length of the header (8 bytes, little-endian), the CRC-32 of the header (4 bytes), the
header (JSON), then the arrays, little-endian, each at a multiple of 64 bytes. The header lists the arrays with their
offsets in the file and CRC-32s; the topology's arrays are among them.
"""

import struct
import zlib
from pathlib import Path
from typing import Annotated, Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from hocket.core.errors import FormatError, HocketError
from hocket.core.files import atomic_write
from hocket.schedule.collective import Collective, Kind
from hocket.schedule.schedule import Bound, Schedule
from hocket.topology import Dimension, Topology

__all__ = ["load", "save"]

_MAGIC = b"HOCKETS\x01"
_PREAMBLE = struct.Struct("<8sQI")
_ALIGNMENT = 64
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
_GROUP_ARRAY = {"group": "<i4"}
_DTYPES = _SCHEDULE_ARRAYS | {f"topology.{name}": dtype for name, dtype in _TOPOLOGY_ARRAYS.items()} | _GROUP_ARRAY

_Count = Annotated[int, msgspec.Meta(ge=0, lt=2**31)]
_Bytes = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]


class _Array(msgspec.Struct, forbid_unknown_fields=True):
    name: str
    dtype: str
    length: _Count
    offset: _Bytes
    crc32: int


class _Collective(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    kind: Kind
    num_ranks: _Count
    size_bytes: _Bytes
    chunks_per_rank: _Count
    root: _Count
    block_bytes: tuple[_Bytes, ...] | None = None


class _Topology(msgspec.Struct, forbid_unknown_fields=True):
    name: str
    num_ranks: _Count
    num_nodes: _Count
    classes: list[str]
    dimensions: list[Dimension]
    notes: list[str]
    fingerprint: str
    in_network: list[_Count] = []


class _Header(msgspec.Struct, forbid_unknown_fields=True):
    collective: _Collective
    topology: _Topology
    timed: bool
    blocking: bool
    bound: Bound | None
    generator: str
    seed: int | None
    arrays: list[_Array]


def _arrays(schedule: Schedule) -> dict[str, NDArray[Any]]:
    arrays = {name: getattr(schedule, name) for name in _SCHEDULE_ARRAYS}
    arrays |= {f"topology.{name}": getattr(schedule.topology, name) for name in _TOPOLOGY_ARRAYS}
    if schedule.group is not None:
        arrays["group"] = schedule.group
    return {name: np.ascontiguousarray(array, dtype=_DTYPES[name]) for name, array in arrays.items()}


def _header(schedule: Schedule, table: list[_Array]) -> bytes:
    collective, topology = schedule.collective, schedule.topology
    header = _Header(
        collective=_Collective(
            collective.kind,
            collective.num_ranks,
            collective.size_bytes,
            collective.chunks_per_rank,
            collective.root,
            collective.block_bytes,
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
        timed=schedule.timed,
        blocking=schedule.blocking,
        bound=schedule.bound,
        generator=schedule.generator,
        seed=schedule.seed,
        arrays=table,
    )
    return msgspec.json.encode(header)


def _aligned(offset: int) -> int:
    return -(-offset // _ALIGNMENT) * _ALIGNMENT


def save(schedule: Schedule, path: Path | str) -> None:
    """Writes the schedule, its collective and its topology to one file, whole or not at all."""
    arrays = _arrays(schedule)
    table = [_Array(name, _DTYPES[name], len(array), 0, zlib.crc32(array.data)) for name, array in arrays.items()]
    # The offsets are part of the header whose length they depend on: reserve room for twenty digits each.
    end = _PREAMBLE.size + len(_header(schedule, table)) + 20 * len(table)
    for entry, array in zip(table, arrays.values(), strict=True):
        entry.offset = _aligned(end)
        end = entry.offset + array.nbytes
    header = _header(schedule, table)
    with atomic_write(path, "wb") as file:
        file.write(_PREAMBLE.pack(_MAGIC, len(header), zlib.crc32(header)))
        file.write(header)
        for entry, array in zip(table, arrays.values(), strict=True):
            file.write(bytes(entry.offset - file.tell()))
            file.write(array.data)


def load(path: Path | str, check: bool = True) -> Schedule:
    """The schedule in a `.schedule` file; its columns are read-only memory maps of the file.

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
        return _parse(content, check)
    except (HocketError, msgspec.MsgspecError) as error:
        raise FormatError(f"{path}: {error}; write it again with `hocket synthesize -o`") from error


def _parse(content: NDArray[np.uint8], check: bool) -> Schedule:
    if len(content) < _PREAMBLE.size:
        raise FormatError(f"{len(content)} bytes are too few for a .schedule file")
    magic, length, checksum = _PREAMBLE.unpack_from(content.data)
    if magic != _MAGIC:
        raise FormatError("not a .schedule file (it starts with other bytes)")
    text = content[_PREAMBLE.size : _PREAMBLE.size + length].tobytes()
    if len(text) < length or zlib.crc32(text) != checksum:
        raise FormatError("the header is truncated or damaged (its checksum differs)")
    header = msgspec.json.decode(text, type=_Header)
    arrays = {entry.name: _array(content, entry, check) for entry in header.arrays}
    missing = _DTYPES.keys() - arrays.keys() - _GROUP_ARRAY.keys()
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
        **{name: arrays[f"topology.{name}"] for name in _TOPOLOGY_ARRAYS},
    )
    if topology.fingerprint != header.topology.fingerprint:
        raise FormatError("the topology is not the one the schedule was made for (its fingerprint differs)")
    schedule = Schedule(
        collective=Collective(**msgspec.structs.asdict(header.collective)),
        topology=topology,
        **{name: arrays[name] for name in _SCHEDULE_ARRAYS},
        timed=header.timed,
        blocking=header.blocking,
        bound=header.bound,
        generator=header.generator,
        seed=header.seed,
        group=arrays.get("group"),
    )
    if check:
        _ = schedule.transfers  # the engine checks every index
    return schedule


def _array(content: NDArray[np.uint8], entry: _Array, check: bool) -> NDArray[Any]:
    if _DTYPES.get(entry.name) != entry.dtype:
        raise FormatError(f"array {entry.name} of type {entry.dtype} is not part of a schedule")
    if entry.offset % _ALIGNMENT:
        raise FormatError(f"array {entry.name} is misplaced: offset {entry.offset} is no multiple of {_ALIGNMENT}")
    size = entry.length * np.dtype(entry.dtype).itemsize
    data = content[entry.offset : entry.offset + size]
    if len(data) < size:
        raise FormatError(f"truncated: array {entry.name} ends at byte {entry.offset + size} of {len(content)}")
    if check and zlib.crc32(data.data) != entry.crc32:
        raise FormatError(f"array {entry.name} is damaged (its checksum differs)")
    return data.view(entry.dtype)
