"""Hybrid sharding, prefetching and keeping of FSDP: what is communicated, byte for byte, and when."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from llm_models import EXPERTS, TINY, communicated

from hocket.base.errors import Infeasible
from hocket.chakra import CollectiveType, Trace
from hocket.chakra.validate import validate
from hocket.simulator import simulate_traces
from hocket.topology import load
from hocket.workload.accelerators import ACCELERATORS
from hocket.workload.llm import ParallelPlan, llm_traces
from hocket.workload.llm.memory import memory_of

H100 = ACCELERATORS["h100"]
LAYER = 256 * 512 + 256 * 256 + 3 * 256 * 512 + 2 * 256  # parameters of one of TINY
EMBEDDING, OUTPUT = 1000 * 256, 1000 * 256 + 256
GATHER, SCATTER, SUM = CollectiveType.ALL_GATHER, CollectiveType.REDUCE_SCATTER, CollectiveType.ALL_REDUCE


def units(*, times: int, size: int) -> Counter[int]:
    """Every unit's parameters so many times, of which `size` bytes each are communicated."""
    return Counter({LAYER * size: 8 * times, EMBEDDING * size: times, OUTPUT * size: times})


def test_hybrid_sharding_gathers_in_its_group_and_sums_over_the_groups() -> None:
    plan = ParallelPlan(dp=8, zero=3, shard_group=4, global_batch=8)
    traces = llm_traces(TINY, plan, H100)
    # A quarter of each unit in BF16, forward and backward; gradients in FP32, then a quarter of them over 2 groups.
    quarter = {size // 4: times for size, times in units(times=1, size=2).items()}
    assert communicated(traces, 0, GATHER, "dp_shard") == Counter(quarter) + Counter(quarter)
    assert communicated(traces, 0, SCATTER, "dp_shard") == units(times=1, size=4)
    assert communicated(traces, 0, SUM, "dp_replica") == units(times=1, size=1)
    assert traces.groups["dp_shard.1"] == (4, 5, 6, 7)
    assert traces.groups["dp_replica.1"] == (1, 5)


def test_a_shard_group_of_all_copies_is_fsdp() -> None:
    plan = ParallelPlan(dp=8, zero=3, global_batch=8)
    same = llm_traces(TINY, replace(plan, shard_group=8), H100)
    plain = llm_traces(TINY, plan, H100)
    for kind in (GATHER, SCATTER):
        assert communicated(same, 0, kind, "dp_shard") == communicated(plain, 0, kind, "dp")
    assert not communicated(same, 0, SUM, "dp_replica")


@pytest.mark.parametrize("zero", [1, 2, 3])
def test_experts_are_sharded_in_groups_of_their_own(zero: int) -> None:
    plan = ParallelPlan(dp=8, ep=2, zero=zero, shard_group=4, global_batch=8, bucket_bytes=1)
    traces = llm_traces(EXPERTS, plan, H100)
    assert validate(traces) == []
    experts = 4 * 3 * 256 * 128  # of 8 on a rank: 4 of three matrices
    assert communicated(traces, 0, SCATTER, "expert_dp_shard") == Counter({4 * experts: 7})
    assert communicated(traces, 0, SUM, "expert_dp_replica") == Counter({4 * experts // 2: 7})
    assert traces.groups["expert_dp_shard.0"] == (0, 2)
    assert traces.groups["expert_dp_replica.0"] == (0, 4)
    simulate_traces(traces, load("switch:8,bandwidth=50GB/s,latency=500ns"))


def test_what_is_kept_is_not_gathered_again() -> None:
    plan = ParallelPlan(dp=4, zero=3, keep_gathered=True, global_batch=8)
    traces = llm_traces(TINY, plan, H100)
    quarter = {size // 4: times for size, times in units(times=2, size=2).items()}  # once for each of 2 micro-batches
    assert communicated(traces, 0, GATHER, "dp") == Counter(quarter)
    assert memory_of(TINY, plan, 0).parameters == 2 * TINY.num_parameters


@pytest.mark.parametrize(("prefetch", "before"), [(0, 4), (1, 3), (3, 1)])
def test_as_many_ahead_as_asked(prefetch: int, before: int) -> None:
    trace = llm_traces(TINY, ParallelPlan(dp=4, zero=3, prefetch=prefetch, global_batch=4), H100).traces[0]
    assert waits_for(trace, "layer 5 gather parameters") == {f"forward 0 layer {before} feed-forward"}


def waits_for(trace: Trace, name: str) -> set[str]:
    names = np.array([trace.strings[row] for row in trace.name])
    row = int(np.flatnonzero(names == name)[0])
    return set(names[trace.data_deps[trace.data_offset[row] : trace.data_offset[row + 1]].astype(int)].tolist())


@pytest.mark.parametrize(
    ("plan", "message"),
    [
        (ParallelPlan(dp=8, zero=3, shard_group=3, global_batch=8), "shard group 3 must divide the 8 ranks"),
        (ParallelPlan(dp=8, shard_group=4, global_batch=8), "this is ZeRO 0"),
        (ParallelPlan(dp=8, zero=2, prefetch=2, global_batch=8), "only ZeRO 3 gathers ahead"),
        (ParallelPlan(dp=8, zero=1, keep_gathered=True, global_batch=8), "only ZeRO 3 gathers ahead"),
        (ParallelPlan(dp=8, ep=8, zero=3, shard_group=4, global_batch=8), "ep 8 must divide the shard group of 4"),
    ],
)
def test_what_cannot_be_is_refused(plan: ParallelPlan, message: str) -> None:
    with pytest.raises(Infeasible, match=message):
        llm_traces(EXPERTS, plan, H100)
