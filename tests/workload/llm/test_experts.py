"""Experts that are chosen unevenly, and how tokens get to them: volumes by hand."""

import random
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from llm_models import EXPERTS, TINY, communicated

from hocket.base.errors import FormatError, Infeasible
from hocket.chakra import CollectiveType, NodeType
from hocket.chakra.validate import validate
from hocket.simulator import simulate_traces
from hocket.topology import load
from hocket.workload.accelerators import ACCELERATORS
from hocket.workload.llm import Experts, ParallelPlan, TokenDispatch, TokenFormat, llm_traces
from hocket.workload.llm.loads import parse_loads, share_out
from hocket.workload.llm.routing import RoutingShape, route

H100 = ACCELERATORS["h100"]
A2A = CollectiveType.ALL_TO_ALL
TOKENS, HIDDEN = 128, 256
PLAN = ParallelPlan(dp=4, ep=4, global_batch=4)
MANY = replace(TINY, name="many", experts=Experts(count=64, top_k=4, ffn=128))


@given(st.lists(st.integers(1, 10**6), min_size=4, max_size=40), st.integers(1, 500), st.integers(1, 4))
def test_shares_are_whole_and_none_is_more_than_all_tokens(weights: list[int], tokens: int, top_k: int) -> None:
    shares = share_out(tokens * top_k, tuple(map(float, weights)), tokens)
    assert sum(shares) == tokens * top_k
    assert max(shares) <= tokens


def test_weights_of_a_file_cut_the_all_to_alls(tmp_path: Path) -> None:
    path = tmp_path / "loads.csv"
    path.write_text("# the first of 8 experts as often as all others\n7,1,1,1,1,1,1,1\n")
    traces = llm_traces(EXPERTS, replace(PLAN, loads=parse_loads(str(path))), H100)
    assert validate(traces) == []
    # 256 choices of 128 tokens by 14ths: 128 (all tokens), and 128 / 7 each: 18 for five of the others, 19 for two.
    trace = traces.traces[0]
    cuts = {trace.strings[row] for row in trace.in_splits[trace.in_splits >= 0]}
    assert cuts == {str([2 * HIDDEN * count for count in (128 + 19, 19 + 18, 36, 36)])}
    # Forward there and back, backward there and back: what rank 0 returns is what all four sent it.
    assert communicated(traces, 0, A2A, "ep") == Counter({2 * HIDDEN * 256: 7 * 2, 2 * HIDDEN * 4 * (128 + 19): 7 * 2})
    ops = [int(trace.num_ops[trace.type == NodeType.COMP].sum()) for trace in traces.traces]
    assert ops[0] > ops[1] > ops[2] == ops[3]
    even = llm_traces(EXPERTS, PLAN, H100)
    assert sum(ops) == sum(int(trace.num_ops[trace.type == NodeType.COMP].sum()) for trace in even.traces)
    topology = load("switch:4,bandwidth=100GB/s,latency=500ns")
    assert simulate_traces(traces, topology).time_ps > simulate_traces(even, topology).time_ps


def test_zipf_is_seeded_and_changes_where_asked() -> None:
    plan = replace(PLAN, global_batch=8)

    def cuts(seed: int, changes: bool) -> list[str]:
        loads = parse_loads("zipf:1.2", seed, changes)
        trace = llm_traces(EXPERTS, replace(plan, loads=loads), H100).traces[1]
        assert trace.metadata["expert_loads"] == "zipf:1.2"
        rows = (trace.type == NodeType.COMM_COLL) & (trace.in_splits >= 0)
        return [trace.strings[row] for row in trace.in_splits[rows]]

    assert cuts(1, False) == cuts(1, False)
    assert cuts(1, False) != cuts(2, False)
    assert len(set(cuts(1, False))) <= 7 < len(set(cuts(1, True)))


