"""The traces of a training step on all ranks, made from one program a pipeline stage."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from hocket.chakra.roles import Roles, TracesByRole, ends_in_order, groups_in_order
from hocket.chakra.trace import Trace, TraceSet
from hocket.workload.accelerators import Accelerator
from hocket.workload.llm.card import ModelCard
from hocket.workload.llm.plan import ParallelPlan
from hocket.workload.llm.program import stage_program
from hocket.workload.llm.ranks import ParallelRanks
from hocket.workload.llm.work import Workbook

__all__ = ["llm_traces"]


def llm_traces(card: ModelCard, plan: ParallelPlan, accelerator: Accelerator) -> TraceSet:
    """One step of training `card` by `plan`, computation timed by the accelerator's roofline.

    The ranks of a pipeline stage (of one place in their expert parallel group, where loads are skewed) have one role:
    only its trace is held (`TracesByRole`). Raises Infeasible for a plan that this model cannot be trained by
    (`ParallelPlan.check`), and FormatError when the accelerator lacks the plan's precision.
    """
    plan.check(card)
    work = Workbook(card, plan, accelerator)
    ranks = ParallelRanks(plan)
    first: dict[tuple[int, int], int] = {}
    of = []
    for rank in range(plan.num_ranks):
        # Experts that get unlike many tokens do unlike things.
        place = 0 if plan.loads.even else ranks.expert_place(rank)
        of.append(first.setdefault((ranks.stage(rank), place), len(first)))
    role = np.array(of, np.int32)
    leaders = np.unique(role, return_index=True)[1].tolist()
    programs = [
        _on_rank(stage_program(card, plan, work, stage, place), rank, ranks)
        for (stage, place), rank in zip(first, leaders, strict=True)
    ]
    return TraceSet(TracesByRole(programs, _roles(programs, role, leaders, ranks)), ranks.groups)


def _roles(programs: list[Trace], of: NDArray[np.int32], leaders: list[int], ranks: ParallelRanks) -> Roles:
    """Who the peers and groups of every rank are: those that its role's first rank has, seen from there."""
    names = {name: number for number, name in enumerate(ranks.groups)}
    peer_kinds, group_kinds = [], []
    for program, leader in zip(programs, leaders, strict=True):
        seen = ranks.peers(leader)
        peer_kinds.append([seen.index(peer) for peer in ends_in_order(program)])
        kind_of = {name: kind for kind, name in ranks.group_names(leader).items()}
        group_kinds.append([kind_of[program.strings[at]] for at in groups_in_order(program)])
    peers = np.full((len(of), max(map(len, peer_kinds))), -1, np.int64)
    groups = np.full((len(of), max(map(len, group_kinds))), -1, np.int32)
    for rank, role in enumerate(of.tolist()):
        if kinds := peer_kinds[role]:
            seen = ranks.peers(rank)
            peers[rank, : len(kinds)] = [seen[kind] for kind in kinds]
        own = ranks.group_names(rank)
        groups[rank, : len(group_kinds[role])] = [names[own[kind]] for kind in group_kinds[role]]
    return Roles(of, peers, groups, tuple(names))


def _on_rank(program: Trace, rank: int, ranks: ParallelRanks) -> Trace:
    names: dict[str, str] = {kind.value: name for kind, name in ranks.group_names(rank).items()}
    peers = np.array([*ranks.peers(rank), -1])  # the last is what an absent peer, -1, refers to
    return replace(
        program,
        strings=tuple(names.get(text, text) for text in program.strings),
        comm_src=peers[program.comm_src],
        comm_dst=peers[program.comm_dst],
    )
