"""What a collection shows at a glance: per kind and group, per rank, and where ranks disagree."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hocket.recording.agreement import Mismatch
from hocket.recording.alignment import Clock, describe_clocks
from hocket.recording.cutting import RecordingCut
from hocket.recording.divergence import Divergence, find_divergences
from hocket.recording.matching import Matched, Numbering
from hocket.recording.nccl.join import NcclCalls
from hocket.recording.progress import Stand, find_stands
from hocket.recording.recording import Recording
from hocket.recording.stragglers import Arrivals, arrivals
from hocket.recording.timeline import window
from hocket.recording.unwaited import Unwaited, find_unwaited
from hocket.recording.waits import NONE

__all__ = ["GroupRow", "KindRow", "NcclRow", "RankRow", "RecordingSummary", "summarize"]

Numbers = NDArray[np.int64]

_MATTERS = 100


@dataclass(frozen=True)
class GroupRow:
    """A process group under its number in the traces, 0 being the world."""

    number: int
    name: str
    description: str
    ranks: tuple[int, ...]
    backend: str


@dataclass(frozen=True)
class KindRow:
    """All collectives of a kind in a group. Bytes are per rank; times are means in ns.

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


@dataclass(frozen=True)
class RankRow:
    """A rank's times in ns: communication while some operation was under way, exposed while a thread waited for one.

    It came last to `last` collectives, and all other ranks then waited `delay_ns` for it, summed.
    """

    rank: int
    operations: int
    elapsed_ns: int
    compute_ns: int
    communication_ns: int
    exposed_ns: int
    last: int
    delay_ns: int


@dataclass(frozen=True)
class NcclRow:
    """Of a rank's `calls` that NCCL did, how many were found in its profile, and of how many it tells the end; how many
    of its records are no call's."""

    rank: int
    calls: int
    found: int
    timed: int
    strange: int


@dataclass(frozen=True)
class RecordingSummary:
    """A collection. `absent` ranks have no stream or call; the scripts of `unended` ones did not come to their end.

    `hooks` are those that recorded: "native", or "python" and why not the native one. `stands` tells where ranks stood
    in groups that did not end alike, `cuts` what is not in the traces because it could not be replayed. `nccl` has the
    ranks of which a profile of NCCL's was joined in.
    """

    world: int
    steps: int
    absent: tuple[int, ...]
    unended: tuple[int, ...]
    hooks: tuple[str, ...]
    clock: str
    clock_residual_ns: int
    clocks: tuple[Clock, ...]
    groups: tuple[GroupRow, ...]
    kinds: tuple[KindRow, ...]
    ranks: tuple[RankRow, ...]
    arrivals: tuple[Arrivals, ...]
    unwaited: tuple[Unwaited, ...]
    divergences: tuple[Divergence, ...]
    mismatches: tuple[Mismatch, ...]
    stands: tuple[Stand, ...]
    cuts: tuple[RecordingCut, ...]
    nccl: tuple[NcclRow, ...]

    def stragglers(self) -> list[str]:
        """Who came late so that it mattered, for 1 % of the time, a line each."""
        elapsed = {row.rank: row.elapsed_ns for row in self.ranks}
        return [row.text() for row in self.arrivals if row.pattern and row.delay_ns * _MATTERS >= elapsed[row.rank]]

    def problems(self) -> list[str]:
        """What is missing and where ranks disagree, a line each; one line that says so when there is nothing."""
        lines = [f"missing: rank {rank} recorded nothing" for rank in self.absent]
        lines += [
            f"unended: rank {rank}'s script did not come to its end; its stream stops there" for rank in self.unended
        ]
        lines += [line for divergence in self.divergences for line in divergence.text()]
        lines += [f"{mismatch.problem}: {mismatch.message}" for mismatch in self.mismatches]
        lines += [stand.text() for stand in self.stands]
        lines += [cut.text() for cut in self.cuts]
        return lines or ["all ranks recorded, all collectives complete, no disagreement between ranks"]


