"""What ranks have in common: the trace of any rank made from that of its role's first."""

from dataclasses import fields, replace

import numpy as np
import pytest
from tests.workload.llm.llm_models import TINY

from hocket.chakra import Trace, TraceSet
from hocket.chakra.roles import TracesByRole, kinds_of_traces, roles_of
from hocket.workload.accelerators import ACCELERATORS
from hocket.workload.llm import ParallelPlan, llm_traces
from hocket.workload.llm.program import stage_program
from hocket.workload.llm.ranks import ParallelRanks
from hocket.workload.llm.work import Workbook

H100 = ACCELERATORS["h100"]
PLANS = (
    ParallelPlan(tp=2, pp=2, dp=4, zero=1, global_batch=16),
    ParallelPlan(tp=2, pp=4, dp=2, cp=2, zero=1, global_batch=16, sequence_parallel=True),
    ParallelPlan(pp=2, dp=4, cp=4, zero=3, global_batch=8),
    ParallelPlan(dp=4, zero=3, global_batch=8),
)


@pytest.mark.parametrize("plan", PLANS)
def test_traces_made_when_asked_for_are_those_of_their_ranks(plan: ParallelPlan) -> None:
    made = llm_traces(TINY, plan, H100)
    ranks, work = ParallelRanks(plan), Workbook(TINY, plan, H100)
    for rank in range(plan.num_ranks):
        program = stage_program(TINY, plan, work, ranks.stage(rank))
        names = {kind.value: name for kind, name in ranks.group_names(rank).items()}
        peers = np.array([*ranks.peers(rank), -1])
        wanted = replace(
            program,
            strings=tuple(names.get(text, text) for text in program.strings),
            comm_src=peers[program.comm_src],
            comm_dst=peers[program.comm_dst],
        )
        for field in fields(Trace):
            expected, found = getattr(wanted, field.name), getattr(made.traces[rank], field.name)
            same = np.array_equal(expected, found) if isinstance(expected, np.ndarray) else expected == found
            assert same, (rank, field.name)


@pytest.mark.parametrize("plan", PLANS)
def test_roles_are_found_by_comparing_traces(plan: ParallelPlan) -> None:
    made = llm_traces(TINY, plan, H100)
    assert isinstance(made.traces, TracesByRole)
    known, found = made.traces.roles, roles_of(TraceSet(tuple(made.traces), made.groups))
    assert np.array_equal(known.of, found.of)
    assert np.array_equal(known.peers, found.peers)
    for one, other in zip(known.groups.tolist(), found.groups.tolist(), strict=True):
        assert [known.names[at] for at in one if at >= 0] == [found.names[at] for at in other if at >= 0]


def test_what_differs_makes_a_role_of_its_own() -> None:
    made = llm_traces(TINY, PLANS[3], H100)
    traces = list(made.traces)
    assert len(roles_of(TraceSet(tuple(traces), made.groups)).first) == 1
    for column in ("duration_ns", "comm_bytes", "num_ops"):
        changed = getattr(traces[2], column).copy()
        changed[-1] += 1
        other = [*traces[:2], replace(traces[2], **{column: changed}), traces[3]]
        assert roles_of(TraceSet(tuple(other), made.groups)).of.tolist() == [0, 0, 1, 0]


def test_one_trace_of_each_role_and_how_many_have_it() -> None:
    made = llm_traces(TINY, PLANS[0], H100)
    assert [count for _, count in kinds_of_traces(made)] == [8, 8]
    assert [count for _, count in kinds_of_traces(TraceSet(tuple(made.traces), made.groups))] == [1] * 16
