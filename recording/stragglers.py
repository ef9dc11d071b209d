"""Who slows the job down: ranks and machines that come late by their own work, links and groups with slow transfers.

Named is who costs at least 1 % of the job's time more than those like it, and more than chance gives any of them
(`chance.against_chance`).

A message binds its receiver to its sender: in a pipeline the last stage comes last to the next collective by the work
of all stages, and what a stage worked before it sent is not known of at that collective. So arrivals at a group some of
whose members messages join, if only by way of others, name nobody. Those members, and all others that arrivals do not
name, are judged by what they work themselves a step (`longer_work`).
"""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from hocket.recording.arrivals import Arrivals, GroupArrivals, arrivals
from hocket.recording.chance import Chance, against_chance
from hocket.recording.group_calls import GroupCalls
from hocket.recording.group_findings import GroupFindings
from hocket.recording.joined import components, joins_members, parties
from hocket.recording.lateness import owed_once
from hocket.recording.longer_work import LongerWork, judge_work
from hocket.recording.rank_findings import RankFindings
from hocket.recording.starvation import Starved, waited_beyond_others
from hocket.recording.straggler import (
    CHANCE,
    SHARE,
    Straggler,
    machine_members,
    machine_name,
    share_of,
    time_text,
)
from hocket.recording.stream_lines import CoresLine
from hocket.recording.transfers import TransferCosts, group_transfers

__all__ = ["CHANCE", "SHARE", "Straggler", "StragglerVerdict", "find_stragglers", "judge"]

# Half of what a rank owes comes from so small a part of its collectives: now and then.
_FEW = 0.05


@dataclass(frozen=True)
class StragglerVerdict:
    """Who was named; of how many steps (collectives, where none are marked) of how many ranks; of whom it cannot be
    told because there are too few of them; who would be named, but for want of a core; who cost enough, but in one long
    while (`unsettled`); at which groups arrivals name nobody, for messages join members; `can_tell`: at the other
    groups, or, where there are none, by own work, there were steps enough to name anybody; `judged_by_work`: ranks that
    messages join were judged by their own work."""

    found: tuple[Straggler, ...]
    steps: int
    ranks: int
    too_few: tuple[str, ...]
    starved: tuple[Starved, ...] = ()
    unsettled: tuple[str, ...] = ()
    joined_by_messages: tuple[str, ...] = ()
    can_tell: bool = True
    judged_by_work: bool = False

    def text(self) -> Iterator[str]:
        """Lines for people: who was named, or that nobody was, and whom one cannot judge."""
        yield from (straggler.text() for straggler in self.found)
        yield from (rank.text() for rank in self.starved)
        if not self.steps:
            yield "stragglers: not judged: no collective in which ranks wait for each other"
        elif self.joined_by_messages:
            groups = ", ".join(self.joined_by_messages)
            instead = "own work judged instead" if self.judged_by_work else "no steps are marked to judge own work by"
            yield f"stragglers: arrivals at {groups} name nobody: members pass lateness on by messages; {instead}"
        if self.steps and (self.too_few or not self.can_tell):
            yield f"stragglers: too few collectives to tell them from chance ({self.steps} steps)"
        elif self.unsettled:
            who = ", ".join(self.unsettled)
            yield f"stragglers: not told apart from chance: {who}: what was lost was lost in one while"
        elif self.steps and not self.found and (self.judged_by_work or not self.joined_by_messages):
            yield f"stragglers: none: nobody costs {SHARE:.0%} of the time beyond chance ({self.steps} steps)"


