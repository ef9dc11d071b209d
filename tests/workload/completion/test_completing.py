"""Jobs of which some ranks' traces were taken away, made whole again."""

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from in_process import hocket
from llm_models import TINY

from hocket.base.errors import HocketError, TraceError
from hocket.chakra import TraceBuilder, TraceSet, read_traces, write_trace
from hocket.chakra.groups import write_groups
from hocket.chakra.importers import import_traces
from hocket.chakra.trace import CollectiveType, NodeType, Trace
from hocket.chakra.validate import validate
from hocket.workload.accelerators import ACCELERATORS
from hocket.workload.completion import Completion, KnownRanks, RankGrid, grid_of_groups, grid_of_plan
from hocket.workload.llm import ParallelPlan, PipelineSchedule, llm_traces

PLANS = {
    "tp=2,dp=4": ParallelPlan(tp=2, dp=4, global_batch=4),
    "dp=8": ParallelPlan(dp=8, zero=3, global_batch=8),
    "tp=2,cp=4": ParallelPlan(tp=2, cp=4),
    "tp=2,pp=4,dp=2": ParallelPlan(tp=2, pp=4, dp=2, global_batch=16),
    "pp=2,dp=2": ParallelPlan(pp=2, dp=2, global_batch=8),
    "tp=2,cp=2,dp=2,pp=2": ParallelPlan(tp=2, cp=2, dp=2, pp=2, global_batch=8),
    "pp=2": ParallelPlan(pp=2, chunks=2, schedule=PipelineSchedule.INTERLEAVED, global_batch=4),
}


def known_of(traces: TraceSet, ranks: list[int]) -> KnownRanks:
    """What is left of a job when only these ranks' traces and groups are there."""
    groups = {name: members for name, members in traces.groups.items() if set(members) & set(ranks)}
    return KnownRanks({rank: traces.traces[rank] for rank in ranks}, groups, traces.num_ranks)


def completed(known: KnownRanks, grid: RankGrid) -> TraceSet:
    completion = Completion(known, grid)
    made = TraceSet(tuple(completion.trace(rank) for rank in range(completion.num_ranks)), completion.groups)
    assert validate(made) == []
    return made


def nodes(traces: TraceSet, rank: int) -> list[tuple[object, ...]]:
    """What a rank does, without the names of groups."""
    trace = traces.traces[rank]
    columns = (
        trace.type,
        trace.comm_type,
        trace.comm_bytes,
        trace.comm_src,
        trace.comm_dst,
        trace.comm_tag,
        trace.root,
    )
    deps = (trace.data_deps.tolist(), trace.data_offset.tolist())
    names = [trace.text(trace.process_group, row) for row in range(len(trace))]
    groups = [traces.members(name) if name else () for name in names]
    return [*zip(*(column.tolist() for column in (*columns, trace.duration_ns)), groups, strict=True), deps]


@pytest.mark.parametrize("text", PLANS)
def test_one_rank_of_each_stage_is_the_whole_job(text: str) -> None:
    whole = llm_traces(TINY, PLANS[text], ACCELERATORS["h100"])
    grid = grid_of_plan(text, "tp,cp,dp,pp", whole.num_ranks)
    stages = PLANS[text].pp
    size = whole.num_ranks // stages
    for within in (0, size - 1):
        made = completed(known_of(whole, [stage * size + within for stage in range(stages)]), grid)
        for rank in range(whole.num_ranks):
            assert nodes(made, rank) == nodes(whole, rank)


def test_groups_alone_tell_the_layout() -> None:
    whole = llm_traces(TINY, PLANS["tp=2,dp=4"], ACCELERATORS["h100"])
    known = known_of(whole, [3])
    grid = grid_of_groups(8, known.groups, {})
    assert grid.sizes == (2, 4)
    made = completed(known, grid)
    assert [nodes(made, rank) for rank in range(8)] == [nodes(whole, rank) for rank in range(8)]


@pytest.mark.parametrize("text", ["tp=2,pp=4,dp=2", "pp=2"])
def test_a_stage_of_a_pipeline_does_not_tell_the_others(text: str) -> None:
    """Not its warm-up, not its share of the model: so the profile of a rank of each stage is asked for, by ranks."""
    whole = llm_traces(TINY, PLANS[text], ACCELERATORS["h100"])
    stages, size = PLANS[text].pp, whole.num_ranks // PLANS[text].pp
    grid = grid_of_plan(text, "tp,cp,dp,pp", whole.num_ranks)
    for stage in range(stages):
        message = _refused(known_of(whole, [stage * size]), grid)
        assert "give the profile of one rank of each, such as" in message
        assert f"{', '.join(str(other) for other in range(stages) if other != stage)} of the pipeline" in message


