"""What the calls of a job came to, as nccl-tests would print them, from the NCCL profiler plugin's files."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hocket.chakra.importers.dtypes import element_bytes
from hocket.chakra.importers.nccl.calls import KINDS, gpu_times_ns
from hocket.chakra.importers.nccl.profile import COLLECTIVE, POINT_TO_POINT, RECORD, NcclProfile
from hocket.schedule import Collective

__all__ = ["CallsAlike", "calls_alike"]

_KEY = ("function", "datatype", "algorithm", "protocol", "count", "channels")
_KEY_DTYPE = np.dtype([*((name, RECORD[name].str) for name in _KEY), ("ranks", "<i8")])


@dataclass(frozen=True)
class CallsAlike:
    """Calls of all ranks that are alike, on communicators of `ranks` ranks.

    `timed` of the `calls` have a known end, by the GPU's timer or else by the last proxy; their times in nanoseconds
    are `minimum_ns` and `average_ns`, None where `timed` is 0. `size_bytes` is as nccl-tests counts it (the whole of an
    all_gather), 0 for a datatype that is not known.
    """

    function: str
    datatype: str
    algorithm: str
    protocol: str
    count: int
    channels: int
    ranks: int
    calls: int
    timed: int
    minimum_ns: int | None
    average_ns: float | None

    @property
    def size_bytes(self) -> int:
        kind = KINDS.get(self.function)
        parts = 1 if kind is None or kind.shares_buffer else self.ranks
        return self.count * parts * element_bytes(self.datatype.removeprefix("nccl"))

    @property
    def algbw(self) -> float | None:
        """Bytes/s, from the average time."""
        return None if self.average_ns is None else self.size_bytes * 1e9 / self.average_ns

    @property
    def busbw(self) -> float | None:
        """Bytes/s, as nccl-tests defines it."""
        kind = KINDS.get(self.function)
        factor = 1.0 if kind is None else Collective(kind, self.ranks, self.ranks).bus_factor
        return None if self.algbw is None else self.algbw * factor


def _times_ns(records: npt.NDArray[np.void]) -> npt.NDArray[np.int64]:
    """How long each call took: by the GPU's timer over its kernel channels, else from its start on the host to its last
    child's stop; 0 where only its enqueueing is known."""
    by_gpu = gpu_times_ns(records)
    by_proxy = np.where(records["end_ns"] > 0, records["end_ns"] - records["start_ns"], 0)
    times: npt.NDArray[np.int64] = np.where(by_gpu > 0, by_gpu, by_proxy)
    return times


def calls_alike(profiles: Iterable[NcclProfile]) -> list[CallsAlike]:
    """The collectives and messages of all profiles, by function, size and what NCCL chose."""
    times: dict[bytes, list[npt.NDArray[np.int64]]] = {}
    for profile in profiles:
        records = profile.select(COLLECTIVE | POINT_TO_POINT)
        ranks = np.array([communicator.ranks for communicator in profile.communicators], np.int64)
        keys = np.empty(len(records), _KEY_DTYPE)
        for name in _KEY:
            keys[name] = records[name]
        keys["ranks"] = ranks[records["communicator"]]
        # As bytes, for numpy sorts those quickly.
        alike, group = np.unique(keys.view(f"V{_KEY_DTYPE.itemsize}"), return_inverse=True)
        order = np.argsort(group, kind="stable")
        parts = np.split(_times_ns(records)[order], np.flatnonzero(np.diff(group[order])) + 1)
        for key, part in zip(alike, parts, strict=False):
            times.setdefault(key.tobytes(), []).append(part)
    rows = [_row(np.frombuffer(key, _KEY_DTYPE)[0], np.concatenate(parts)) for key, parts in times.items()]
    return sorted(rows, key=lambda row: (row.function, row.ranks, row.size_bytes, row.datatype, -row.calls))


def _row(key: np.void, times: npt.NDArray[np.int64]) -> CallsAlike:
    timed = times[times > 0]
    names = {name: key[name].decode(errors="replace") for name in _KEY[:4]}
    return CallsAlike(
        **names,
        count=int(key["count"]),
        channels=int(key["channels"]),
        ranks=int(key["ranks"]),
        calls=len(times),
        timed=len(timed),
        minimum_ns=int(timed.min()) if len(timed) else None,
        average_ns=float(timed.mean()) if len(timed) else None,
    )