def find_stragglers(
    ranks: Sequence[RankFindings],
    groups: Sequence[GroupCalls],
    found: Sequence[GroupFindings],
    messages: TransferCosts,
    machine: Mapping[int, int],
    cores: Mapping[int, CoresLine],
) -> tuple[list[Arrivals], StragglerVerdict]:
    """How the ranks arrived, and who of them and what between them slows the job down; `found` are the groups',
    `messages` what the ranks' cost, `machine` each rank's, `cores` what ranks tell of theirs."""
    counted = [group.transfers for group in found]
    transfers = [("link", messages), ("group", group_transfers(groups, counted, machine))]
    arrived = arrivals([rank.rank for rank in ranks], [group.arrivals for group in found])
    elapsed = int(np.median([rank.elapsed_ns for rank in ranks]))
    party = parties(messages.ranks)
    joined = [joins_members(group.ranks, party) for group in groups]
    judged = [group.arrivals for group, is_joined in zip(found, joined, strict=True) if not is_joined]
    verdict = judge(arrived, judged, transfers, machine, elapsed)
    names = [
        f"group {group.number} ({group.group.title})"
        for group, of, is_joined in zip(groups, found, joined, strict=True)
        if is_joined and of.arrivals.own.steps
    ]
    pipelines = components(messages.ranks)
    work = judge_work(
        {rank.rank: rank.own_work for rank in ranks}, _together(pipelines, groups, found), machine, elapsed
    )
    by_work = any(rank in work.judged for ranks in pipelines for rank in ranks)
    steps = max((group.arrivals.own.steps for group in found), default=0)
    can_tell = verdict.can_tell if verdict.steps else work.can_tell or not by_work
    verdict = replace(
        _with_work(verdict, work),
        steps=steps or (max(rank.steps for rank in ranks) if by_work else 0),
        joined_by_messages=tuple(names),
        can_tell=can_tell,
        judged_by_work=by_work,
    )
    return arrived, _without_starved(verdict, waited_beyond_others(cores, elapsed), elapsed)


def _together(
    pipelines: Sequence[tuple[int, ...]], groups: Sequence[GroupCalls], found: Sequence[GroupFindings]
) -> list[tuple[int, ...]]:
    """The ranks that go step by step together: pipelines, and of the other ranks those that collectives join."""
    in_pipelines = {rank for ranks in pipelines for rank in ranks}
    pairs = []
    for group, of in zip(groups, found, strict=True):
        others = [rank for rank in group.ranks if rank not in in_pipelines]
        if of.arrivals.own.steps:
            pairs += list(itertools.pairwise(others))
    return [*pipelines, *components(pairs)]


def _with_work(verdict: StragglerVerdict, work: LongerWork) -> StragglerVerdict:
    """The verdict with those who are named by their work alone."""
    named = {rank for straggler in verdict.found if straggler.kind in ("rank", "machine") for rank in straggler.ranks}
    found = [*verdict.found, *(straggler for straggler in work.found if named.isdisjoint(straggler.ranks))]
    told = {f"rank {rank}" for straggler in found if straggler.by != "transfers" for rank in straggler.ranks}
    told |= {straggler.name for straggler in found}
    few, unsettled = (
        tuple(name for name in dict.fromkeys(names) if name not in told)
        for names in ((*verdict.too_few, *work.too_few), (*verdict.unsettled, *work.unsettled))
    )
    return replace(verdict, found=tuple(found), too_few=few, unsettled=unsettled)


def _without_starved(
    verdict: StragglerVerdict, waited: Mapping[int, tuple[int, int]], elapsed_ns: int
) -> StragglerVerdict:
    """The verdict without ranks whose cost is less than SHARE once what they `waited` longer for a core than the others
    is taken off, and without links of which that is so once what their two ranks waited for one is."""
    starved, found = [], []
    for straggler in verdict.found:
        waits = [waited.get(rank, (0, 0)) for rank in straggler.ranks]
        waiting, beyond = waits[0] if straggler.kind == "rank" else (0, 0)
        if straggler.kind == "link":
            waiting = beyond = sum(own for own, _ in waits)
        if beyond > 0 and straggler.cost_ns - beyond < SHARE * elapsed_ns:
            link = straggler.name if straggler.kind == "link" else ""
            starved.append(Starved(straggler.ranks[-1], straggler.cost_ns, waiting, beyond, link))
        else:
            found.append(straggler)
    return replace(verdict, found=tuple(found), starved=tuple(starved))


