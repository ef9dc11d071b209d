"""One rank of each kind stands for the others, to the picosecond, or for none."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.workload.llm.llm_models import EXPERTS, TINY

from hocket.base.errors import HocketError
from hocket.chakra import TraceSet
from hocket.simulator import Fidelity, Prediction, simulate_traces
from hocket.simulator.analysis import sort_table, step_shares
from hocket.topology import Topology, load
from hocket.workload.accelerators import ACCELERATORS
from hocket.workload.llm import ModelCard, ParallelPlan, PipelineSchedule, llm_traces

LINK = "bandwidth=50GB/s,latency=500ns"
MODELLED = "nccl-model"
RINGS = dict.fromkeys(("all_reduce", "all_gather", "reduce_scatter"), "ring")


def job(card: ModelCard = TINY, **plan: object) -> TraceSet:
    return llm_traces(card, ParallelPlan(**plan), ACCELERATORS["h100"])  # type: ignore[arg-type]


def both(
    traces: TraceSet, topology: Topology, algorithms: object = "auto", fidelity: Fidelity | None = None
) -> tuple[Prediction, Prediction]:
    whole, folded = (
        simulate_traces(
            traces,
            topology,
            algorithms=algorithms,  # type: ignore[arg-type]
            fidelity=fidelity or Fidelity(),
            launch_ps=3_000,
            folded=fold,
        )
        for fold in (False, True)
    )
    return whole, folded


def require_equal(whole: Prediction, folded: Prediction) -> None:
    """The times of all nodes and links, the bound, and what is said."""
    assert whole.time_ps == folded.time_ps
    assert whole.bound_ps == folded.bound_ps
    assert (whole.notes, whole.assumed) == (folded.notes, folded.assumed)
    for column in ("link_busy_ps", "link_bytes", "link_messages"):
        assert np.array_equal(getattr(whole, column), getattr(folded, column)), column
    offset, left = whole.workload.rank_offset, folded.workload.rank_offset
    assert folded.workload.job_ranks == whole.workload.num_ranks
    for rank, row in enumerate(folded.workload.rows_of(np.arange(whole.workload.num_ranks)).tolist()):
        all_nodes, one = slice(offset[rank], offset[rank + 1]), slice(left[row], left[row + 1])
        for column in ("node_start_ps", "node_finish_ps"):
            assert np.array_equal(getattr(whole, column)[all_nodes], getattr(folded, column)[one]), (rank, column)
    for column in ("finish_ps", "compute_ps", "slowed_ps"):
        assert np.array_equal(getattr(whole, column), getattr(folded, column)), column
    for one, other in zip(sorts(whole), sorts(folded), strict=True):
        assert one == other


def sorts(prediction: Prediction) -> list[tuple[object, ...]]:
    """What is said of all collectives of a sort: numbers of those of the whole job."""
    table = sort_table(prediction)
    columns = ("kind", "ranks", "size_bytes", "algorithm", "count", "mean_time_ps", "mean_wait_ps", "mean_bound_ps")
    return sorted(zip(*(table[name].tolist() for name in columns), strict=True))


def require_equal_shares(whole: Prediction, folded: Prediction, groups: dict[str, tuple[int, ...]]) -> None:
    """Where each rank's time goes, and what is overlapped of each dimension."""
    one, other = step_shares(whole, groups), step_shares(folded, groups)
    assert one.parts == other.parts
    assert np.array_equal(one.times_ps, other.times_ps)
    assert (other.times_ps.sum(axis=0) == other.time_ps).all()
    for name, column in one.overlap.items():
        assert np.array_equal(column, other.overlap[name]), name


@pytest.mark.parametrize(
    ("plan", "topology", "algorithms", "rows"),
    [
        ({"tp": 4, "pp": 8, "sequence_parallel": True, "global_batch": 16}, "dgx-h100:nodes=4", MODELLED, 8),
        ({"tp": 4, "pp": 2, "dp": 4, "zero": 1, "global_batch": 8}, "dgx-h100:nodes=4", MODELLED, 2),
        ({"tp": 4, "pp": 2, "dp": 4, "zero": 1, "global_batch": 16}, f"switch:32,{LINK}", RINGS, 2),
        ({"tp": 1, "pp": 1, "dp": 16, "zero": 3, "global_batch": 16}, f"ring:16,{LINK}", RINGS, 1),
        ({"tp": 4, "pp": 1, "dp": 4, "zero": 1, "global_batch": 8}, f"torus:4x4,{LINK}", RINGS, 1),
        ({"cp": 4, "dp": 2, "zero": 1, "global_batch": 8}, f"switch:8,{LINK}", RINGS, 1),
        ({"tp": 2, "pp": 4, "dp": 9, "zero": 1, "global_batch": 36}, "gb200-nvl72", MODELLED, 4),
    ],
)
def test_ranks_that_do_alike_become_one(plan: dict[str, object], topology: str, algorithms: object, rows: int) -> None:
    traces = job(**plan)
    whole, folded = both(traces, load(topology), algorithms)
    require_equal(whole, folded)
    require_equal_shares(whole, folded, traces.groups)
    require_equal_shares(whole, folded, {})  # names tell nothing
    assert folded.workload.num_ranks == rows