def summarize(
    recordings: Sequence[Recording],
    numbering: Numbering,
    matched: Sequence[Matched],
    mismatches: Sequence[Mismatch],
    clocks: Sequence[Clock],
    clock_residual_ns: int,
    cuts: Sequence[RecordingCut],
    nccl: Mapping[int, NcclCalls],
) -> RecordingSummary:
    """The summary of recordings that were aligned and matched."""
    world = recordings[0].world
    present = [recording for recording in recordings if len(recording)]
    arrived = arrivals([recording.rank for recording in present], matched)
    return RecordingSummary(
        world=world,
        steps=max((len(_steps(recording)) for recording in recordings), default=0),
        absent=tuple(sorted(set(range(world)) - {recording.rank for recording in present})),
        unended=tuple(recording.rank for recording in recordings if recording.failed or not recording.ended),
        hooks=tuple(sorted({recording.meta.hook for recording in recordings})),
        clock=describe_clocks(clocks),
        clock_residual_ns=clock_residual_ns,
        clocks=tuple(clocks),
        groups=tuple(
            GroupRow(number, group.name, group.description, group.ranks, group.backend)
            for number, group in numbering.values()
        ),
        kinds=tuple(_kinds(present, numbering, matched)),
        ranks=tuple(_ranks_rows(present, arrived)),
        arrivals=tuple(arrived),
        unwaited=tuple(find_unwaited(present)),
        divergences=tuple(find_divergences(matched)),
        mismatches=tuple(mismatches),
        stands=tuple(find_stands(matched, [recording.rank for recording in present])),
        cuts=tuple(cuts),
        nccl=tuple(
            NcclRow(rank, own.calls, len(own.attributes), own.timed, own.unmatched) for rank, own in nccl.items()
        ),
    )


def _steps(recording: Recording) -> set[int]:
    return set(np.unique(recording.columns.step).tolist()) & {number for number, _ in recording.steps}


def _kinds(recordings: Sequence[Recording], numbering: Numbering, matched: Sequence[Matched]) -> list[KindRow]:
    rows = [row for group in matched for row in _kinds_of(group)]
    sends: dict[int, list[tuple[Numbers, Numbers]]] = {}  # by group: bytes and times
    for recording in recordings:
        columns = recording.columns
        groups = recording.by_shape(lambda shape: numbering[shape.group.key][0] if shape.kind == "send" else -1)
        for number in np.unique(groups[groups >= 0]).tolist():
            of_group = np.flatnonzero(groups == number)
            times = np.where(columns.end[of_group] == NONE, 0, columns.end[of_group] - columns.start[of_group])
            sends.setdefault(number, []).append((recording.by_shape(lambda shape: shape.num_bytes)[of_group], times))
    for number, found in sends.items():
        sizes, times = (np.concatenate(parts) for parts in zip(*found, strict=True))
        rows.append(_kind_row("send", number, sizes, times, np.zeros_like(times)))
    return sorted(rows, key=lambda row: (row.group, row.kind))


def _kinds_of(group: Matched) -> Iterator[KindRow]:
    shapes = group.catalogue.shapes
    sizes = np.array([*(shape.num_bytes for shape in shapes), 0], dtype=np.int64)[group.shape].max(axis=0)
    transfer = np.maximum(0, group.end.max(axis=0) - group.last_start)
    transfer[(group.end == NONE).all(axis=0)] = 0
    kinds = np.array([shape.kind for shape in shapes])[group.first_shape]
    for kind in np.unique(kinds).tolist():
        of_kind = kinds == kind
        skew = group.last_start[of_kind] - group.first_start[of_kind]
        yield _kind_row(kind, group.number, sizes[of_kind], transfer[of_kind], skew)


def _kind_row(kind: str, group: int, sizes: Numbers, transfer: Numbers, skew: Numbers) -> KindRow:
    transfer_ns, skew_ns = (round(int(times.sum()) / len(times)) for times in (transfer, skew))
    return KindRow(kind, group, len(sizes), int(sizes.min()), int(sizes.sum()), transfer_ns, skew_ns)


def _ranks_rows(recordings: Sequence[Recording], arrived: Sequence[Arrivals]) -> Iterator[RankRow]:
    for recording, arrival in zip(recordings, arrived, strict=True):
        begin, end = window(recording)
        columns = recording.columns
        exposed = _covered(columns.wait_begin, columns.wait_end)
        yield RankRow(
            rank=recording.rank,
            operations=len(recording),
            elapsed_ns=end - begin,
            compute_ns=end - begin - exposed,
            communication_ns=_covered(columns.start, columns.end),
            exposed_ns=exposed,
            last=arrival.last,
            delay_ns=arrival.delay_ns,
        )


def _covered(begin: Numbers, end: Numbers) -> int:
    """Length of the union of the intervals that have an end."""
    there = end != NONE
    begin, end = begin[there], end[there]
    if len(begin) == 0:
        return 0
    order = np.argsort(begin, kind="stable")
    begin, end = begin[order], np.maximum.accumulate(end[order])
    until = np.concatenate([begin[:1], end[:-1]])
    return int(np.maximum(0, end - np.maximum(begin, until)).sum())