def judge(
    arrived: Sequence[Arrivals],
    groups: Sequence[GroupArrivals],
    transfers: Sequence[tuple[str, TransferCosts]],
    machine: Mapping[int, int],
    elapsed_ns: int,
) -> StragglerVerdict:
    """The verdict on a job that took `elapsed_ns`, by its ranks' arrivals at each group's collectives."""
    worth = SHARE * elapsed_ns
    places = {arrival.rank: place for place, arrival in enumerate(arrived)}
    of_ranks = against_chance([group.table(places) for group in groups], len(arrived), worth, CHANCE)
    ranks = [
        _rank(arrival, min(int(excess), arrival.own_ns), elapsed_ns, chance)  # several groups may have one lateness
        for arrival, excess, chance in zip(arrived, of_ranks.excess, of_ranks.chance.tolist(), strict=True)
    ]
    machines = sorted(set(machine.values()))
    of_machines = against_chance(
        [group.table_of_machines(machines) for group in groups if group.of_machines is not None],
        len(machines),
        worth,
        CHANCE,
    )
    owed = [group.owed_by_machines() for group in groups]
    named = []
    for number, excess, chance in zip(machines, of_machines.excess, of_machines.chance.tolist(), strict=True):
        once = owed_once([of_group[number] for of_group in owed if number in of_group])
        named.append(_machine(machine, number, min(int(excess), once), elapsed_ns, chance))
    found, too_few, unsettled = _ranks_or_machines(ranks, of_ranks, named, of_machines)
    for kind, units in transfers:
        result = against_chance(units.tables, len(units.names), worth, CHANCE)
        links = [
            _transfer(kind, name, of, int(excess), elapsed_ns, chance)
            for name, of, excess, chance in zip(
                units.names, units.ranks, result.excess, result.chance.tolist(), strict=True
            )
        ]
        found += [link for link, counts in zip(links, _counts(links, result), strict=True) if counts]
        too_few += _those(links, result.too_few)
        unsettled += _those(links, result.unsettled)
    steps = max((group.own.steps for group in groups), default=0)
    few, untold = (tuple(straggler.name for straggler in some) for some in (too_few, unsettled))
    return StragglerVerdict(tuple(found), steps, len(arrived), few, unsettled=untold, can_tell=of_ranks.can_tell)


def _ranks_or_machines(
    ranks: Sequence[Straggler], of_ranks: Chance, machines: Sequence[Straggler], of_machines: Chance
) -> tuple[list[Straggler], list[Straggler], list[Straggler]]:
    """Who is named, who might be of too few collectives, who is not told apart. A machine is named unless one of its
    ranks alone owes half of it; else its ranks are not."""
    cost = {straggler.ranks[0]: straggler.cost_ns for straggler in ranks}
    whole = [2 * max(cost[rank] for rank in machine.ranks) < machine.cost_ns for machine in machines]
    named = [machine for machine, counts in zip(machines, _counts(machines, of_machines), strict=True) if counts]
    named = [machine for machine in named if whole[machines.index(machine)]]
    covered = {rank for machine in named for rank in machine.ranks}
    alone = [rank for rank, counts in zip(ranks, _counts(ranks, of_ranks), strict=True) if counts]
    alone = [rank for rank in alone if rank.ranks[0] not in covered]
    whole_ones = np.array(whole, dtype=bool)
    few = _those(ranks, of_ranks.too_few) + _those(machines, of_machines.too_few & whole_ones)
    unsettled = [rank for rank in _those(ranks, of_ranks.unsettled) if rank.ranks[0] not in covered]
    unsettled += _those(machines, of_machines.unsettled & whole_ones)
    return named + alone, few, unsettled


def _those(units: Sequence[Straggler], are: NDArray[np.bool_]) -> list[Straggler]:
    return [unit for unit, is_one in zip(units, are.tolist(), strict=True) if is_one]


def _counts(units: Sequence[Straggler], result: Chance) -> list[bool]:
    return [
        unit.share >= SHARE and chance <= CHANCE for unit, chance in zip(units, result.chance.tolist(), strict=True)
    ]


def _rank(arrival: Arrivals, cost_ns: int, elapsed_ns: int, chance: float) -> Straggler:
    pattern = "sporadic" if arrival.few <= _FEW * arrival.of else "persistent"
    detail = (
        f"last to {arrival.last} of {arrival.of} collectives, at worst {time_text(arrival.worst_ns)}: {arrival.worst}"
    )
    name, share = f"rank {arrival.rank}", share_of(cost_ns, elapsed_ns)
    return Straggler("rank", name, (arrival.rank,), pattern, cost_ns, share, chance, detail, "arrivals")


def _machine(machine: Mapping[int, int], number: int, cost_ns: int, elapsed_ns: int, chance: float) -> Straggler:
    ranks = machine_members(machine, number)
    share = share_of(cost_ns, elapsed_ns)
    return Straggler("machine", machine_name(ranks), ranks, "", cost_ns, share, chance, "", "arrivals")


def _transfer(kind: str, name: str, ranks: tuple[int, ...], cost_ns: int, elapsed_ns: int, chance: float) -> Straggler:
    share = share_of(cost_ns, elapsed_ns)
    return Straggler(kind, f"the {name}", ranks, "", cost_ns, share, chance, "", "transfers")