def test_experts_exchange_over_links_that_are_alike() -> None:
    traces = job(EXPERTS, tp=2, sequence_parallel=True, pp=2, dp=4, ep=4, zero=1, global_batch=16)
    whole, folded = both(traces, load(f"switch:16,{LINK}"))
    require_equal(whole, folded)
    assert folded.workload.num_ranks == 2


def test_files_fold_as_well() -> None:
    """Traces that share nothing are compared."""
    made = job(tp=2, pp=2, dp=4, zero=1, global_batch=16)
    read = TraceSet(
        tuple(replace(trace, id=trace.id.copy(), num_ops=trace.num_ops.copy()) for trace in made.traces), made.groups
    )
    whole, folded = both(read, load(f"switch:16,{LINK}"))
    require_equal(whole, folded)
    assert folded.workload.num_ranks == 2


def test_how_busy_links_were_over_time_is_that_of_all() -> None:
    traces, binned = job(tp=2, pp=2, dp=4, zero=1, global_batch=16), Fidelity(link_bins=40)
    whole, folded = both(traces, load(f"switch:16,{LINK}"), fidelity=binned)
    assert whole.link_use is not None
    assert folded.link_use is not None
    assert folded.workload.num_ranks == 2
    assert whole.link_use.bin_ps == folded.link_use.bin_ps
    assert np.array_equal(whole.link_use.busy_ps, folded.link_use.busy_ps)


def test_a_slow_rank_stands_for_itself() -> None:
    made = job(tp=1, pp=1, dp=8, zero=1, global_batch=8)
    traces = list(made.traces)
    traces[5] = replace(traces[5], duration_ns=traces[5].duration_ns * 2)
    whole, folded = both(TraceSet(tuple(traces), made.groups), load("dgx-h100"), MODELLED)
    require_equal(whole, folded)
    assert whole.time_ps > both(made, load("dgx-h100"), MODELLED)[0].time_ps


def test_a_slow_link_is_not_alike() -> None:
    topology = load(f"switch:16,{LINK}")
    slow = replace(topology, bandwidth=np.where(topology.src == 3, topology.bandwidth // 4, topology.bandwidth))
    traces = job(tp=2, pp=2, dp=4, zero=1, global_batch=16)
    whole, folded = both(traces, slow)
    require_equal(whole, folded)
    assert whole.time_ps > both(traces, topology)[0].time_ps


def test_a_deadlock_is_told_of_all_ranks() -> None:
    made = job(tp=1, pp=2, dp=4, zero=1, global_batch=8)
    kept = list(made.traces)
    last = kept[7]
    kept[7] = replace(last, type=np.where(last.type == 5, np.uint8(4), last.type))  # it computes in place of sending
    traces = TraceSet(tuple(kept), made.groups)
    told = []
    for fold in (False, True):
        with pytest.raises(HocketError) as error:
            simulate_traces(traces, load(f"switch:8,{LINK}"), folded=fold)
        told.append(str(error.value))
    assert told[0] == told[1]


@settings(max_examples=60, deadline=None)
@given(
    tp=st.sampled_from([1, 2, 4]),
    pp=st.sampled_from([1, 2, 4]),
    dp=st.sampled_from([1, 2, 3, 4]),
    cp=st.sampled_from([1, 2]),
    zero=st.sampled_from([0, 1, 3]),
    schedule=st.sampled_from(PipelineSchedule),
    order=st.permutations(["tp", "cp", "dp", "pp"]),
    mixture=st.booleans(),
    spec=st.sampled_from([f"switch:R,{LINK}", f"ring:R,{LINK}", "dgx-h100:nodes=N", "mi300x:nodes=N", "p4d:nodes=N"]),
    model=st.sampled_from(["congestion", "flow", "analytical", "uncontended"]),
    slowdown=st.sampled_from([Fraction(1), Fraction(5, 4)]),
    auto=st.booleans(),
)
def test_any_job_takes_as_long_folded(
    tp: int,
    pp: int,
    dp: int,
    cp: int,
    zero: int,
    schedule: PipelineSchedule,
    order: list[str],
    mixture: bool,
    spec: str,
    model: str,
    slowdown: Fraction,
    auto: bool,
) -> None:
    ranks = tp * pp * dp * cp
    assume(2 <= ranks <= 32)
    chunks = 2 if schedule in (PipelineSchedule.INTERLEAVED,) else 1
    experts = {"ep": dp, "sequence_parallel": tp > 1} if mixture else {}
    try:
        traces = job(
            EXPERTS if mixture else TINY,
            **{"tp": tp, "pp": pp, "dp": dp, "cp": cp, "zero": zero, "schedule": schedule, "chunks": chunks},
            **{"order": tuple(order), "global_batch": 4 * dp, **experts},
        )
    except HocketError:
        assume(False)
    topology = load(spec.replace("R", str(ranks)).replace("N", str(max(2, -(-ranks // 8)))))
    whole, folded = both(traces, topology, "auto" if auto else {}, Fidelity(model, overlap_slowdown=slowdown))
    require_equal(whole, folded)
    require_equal_shares(whole, folded, traces.groups)
