"""The traces of a training step on all ranks, made from one program a pipeline stage."""

from dataclasses import replace
from functools import cache

import numpy as np

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

    The ranks of a pipeline stage (of one place in their expert parallel groups, where loads are skewed) share all
    columns but the ends of messages, and all strings but the groups' names. Raises Infeasible for a plan that this
    model cannot be trained by (`ParallelPlan.check`), and FormatError when the accelerator lacks the plan's precision.
    """
    plan.check(card)
    work = Workbook(card, plan, accelerator)
    ranks = ParallelRanks(plan)

    @cache
    def program(stage: int, place: int) -> Trace:
        return stage_program(card, plan, work, stage, place)

    def place(rank: int) -> int:
        """Where it makes a difference: experts that get unlike many tokens do unlike things."""
        return 0 if plan.loads.even else ranks.expert_place(rank)

    traces = (_on_rank(program(ranks.stage(rank), place(rank)), rank, ranks) for rank in range(plan.num_ranks))
    return TraceSet(tuple(traces), ranks.groups)


def _on_rank(program: Trace, rank: int, ranks: ParallelRanks) -> Trace:
    names: dict[str, str] = {kind.value: name for kind, name in ranks.group_names(rank).items()}
    peers = np.array([*ranks.peers(rank), -1])  # the last is what an absent peer, -1, refers to
    return replace(
        program,
        strings=tuple(names.get(text, text) for text in program.strings),
        comm_src=peers[program.comm_src],
        comm_dst=peers[program.comm_dst],
    )
