"""What a collection shows at a glance: per kind and group, per rank, and where ranks disagree."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from hocket.base.rank_names import name_ranks
from hocket.recording.alignment import Clock, describe_clocks
from hocket.recording.arrivals import Arrivals
from hocket.recording.cutting import RecordingCut
from hocket.recording.divergence import Divergence
from hocket.recording.group_findings import GroupFindings
from hocket.recording.kinds import KindRow, kind_rows
from hocket.recording.matching import Numbering
from hocket.recording.mismatch import Mismatch
from hocket.recording.nccl.join import NcclCalls
from hocket.recording.parts.part import Part
from hocket.recording.progress import Stand
from hocket.recording.rank_findings import RankFindings
from hocket.recording.stragglers import StragglerVerdict
from hocket.recording.unwaited import Unwaited

__all__ = ["DroppedRow", "GroupRow", "NcclRow", "RankRow", "RecordingSummary", "summarize"]


@dataclass(frozen=True)
class GroupRow:
    """A process group under its number in the traces, 0 being the world."""

    number: int
    name: str
    description: str
    ranks: tuple[int, ...]
    backend: str


@dataclass(frozen=True)
class RankRow:
    """A rank's times in ns: communication while some operation was under way or waited for, exposed while a thread
    waited for one.

    It came last to `last` collectives, and all other ranks of a group then waited `delay_ns` for it; what several
    groups waited at one time counts once. No longer than any rank recorded.
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
class DroppedRow:
    """Of a rank's calls the first `by_cap` are gone; the next `uncommon` are left out, for other ranks lost them."""

    rank: int
    by_cap: int
    uncommon: int


@dataclass(frozen=True)
class RecordingSummary:
    """A collection of the job in the folder `job`. `absent` ranks have no stream or call; the scripts of `unended` ones
    did not come to their end.

    `hooks` are those that recorded: "native", or "python" and why not the native one. `stands` tells where ranks stood
    in groups that did not end alike, `cuts` what is not in the traces because it could not be replayed. `nccl` has the
    ranks of which a profile of NCCL's was joined in; `unseen` says what the recording cannot tell of, `dropped` the
    ranks whose begin is not there.
    """

    job: str
    script: str
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
    stragglers: StragglerVerdict
    unwaited: tuple[Unwaited, ...]
    divergences: tuple[Divergence, ...]
    mismatches: tuple[Mismatch, ...]
    stands: tuple[Stand, ...]
    cuts: tuple[RecordingCut, ...]
    nccl: tuple[NcclRow, ...]
    unseen: tuple[str, ...]
    dropped: tuple[DroppedRow, ...]

    def unseen_text(self) -> list[str]:
        """What the recording cannot tell of, a line each; one line that says so when nothing is known."""
        return [f"unseen: {what}" for what in self.unseen] or ["unseen: nothing that is known of"]

    def problems(self) -> list[str]:
        """What is missing and where ranks disagree, a line each; one line that says so when there is nothing."""
        lines = [f"missing: rank {rank} recorded nothing" for rank in self.absent]
        lines += [
            f"unended: rank {rank}'s script did not reach its end; its stream stops there" for rank in self.unended
        ]
        lines += [line for divergence in self.divergences for line in divergence.text()]
        lines += [f"{mismatch.problem}: {mismatch.message}" for mismatch in self.mismatches]
        lines += [stand.text() for stand in self.stands]
        lines += [cut.text() for cut in self.cuts]
        return lines or ["all ranks recorded, all collectives complete, no disagreement between ranks"]


def summarize(
    parts: Sequence[Part],
    numbering: Numbering,
    groups: Sequence[GroupFindings],
    ranks: Sequence[RankFindings],
    mismatches: Sequence[Mismatch],
    clocks: Sequence[Clock],
    cuts: Sequence[RecordingCut],
    nccl: Mapping[int, NcclCalls],
    arrived: Sequence[Arrivals],
    stragglers: StragglerVerdict,
) -> RecordingSummary:
    """The summary of what was found in the groups, by number, and in the ranks that recorded calls, as they `arrived`
    (`stragglers`)."""
    world = parts[0].meta.world
    sums = [*(sums for group in groups for sums in group.kinds), *(sums for found in ranks for sums in found.sent)]
    longest = max((found.elapsed_ns for found in ranks), default=0)
    return RecordingSummary(
        job=parts[0].meta.job,
        script=parts[0].meta.script,
        world=world,
        steps=max((found.steps for found in ranks), default=0),
        absent=tuple(sorted(set(range(world)) - {found.rank for found in ranks})),
        unended=tuple(part.rank for part in parts if part.head.failed or not part.head.ended),
        hooks=(*sorted({part.meta.hook for part in parts}), *_hook_costs(parts, ranks)),
        clock=describe_clocks(clocks),
        clock_residual_ns=max((group.residual_ns for group in groups), default=0),
        clocks=tuple(clocks),
        groups=tuple(
            GroupRow(number, group.name, group.description, group.ranks, group.backend)
            for number, group in numbering.values()
        ),
        kinds=tuple(kind_rows(sums)),
        ranks=tuple(_rank_row(found, own, longest) for found, own in zip(ranks, arrived, strict=True)),
        arrivals=tuple(arrived),
        stragglers=stragglers,
        unwaited=tuple(found.unwaited for found in ranks if found.unwaited is not None),
        divergences=tuple(group.divergence for group in groups if group.divergence is not None),
        mismatches=tuple(mismatches),
        stands=tuple(stand for group in groups for stand in group.stands),
        cuts=tuple(cuts),
        unseen=tuple(_unseen(parts)),
        nccl=tuple(
            NcclRow(rank, own.calls, len(own.attributes), own.timed, own.unmatched) for rank, own in nccl.items()
        ),
        dropped=tuple(
            DroppedRow(part.rank, part.head.dropped, part.head.uncommon)
            for part in parts
            if part.head.dropped or part.head.uncommon
        ),
    )


def _hook_costs(parts: Sequence[Part], ranks: Sequence[RankFindings]) -> Iterator[str]:
    """What the slow hook took of the job's time, of the rank of which it took most."""
    told = {part.rank: part.head.cost for part in parts}
    costs = {}
    for found in ranks:
        cost = told[found.rank]
        if cost is not None and cost.calls and found.elapsed_ns > 0:
            costs[found.rank] = cost.ns / found.elapsed_ns, cost
    if costs:
        rank, (share, cost) = max(costs.items(), key=lambda item: item[1][0])
        each = cost.ns / cost.calls / 1000
        yield f"it took {cost.calls} calls x {each:.1f} us = {share:.2%} of the time of rank {rank}"


def _unseen(parts: Sequence[Part]) -> Iterator[str]:
    """What communicates in the job and is not recorded, or not timed: of ranks alike together."""
    ranks: dict[str, list[int]] = {}
    for part in parts:
        for what in part.head.unseen:
            ranks.setdefault(what, []).append(part.rank)
    for what, own in ranks.items():
        yield f"{name_ranks(own)}: {what}"


def _rank_row(found: RankFindings, arrived: Arrivals, longest_ns: int) -> RankRow:
    return RankRow(
        rank=found.rank,
        operations=found.operations,
        elapsed_ns=found.elapsed_ns,
        compute_ns=found.elapsed_ns - found.exposed_ns,
        communication_ns=found.communication_ns,
        exposed_ns=found.exposed_ns,
        last=arrived.last,
        # Times in which nothing was recorded are no rank's, and others may wait in them.
        delay_ns=min(arrived.delay_ns, longest_ns),
    )
