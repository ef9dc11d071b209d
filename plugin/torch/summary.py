"""What a collection shows at a glance: per kind and group, per rank, and where ranks disagree."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import mean

from hocket.plugin.torch.matching import SYNCHRONIZING, Collective, GroupKey, Mismatch
from hocket.plugin.torch.operations import PEER_TO_PEER
from hocket.plugin.torch.recording import Group, Recording
from hocket.plugin.torch.timeline import window

__all__ = ["GroupRow", "KindRow", "RankRow", "Summary", "summarize"]


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
class Summary:
    """A collection. `absent` ranks have no stream or call; the scripts of `unended` ones did not come to their end.

    `hooks` are those that recorded: "native", or "python" and why not the native one.
    """

    world: int
    steps: int
    absent: tuple[int, ...]
    unended: tuple[int, ...]
    hooks: tuple[str, ...]
    clock: str
    clock_residual_ns: int
    groups: tuple[GroupRow, ...]
    kinds: tuple[KindRow, ...]
    ranks: tuple[RankRow, ...]
    mismatches: tuple[Mismatch, ...]

    def problems(self) -> list[str]:
        """What is missing and where ranks disagree, a line each; one line that says so when there is nothing."""
        lines = [f"missing: rank {rank} recorded nothing" for rank in self.absent]
        lines += [
            f"unended: rank {rank}'s script did not come to its end; its stream stops there" for rank in self.unended
        ]
        lines += [f"{mismatch.problem}: {mismatch.message}" for mismatch in self.mismatches]
        return lines or ["all ranks recorded, all collectives complete, no disagreement between ranks"]


def summarize(
    recordings: Sequence[Recording],
    groups: Mapping[GroupKey, tuple[int, Group]],
    collectives: Sequence[Collective],
    mismatches: Sequence[Mismatch],
    clock: str,
    clock_residual_ns: int,
) -> Summary:
    """The summary of recordings that were aligned and matched."""
    world = recordings[0].world
    present = [recording for recording in recordings if recording.calls]
    return Summary(
        world=world,
        steps=max((len(_steps(recording)) for recording in recordings), default=0),
        absent=tuple(sorted(set(range(world)) - {recording.rank for recording in present})),
        unended=tuple(recording.rank for recording in recordings if recording.failed or not recording.ended),
        hooks=tuple(sorted({recording.meta.hook for recording in recordings})),
        clock=clock,
        clock_residual_ns=clock_residual_ns,
        groups=tuple(
            GroupRow(number, group.name, group.description, group.ranks, group.backend)
            for number, group in groups.values()
        ),
        kinds=tuple(_kinds(present, groups, collectives)),
        ranks=tuple(_ranks_rows(present, collectives)),
        mismatches=tuple(mismatches),
    )


def _steps(recording: Recording) -> set[int]:
    return {call.step for call in recording.calls} & {number for number, _ in recording.steps}


def _kinds(
    recordings: Sequence[Recording], groups: Mapping[GroupKey, tuple[int, Group]], collectives: Sequence[Collective]
) -> Iterable[KindRow]:
    rows: dict[tuple[str, int], list[tuple[int, int, int]]] = defaultdict(list)  # bytes, transfer, skew
    for collective in collectives:
        size = max(call.num_bytes for call in collective.calls.values())
        last = max(collective.starts)
        transfer = max(0, max(collective.ends, default=last) - last)
        rows[collective.kind, collective.group].append((size, transfer, last - min(collective.starts)))
    for recording in recordings:
        for call in recording.calls:
            if call.kind in PEER_TO_PEER[:1]:
                group = groups[tuple(sorted(call.group.ranks)), call.group.order][0]
                transfer = 0 if call.end is None else call.end - call.start
                rows[call.kind, group].append((call.num_bytes, transfer, 0))
    for (kind, group), values in sorted(rows.items(), key=lambda item: (item[0][1], item[0][0])):
        sizes, transfers, skews = zip(*values, strict=True)
        yield KindRow(kind, group, len(values), min(sizes), sum(sizes), round(mean(transfers)), round(mean(skews)))


def _ranks_rows(recordings: Sequence[Recording], collectives: Sequence[Collective]) -> Iterable[RankRow]:
    last: Counter[int] = Counter()
    delay: Counter[int] = Counter()
    for collective in collectives:
        if collective.kind in SYNCHRONIZING and len(collective.calls) > 1:
            *_, (second, _), (latest, rank) = sorted((call.start, rank) for rank, call in collective.calls.items())
            last[rank] += 1
            delay[rank] += latest - second
    for recording in recordings:
        begin, end = window(recording)
        exposed = _covered(call.wait for call in recording.calls if call.wait is not None)
        yield RankRow(
            rank=recording.rank,
            operations=len(recording.calls),
            elapsed_ns=end - begin,
            compute_ns=end - begin - exposed,
            communication_ns=_covered((call.start, call.end) for call in recording.calls if call.end is not None),
            exposed_ns=exposed,
            last=last[recording.rank],
            delay_ns=delay[recording.rank],
        )


def _covered(intervals: Iterable[tuple[int, int]]) -> int:
    """Length of the union."""
    total, until = 0, -(2**63)
    for begin, end in sorted(intervals):
        total += max(0, end - max(begin, until))
        until = max(until, end)
    return total
