"""Reads what the NCCL profiler plugin leaves: one file per process, laid out in `plugin/nccl/profiler/record.hpp`."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from hocket.base.errors import FormatError
from hocket.base.reading import read_bytes

__all__ = [
    "COLLECTIVE",
    "COMMUNICATOR",
    "COPY_COLLECTIVE",
    "POINT_TO_POINT",
    "PROXY_OPERATION",
    "PROXY_STEP",
    "RECORD",
    "SUFFIX",
    "Communicator",
    "NcclProfile",
    "is_nccl_profile",
    "profile_files",
    "read_profile",
]

COLLECTIVE, POINT_TO_POINT, COPY_COLLECTIVE = 1 << 1, 1 << 2, 1 << 12
PROXY_OPERATION, PROXY_STEP, COMMUNICATOR = 1 << 3, 1 << 4, 1 << 16
SUFFIX = ".ncclprofile"
_MAGIC = b"HOCKNCCL"
_FORMAT = 1
_MOST_RANKS = 2**20
_MOST_NS = 2**61
_TIMES = ("start_ns", "stop_ns", "end_ns")
_HEADER = np.dtype(
    [
        ("magic", "S8"), ("format", "<u4"), ("record_bytes", "<u4"), ("header_bytes", "<u8"), ("events", "<u8"),
        ("epoch_ns", "<i8"), ("monotonic_ns", "<i8"), ("process", "<u4"), ("pool", "<u4"), ("error", "<i4"),
        ("place", "<u4"), ("dropped", "<u8", 32), ("orphans", "<u8"), ("late", "<u8"), ("host", "S64"),
    ]
)  # fmt: skip
#: The fields of a record, as plugin/nccl/profiler/record.hpp describes them.
RECORD = np.dtype(
    [
        ("communicator", "<u4"), ("peer", "<i4"), ("parent", "<u8"), ("start_ns", "<i8"), ("stop_ns", "<i8"),
        ("end_ns", "<i8"), ("gpu_start_ns", "<u8"), ("gpu_stop_ns", "<u8"), ("children_started", "<u4"),
        ("children_stopped", "<u4"), ("sequence", "<u8"), ("bytes", "<u8"), ("user_tag", "<u8"), ("warps", "<u4"),
        ("symmetric", "<u4"), ("function", "S16"), ("datatype", "S16"), ("algorithm", "S16"), ("protocol", "S16"),
        ("count", "<u8"), ("channels", "<u4"), ("kind", "<u4"), ("variant", "S16"),
    ]
)  # fmt: skip


@dataclass(frozen=True)
class Communicator:
    """One rank's side of a communicator; `id` is the same on all its ranks. `device` is its GPU by the number that the
    process has for it, None where CUDA did not tell."""

    id: int
    name: str
    rank: int
    ranks: int
    nodes: int
    device: int | None


@dataclass(frozen=True)
class NcclProfile:
    """What one process recorded.

    `records` are those that were started, in their order, with the fields of `plugin/nccl/profiler/record.hpp`
    (`communicator` indexes `communicators`, `number` is what `parent` - 1 refers to); their `start_ns`, `stop_ns` and
    `end_ns` are host time since the epoch, 0 where the event did not come so far. `dropped` counts the events that got
    no record, by the bit of their kind; `error` is the errno that ended the file early, or 0.
    """

    path: Path
    host: str
    process: int
    rank: int | None
    monotonic_ns: int
    communicators: tuple[Communicator, ...]
    records: npt.NDArray[np.void]
    dropped: dict[int, int]
    orphans: int
    late: int
    error: int

    def select(self, kind: int) -> npt.NDArray[np.void]:
        """The records of one kind (or of several, their bits)."""
        found: npt.NDArray[np.void] = self.records[(self.records["kind"] & kind) != 0]
        return found


def is_nccl_profile(head: bytes) -> bool:
    """Whether a file that begins like this is a profile."""
    return head.startswith(_MAGIC)


def profile_files(path: Path | str) -> list[Path]:
    """The profiles in a folder, or the one file that `path` is. Raises FormatError where there is none."""
    path = Path(path)
    files = sorted(path.glob(f"*{SUFFIX}")) if path.is_dir() else [path]
    if not files:
        raise FormatError(f"{path}: holds no *{SUFFIX} file; was HOCKET_NCCL_PROFILE={path} set in the job?")
    return files


def read_profile(path: Path | str) -> NcclProfile:
    """Reads the profile of one process, which may still run, or may have been killed.

    Raises FormatError, naming the file, when it is none, or its records name communicators that it does not hold or
    times that are none.
    """
    path = Path(path)
    data = read_bytes(path)
    header = _header(path, data)
    start = int(header["header_bytes"])
    count = (len(data) - start) // RECORD.itemsize
    slots = np.frombuffer(data, RECORD, count, start)
    taken = np.flatnonzero(slots["kind"])
    opened = taken[slots["kind"][taken] == COMMUNICATOR]
    communicators = _communicators(path, slots, opened)
    started = taken[slots["kind"][taken] != COMMUNICATOR]
    if len(started) and int(slots["communicator"][started].max()) >= len(communicators):
        raise FormatError(f"{path}: a record is of a communicator that the file does not hold: it was damaged")
    times = [slots[name][started] for name in _TIMES] + [header[["epoch_ns", "monotonic_ns"]].tolist()]
    if any(np.any((np.asarray(of_name) < 0) | (np.asarray(of_name) > _MOST_NS)) for of_name in times):
        raise FormatError(f"{path}: a time in it is no time: it was damaged")
    dropped = header["dropped"]
    return NcclProfile(
        path=path,
        host=header["host"].decode(errors="replace"),
        process=int(header["process"]),
        rank=int(header["place"]) - 1 if header["place"] else None,
        monotonic_ns=int(header["epoch_ns"]) - int(header["monotonic_ns"]),
        communicators=communicators,
        records=_with_epoch(slots[started], started, int(header["epoch_ns"]) - int(header["monotonic_ns"])),
        dropped={1 << int(bit): int(dropped[bit]) for bit in np.flatnonzero(dropped)},
        orphans=int(header["orphans"]),
        late=int(header["late"]),
        error=int(header["error"]),
    )


def _header(path: Path, data: bytes) -> np.void:
    if len(data) < _HEADER.itemsize or not data.startswith(_MAGIC):
        raise FormatError(f"{path}: not a file of the NCCL profiler plugin, which begins with {_MAGIC.decode()}")
    header: np.void = np.frombuffer(data, _HEADER, 1)[0]
    if header["format"] != _FORMAT or header["record_bytes"] != RECORD.itemsize:
        raise FormatError(
            f"{path}: format {header['format']}, expected {_FORMAT}: read it with the Hocket that wrote it"
        )
    if not _HEADER.itemsize <= header["header_bytes"] <= len(data) or header["place"] > _MOST_RANKS:
        raise FormatError(f"{path}: cut off, or damaged: its header ends at byte {header['header_bytes']}")
    return header


def _communicators(path: Path, slots: npt.NDArray[np.void], opened: npt.NDArray[np.intp]) -> tuple[Communicator, ...]:
    rows = np.sort(slots[opened], order="communicator")
    if not np.array_equal(rows["communicator"], np.arange(len(rows))):
        raise FormatError(f"{path}: its communicators are not numbered from 0: it was damaged")
    if any(not 0 <= int(row["peer"]) < int(row["count"]) <= _MOST_RANKS for row in rows):
        raise FormatError(f"{path}: a communicator's rank is not below its ranks: it was damaged")
    # A name runs on over the four fields of names.
    names = [row.tobytes()[96:160].split(b"\0")[0].decode(errors="replace") for row in rows]
    return tuple(
        Communicator(
            id=int(row["sequence"]),
            name=name,
            rank=int(row["peer"]),
            ranks=int(row["count"]),
            nodes=int(row["channels"]),
            device=int(row["warps"]) - 1 if row["warps"] else None,
        )
        for row, name in zip(rows, names, strict=True)
    )


def _with_epoch(records: npt.NDArray[np.void], numbers: npt.NDArray[np.intp], epoch_ns: int) -> npt.NDArray[np.void]:
    found = np.empty(len(records), [*RECORD.descr, ("number", "<i8")])
    for field in RECORD.names or ():
        found[field] = records[field]
    found["number"] = numbers
    for field in _TIMES:
        found[field] += np.where(found[field] > 0, epoch_ns, 0)
    return found