def test_a_plan_that_no_message_or_group_bears_out() -> None:
    only_data = KnownRanks({0: _of(0, 8, ("1", CollectiveType.ALL_REDUCE, 8, -1))}, {"1": (0, 1, 2, 3)}, 8)
    assert "no stages of a pipeline" in _refused(only_data, grid_of_plan("dp=4,pp=2", "tp,cp,dp,pp", 8))
    notes = Completion(only_data, grid_of_plan("tp=4,dp=2", "tp,cp,dp,pp", 8)).notes
    assert "ranks do not communicate along dp, as no known one does" in notes
    of_all = KnownRanks({0: _of(0, 8, ("", CollectiveType.ALL_REDUCE, 8, -1))}, {}, 8)
    notes = Completion(of_all, grid_of_plan("tp=4,dp=2", "tp,cp,dp,pp", 8)).notes
    assert not [note for note in notes if "along" in note]


def _ends(trace: Trace, kind: NodeType) -> list[tuple[int, int, int]]:
    rows = trace.type == kind
    return list(
        zip(trace.comm_src[rows].tolist(), trace.comm_dst[rows].tolist(), trace.comm_bytes[rows].tolist(), strict=True)
    )


def test_columns_are_shared() -> None:
    whole = llm_traces(TINY, PLANS["dp=8"], ACCELERATORS["h100"])
    known = KnownRanks({0: whole.traces[0]}, {"dp.0": tuple(range(1 << 14))}, 1 << 14)
    large = Completion(known, grid_of_groups(1 << 14, known.groups, {}))
    assert np.shares_memory(large.trace(9000).data_deps, whole.traces[0].data_deps)
    assert large.trace(9000).metadata["rank"] == 9000


def _of(rank: int, world: int, *calls: tuple[str, CollectiveType, int, int]) -> Trace:
    builder = TraceBuilder({"rank": rank, "world_size": world})
    for group, kind, size, root in calls:
        builder.add_collective(kind.name, kind, size, group=group, root=root, duration_ns=10)
    return builder.build()


def test_roots_stay_the_same_members() -> None:
    trace = _of(5, 8, ("1", CollectiveType.BROADCAST, 8, 4), ("", CollectiveType.BROADCAST, 8, 3))
    known = KnownRanks({5: trace}, {"1": (4, 5, 6, 7)}, 8)
    made = completed(known, grid_of_groups(8, known.groups, {}))
    assert [trace.root.tolist() for trace in made.traces] == [[0, 3]] * 4 + [[4, 3]] * 4
    assert made.groups == {"1": (4, 5, 6, 7), "2": (0, 1, 2, 3)}


def _refused(known: KnownRanks, grid: RankGrid) -> str:
    with pytest.raises(TraceError) as error:
        Completion(known, grid)
    return str(error.value)


def test_profiles_of_two_jobs() -> None:
    few = _of(0, 4, ("1", CollectiveType.ALL_REDUCE, 8, -1))
    more = _of(2, 4, *[("1", CollectiveType.ALL_REDUCE, 8, -1)] * 2)
    known = KnownRanks({0: few, 2: more}, {"1": (0, 1, 2, 3)}, 4, {0: "a.et", 2: "b.et"})
    message = _refused(known, grid_of_groups(4, known.groups, {}))
    assert "rank 0 (a.et) and rank 2 (b.et) would join 1 and 2 collectives" in message


def test_groups_that_are_no_grid() -> None:
    with pytest.raises(TraceError, match=r"'1' of ranks .* and group '2' .* no groups of one grid .* --parallel"):
        grid_of_groups(12, {"1": (0, 1, 2, 3), "2": (0, 1, 2, 3, 4, 5)}, {})
    with pytest.raises(TraceError, match="does not fit into a grid"):
        grid_of_groups(8, {"1": (0, 3), "2": (0, 1)}, {})


def test_a_group_that_nothing_tells() -> None:
    known = KnownRanks({0: _of(0, 4, ("9", CollectiveType.ALL_REDUCE, 8, -1))}, {}, 4)
    assert "no file tells the ranks of its group '9'" in _refused(known, grid_of_groups(4, {}, {}))
    outside = KnownRanks({7: _of(7, 4, ("", CollectiveType.ALL_REDUCE, 8, -1))}, {}, 4)
    assert "rank 7: the job has 4 ranks" in _refused(outside, grid_of_groups(4, {}, {}))


def _message(rank: int, world: int, *messages: tuple[str, int]) -> KnownRanks:
    builder = TraceBuilder({"rank": rank, "world_size": world})
    for what, peer in messages:
        builder.add_comp("layer", duration_ns=1000)
        if what == "send":
            builder.add_send("send", 8, src=rank, dst=peer)
        else:
            builder.add_recv("recv", 8, src=peer, dst=rank)
    return KnownRanks({rank: builder.build()}, {}, world)