@pytest.mark.parametrize("most_nodes", [1, 2, 4])
def test_evenly_chosen_experts_hit_as_many_ranks_and_nodes_as_a_draw(most_nodes: int) -> None:
    shape = RoutingShape(experts=64, top_k=4, ranks=16, node_ranks=4, most_nodes=most_nodes)
    routing = route(parse_loads("uniform"), shape, 100_000, 0, 0)
    drawn, ranks, nodes = random.Random(0), 0, 0
    for _ in range(20_000):
        open_nodes = drawn.sample(range(4), most_nodes)
        chosen = drawn.sample([16 * node + expert for node in open_nodes for expert in range(16)], 4)
        ranks += len({expert // 4 for expert in chosen})
        nodes += len({expert // 16 for expert in chosen})
    assert sum(routing.to_ranks) / 100_000 == pytest.approx(ranks / 20_000, rel=0.01)
    assert sum(routing.to_nodes) / 100_000 == pytest.approx(nodes / 20_000, rel=0.01)


def test_dispatch_by_nodes_sends_a_copy_to_each_node_and_forwards_it() -> None:
    plan = ParallelPlan(dp=16, ep=16, dispatch=TokenDispatch.NODES, node_ranks=4, most_nodes=1, global_batch=16)
    traces = llm_traces(MANY, plan, H100)
    assert validate(traces) == []
    # One node of four for each token: 32 tokens to each. There 4 of 16 experts, by fours on 4 ranks: a rank is missed
    # by C(12, 4) / C(16, 4) = 495 / 1820 of them.
    assert communicated(traces, 0, A2A, "ep_nodes") == Counter({2 * HIDDEN * TOKENS: 8 * 4})
    # What comes from 4 nodes: 4 * ceil(32 * (1 - 495 / 1820)) = 4 * 24 tokens to each of 4 ranks.
    assert communicated(traces, 0, A2A, "ep_node") == Counter({2 * HIDDEN * 4 * 24 * 4: 8 * 4})
    assert traces.groups["ep_node.1"] == (4, 5, 6, 7)
    assert traces.groups["ep_nodes.1"] == (1, 5, 9, 13)
    simulate_traces(traces, load("switch:16,bandwidth=100GB/s,latency=500ns"))


@pytest.mark.parametrize(("node_ranks", "group"), [(4, "ep_node"), (1, "ep_nodes")])
def test_dispatch_by_nodes_sends_nothing_in_a_group_of_one_rank(node_ranks: int, group: str) -> None:
    plan = ParallelPlan(dp=4, ep=4, dispatch=TokenDispatch.NODES, node_ranks=node_ranks, global_batch=4)
    traces = llm_traces(EXPERTS, plan, H100)
    assert validate(traces) == []
    used = {kind for kind in ("ep_node", "ep_nodes") if communicated(traces, 0, A2A, kind)}
    assert used == {group}
    simulate_traces(traces, load("switch:4,bandwidth=100GB/s,latency=500ns"))


def test_dispatch_as_fp8_halves_one_way() -> None:
    traces = llm_traces(EXPERTS, replace(PLAN, token_format=TokenFormat.FP8), H100)
    # 256 bytes and 2 scales of 4 bytes per token there, 512 back, both forward and backward.
    assert communicated(traces, 0, A2A, "ep") == Counter({2 * TOKENS * (256 + 8): 7 * 2, 2 * TOKENS * 512: 7 * 2})


def test_a_copy_for_each_rank() -> None:
    traces = llm_traces(EXPERTS, replace(PLAN, dispatch=TokenDispatch.RANKS), H100)
    # Two of 8 experts, two a rank: a rank is missed by C(6, 2) / C(8, 2) = 15 / 28: ceil(128 * 13 / 28) = 60 copies.
    assert communicated(traces, 0, A2A, "ep") == Counter({4 * 60 * 512: 7 * 4})


@pytest.mark.parametrize("dispatch", list(TokenDispatch))
@pytest.mark.parametrize("skew", ["uniform", "zipf:1"])
def test_all_combinations_run(dispatch: TokenDispatch, skew: str) -> None:
    plan = ParallelPlan(
        tp=2, sequence_parallel=True, pp=2, dp=4, ep=4, dispatch=dispatch, loads=parse_loads(skew), global_batch=8
    )  # fmt: skip
    if dispatch is TokenDispatch.NODES:
        plan = replace(plan, node_ranks=2, most_nodes=1)
    traces = llm_traces(EXPERTS, plan, H100)
    assert validate(traces) == []
    simulate_traces(traces, load("switch:16,bandwidth=100GB/s,latency=500ns"))
    ops = sum(int(trace.num_ops[trace.type == NodeType.COMP].sum()) for trace in traces.traces)
    even = llm_traces(EXPERTS, replace(plan, loads=parse_loads("uniform")), H100)
    assert ops == sum(int(trace.num_ops[trace.type == NodeType.COMP].sum()) for trace in even.traces)


@pytest.mark.parametrize(
    ("plan", "message"),
    [
        (ParallelPlan(loads=parse_loads("zipf:1")), "skewed loads need ep above 1"),
        (replace(PLAN, most_nodes=1), "dispatch by nodes only"),
        (
            replace(PLAN, dispatch=TokenDispatch.NODES, node_ranks=3),
            "3 expert parallel ranks of a node must divide",
        ),
        (replace(PLAN, dispatch=TokenDispatch.NODES, node_ranks=2, most_nodes=3), "cannot go to 3 of 2 nodes"),
        (
            replace(PLAN, dispatch=TokenDispatch.NODES, node_ranks=1, most_nodes=1, dp=8, ep=8, global_batch=8),
            "1 experts",
        ),
    ],
)
def test_what_cannot_be_is_refused(plan: ParallelPlan, message: str) -> None:
    with pytest.raises(Infeasible, match=message):
        llm_traces(EXPERTS, plan, H100)


@pytest.mark.parametrize(
    ("text", "message"),
    [("1,2\n3,x\n", "loads:2: expected numbers"), ("1,0\n", "loads:1: a weight must be"), ("\n", "no weights")],
)
def test_files_that_are_no_weights_are_refused(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "loads").write_text(text)
    with pytest.raises(FormatError, match=message):
        parse_loads(str(tmp_path / "loads"))
