"""How often each kind of collective was called in each group, with how many bytes, and how long it took."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hocket.recording.matching import Matched
from hocket.recording.recording import Recording
from hocket.recording.waits import NONE

__all__ = ["GroupKinds", "KindRow", "KindSums", "kind_rows", "sent_messages"]

Numbers = NDArray[np.int64]


@dataclass(frozen=True)
class KindRow:
    """All collectives of a kind in a group. Bytes are of a rank's whole buffer, as nccl-tests counts sizes; times are
    means in ns.

    `transfer_ns` runs from the arrival of the last rank to the last completion, `skew_ns` from the arrival of the first
    to that of the last. Messages count once a send, and their transfer is the time until the sender's wait was over.
    """

    kind: str
    group: int
    count: int
    bytes_min: int
    bytes_total: int
    transfer_ns: int
    skew_ns: int


@dataclass
class KindSums:
    """The same as sums, to which more can be added."""

    kind: str
    group: int
    count: int
    bytes_min: int
    bytes_total: int
    transfer_ns: int
    skew_ns: int

    @classmethod
    def of(cls, kind: str, group: int, sizes: Numbers, transfer: Numbers, skew: Numbers) -> "KindSums":
        sums = int(sizes.sum()), int(transfer.sum()), int(skew.sum())
        return cls(kind, group, len(sizes), int(sizes.min()), *sums)

    def add(self, other: "KindSums") -> None:
        """Counts others of the same kind and group."""
        self.bytes_min = min(self.bytes_min, other.bytes_min)
        for name in ("count", "bytes_total", "transfer_ns", "skew_ns"):
            setattr(self, name, getattr(self, name) + getattr(other, name))


def kind_rows(sums: Iterable[KindSums]) -> list[KindRow]:
    """The rows, by group and kind; of the same group and kind one."""
    found: dict[tuple[int, str], KindSums] = {}
    for one in sums:
        known = found.setdefault((one.group, one.kind), one)
        if known is not one:
            known.add(one)
    rows = []
    for _, one in sorted(found.items()):
        means = round(one.transfer_ns / one.count), round(one.skew_ns / one.count)
        rows.append(KindRow(one.kind, one.group, one.count, one.bytes_min, one.bytes_total, *means))
    return rows


class GroupKinds:
    """The kinds of a group's collectives, told of them in order."""

    def __init__(self) -> None:
        self.sums: list[KindSums] = []

    def add(self, block: Matched) -> None:
        """Takes in the next collectives."""
        shapes = block.catalogue.shapes
        sizes = np.array([*(shape.size_bytes for shape in shapes), 0], dtype=np.int64)[block.shape].max(axis=0)
        transfer = np.maximum(0, block.end.max(axis=0) - block.last_start)
        transfer[(block.end == NONE).all(axis=0)] = 0
        kinds = np.array([shape.kind for shape in shapes])[block.first_shape]
        for kind in np.unique(kinds).tolist():
            of_kind = kinds == kind
            skew = block.last_start[of_kind] - block.first_start[of_kind]
            found = KindSums.of(kind, block.number, sizes[of_kind], transfer[of_kind], skew)
            known = next((sums for sums in self.sums if sums.kind == kind), None)
            if known is None:
                self.sums.append(found)
            else:
                known.add(found)


def sent_messages(recording: Recording, group_of_shape: Sequence[int]) -> list[KindSums]:
    """The messages that a rank sent, by group; `group_of_shape` has the number of each shape's group."""
    columns = recording.columns
    sends = np.array([shape.kind == "send" for shape in recording.shapes], dtype=bool)
    groups = np.where(sends, np.array(group_of_shape, np.int64), -1)[columns.shape]
    sizes = recording.by_shape(lambda shape: shape.num_bytes)
    found = []
    for number in np.unique(groups[groups >= 0]).tolist():
        own = np.flatnonzero(groups == number)
        times = np.where(columns.end[own] == NONE, 0, columns.end[own] - columns.begin[own])
        found.append(KindSums.of("send", number, sizes[own], times, np.zeros_like(times)))
    return found