def test_ring_or_pipeline_is_asked() -> None:
    grid = grid_of_groups(4, {}, {})
    assert completed(_message(1, 4, ("send", 2), ("recv", 0)), grid).traces[3].comm_dst.max() == 3
    both = _message(1, 4, ("send", 2), ("recv", 0), ("send", 0), ("recv", 2))
    assert "--parallel, pp=4 or cp=4" in _refused(both, grid)
    ring = completed(both, grid_of_plan("cp=4", "tp,cp,dp,pp", 4))
    assert int(ring.traces[3].comm_dst[1]) == 0
    assert "stages 0, 2, 3 of the pipeline" in _refused(both, grid_of_plan("pp=4", "tp,cp,dp,pp", 4))
    assert "neither those of a pipeline nor of a ring" in _refused(
        _message(0, 4, ("send", 3)), RankGrid((2, 2), ("", ""))
    )


@pytest.mark.parametrize(
    ("text", "order", "world", "message"),
    [
        ("tp=2", "tp,cp,dp,pp", 8, "that is 2 ranks, and the job has 8"),
        ("tp", "tp,cp,dp,pp", 8, "expected sizes such as"),
        ("tp=2,tp=4", "tp,cp,dp,pp", 8, "expected sizes such as"),
        ("tp=8", "tp,dp", 8, "must name tp, cp, dp and pp once"),
        ("dp=8,ep=3", "tp,cp,dp,pp", 8, "ep 3 must divide dp * cp"),
        ("dp=4,ep=8", "tp,cp,dp,pp", 4, "ep 8 must divide dp * cp"),
        ("cp=2,dp=2,tp=2,ep=2", "cp,tp,dp,pp", 8, "cp and dp must be beside"),
    ],
)
def test_plans_that_are_none(text: str, order: str, world: int, message: str) -> None:
    with pytest.raises(HocketError, match=message.replace("*", r"\*")):
        grid_of_plan(text, order, world)


def test_expert_groups_are_cut_out_of_data() -> None:
    assert grid_of_plan("tp=2,dp=8,ep=4", "tp,cp,dp,pp", 16).sizes == (2, 4, 2)
    assert grid_of_plan("cp=2,dp=8,ep=4", "tp,cp,dp,pp", 16).sizes == (2, 2, 4)


@pytest.mark.shared
@pytest.mark.parametrize("workload", ["ddp_cnn", "ddp_tf", "fsdp2_tf", "tp_mlp", "tp_sp_tf", "compiled"])
def test_recorded_jobs_from_one_rank(shared: Path, workload: str) -> None:
    job = import_traces([shared / "torch_traces/profiler" / workload])
    recorded = TraceSet(tuple(job.traces.values()), job.groups)
    made = completed(known_of(recorded, [2]), grid_of_groups(4, job.groups, {}))
    for rank in range(4):
        assert _called(made, rank) == _called(recorded, rank)


@pytest.mark.shared
@pytest.mark.parametrize("workload", ["pp_sched", "pp_manual"])
def test_recorded_pipelines_from_a_rank_of_each_stage(shared: Path, workload: str) -> None:
    job = import_traces([shared / "torch_traces/profiler" / workload])
    recorded = TraceSet(tuple(job.traces.values()), job.groups)
    ranks = recorded.num_ranks
    grid = grid_of_plan(f"pp={ranks}", "tp,cp,dp,pp", ranks)
    made = completed(known_of(recorded, list(range(ranks))), grid)
    for rank in range(ranks):
        assert _sent(made, rank) == _sent(recorded, rank)
    assert f"stage {ranks - 1} of the pipeline" in _refused(known_of(recorded, list(range(ranks - 1))), grid)


def _called(traces: TraceSet, rank: int) -> list[tuple[object, ...]]:
    trace = traces.traces[rank]
    rows = [row for row in range(len(trace)) if trace.type[row] == NodeType.COMM_COLL]
    return [
        (int(trace.comm_type[row]), int(trace.comm_bytes[row]), traces.members(trace.text(trace.process_group, row)))
        for row in rows
    ]


def _sent(traces: TraceSet, rank: int) -> Counter[tuple[int, int, int]]:
    return Counter(_ends(traces.traces[rank], NodeType.COMM_SEND))


def test_read_what_was_written(tmp_path: Path) -> None:
    whole = llm_traces(TINY, PLANS["tp=2,dp=4"], ACCELERATORS["h100"])
    write_trace(tmp_path / "one/trace.5.et", whole.traces[5])
    write_groups(tmp_path / "one/comm_groups.json", known_of(whole, [5]).groups)
    done = hocket("trace", "complete", tmp_path / "one", "--world", 8, "-o", tmp_path / "job")
    assert done.returncode == 0, done.stderr
    assert "assumed: ranks are laid out as dimension of 2 (1 apart), dimension of 4 (2 apart)" in done.stdout
    made = read_traces(tmp_path / "job")
    assert [nodes(made, rank) for rank in range(8)] == [nodes(whole, rank) for rank in range(8)]
    filled = made.traces[0].metadata
    assert filled["completed_from"] == 5 and "ranks [0-4, 6, 7] as rank 5" in str(filled["assumptions"])
    assert hocket("simulate", tmp_path / "job", "-t", "dgx-h100").returncode == 0
