"""NCCL's calls among the nodes of a job: programs and kernels as they are alone, late members, groups side by side."""

from pathlib import Path

import pytest
from in_process import hocket

from hocket.base.errors import DeadlockError, SimulationError
from hocket.chakra import CollectiveType, NodeType, TraceBuilder, TraceSet
from hocket.nccl.programs.spec import model_of
from hocket.schedule import Collective, Kind
from hocket.simulator import Fidelity, Prediction, RemoteMemory, simulate_collective, simulate_traces
from hocket.topology import Topology, load
from hocket.topology.failures import degrade

MIB = 2**20
US = 10**6
TYPES = {
    Kind.ALL_REDUCE: CollectiveType.ALL_REDUCE,
    Kind.ALL_GATHER: CollectiveType.ALL_GATHER,
    Kind.REDUCE_SCATTER: CollectiveType.REDUCE_SCATTER,
}


def machines(nodes: int, more: str = ",nvls=1") -> Topology:
    return load(f"dgx-h100:nodes={nodes}{more}")


def job(
    kind: Kind, size: int, groups: dict[str, tuple[int, ...]], late_us: dict[int, int] | None = None, calls: int = 1
) -> TraceSet:
    """Each group calls a collective whose ranks have inputs of `size`, `calls` times; some ranks compute before."""
    ranks = 1 + max(rank for group in groups.values() for rank in group)
    builders = [TraceBuilder() for _ in range(ranks)]
    for rank, builder in enumerate(builders):
        before = [builder.add_comp("compute", duration_ns=1000 * late_us[rank])] if rank in (late_us or {}) else []
        for name in [name for name, group in groups.items() if rank in group] * calls:
            before = [builder.add_collective("call", TYPES[kind], size, group=name, deps=before)]
    return TraceSet(tuple(builder.build() for builder in builders), groups)


def traced(
    traces: TraceSet,
    topology: Topology,
    algorithm: str,
    remote_memory: RemoteMemory | None = None,
    placement: list[int] | None = None,
) -> Prediction:
    return simulate_traces(
        traces,
        topology,
        algorithms=dict.fromkeys(TYPES, algorithm),
        placement=placement,
        remote_memory=remote_memory,
        fidelity=Fidelity(record_links=True),
    )


@pytest.mark.parametrize(
    ("kind", "nodes", "size", "algorithm"),
    [
        (Kind.ALL_REDUCE, 1, 8 * MIB, "NVLS/Simple"),
        (Kind.ALL_GATHER, 1, 8 * MIB, "NVLS/Simple"),
        (Kind.REDUCE_SCATTER, 1, 8 * MIB, "NVLS/Simple"),
        (Kind.ALL_REDUCE, 2, 8 * MIB, "NVLSTree/Simple"),
        (Kind.ALL_REDUCE, 2, MIB, "Ring/LL128"),
    ],
)
def test_a_call_takes_among_nodes_what_it_takes_alone(kind: Kind, nodes: int, size: int, algorithm: str) -> None:
    topology, ranks = machines(nodes), 8 * nodes
    spec = f"nccl:{algorithm.lower()}"
    alone = simulate_collective(Collective(kind, ranks, size), topology, spec)
    own = size // ranks if kind is Kind.ALL_GATHER else size
    whole = traced(job(kind, own, {"": tuple(range(ranks))}), topology, spec)
    assert whole.time_ps == alone.time_ps
    assert whole.collectives[0].algorithm == f"NCCL {algorithm}"
    assert not whole.notes
    assert whole.link_bytes.tolist() == alone.link_bytes.tolist()
    assert whole.occupancy is not None
    assert set(whole.occupancy.collective.tolist()) == {0}


def test_all_wait_for_the_member_that_computes_longest() -> None:
    topology, groups = machines(1), {"": tuple(range(8))}
    alone = traced(job(Kind.ALL_REDUCE, 2 * MIB, groups), topology, "nccl:nvls")
    late = traced(job(Kind.ALL_REDUCE, 2 * MIB, groups, late_us={3: 50}), topology, "nccl:nvls")
    assert late.time_ps == alone.time_ps + 50 * US
    assert late.collectives[0].ready_ps == 50 * US and late.collectives[0].time_ps == alone.time_ps
    # every other member's part goes back to when rank 3 came
    comes = late.workload.kind.tolist().index(2, int(late.workload.rank_offset[3]))
    others = [row for row in range(len(late.node_cause)) if late.workload.kind[row] == 2]
    assert {int(late.node_cause[row]) for row in others} == {comes}


def test_calls_follow_each_other_and_groups_share_what_they_have_in_common() -> None:
    """Twice in turn takes up to twice as long; groups of other machines do not meet."""
    whole, size = tuple(range(8)), 8 * MIB
    once = traced(job(Kind.ALL_REDUCE, size, {"": whole}), machines(1), "nccl:nvls").time_ps
    twice = traced(job(Kind.ALL_REDUCE, size, {"": whole}, calls=2), machines(1), "nccl:nvls").time_ps
    assert 1.8 * once < twice <= 2 * once
    apart = {"a": whole, "b": tuple(range(8, 16))}
    assert traced(job(Kind.ALL_REDUCE, size, apart), machines(2), "nccl:nvls").time_ps == once
    swapped = traced(job(Kind.ALL_REDUCE, size, {"": whole}), machines(2), "nccl:nvls", placement=list(range(8, 16)))
    assert swapped.time_ps == once


def test_a_slow_link_slows_a_traced_call() -> None:
    traces, topology = job(Kind.ALL_REDUCE, 8 * MIB, {"": tuple(range(8))}), machines(1)
    slow = degrade(topology, ["npu:3=0.1"])
    model = model_of(topology.name, 8)
    hurt = simulate_traces(traces, slow, algorithms={"all_reduce": "nccl:nvls"}, nccl=model)
    # 9/8 of the buffer leave GPU 3 and come to it, at a tenth of 450 GB/s
    assert hurt.time_ps > 9 * 8 * MIB // 8 * 10**12 // 45_000_000_000


def test_without_switches_that_compute_a_native_algorithm_and_a_note() -> None:
    found = traced(job(Kind.ALL_REDUCE, 8 * MIB, {"": tuple(range(8))}), machines(1, ""), "nccl:nvls")
    assert found.collectives[0].algorithm == "ring"
    assert any("nccl:nvls" in note and "native" in note for note in found.notes)


def test_memories_of_the_job_do_not_hold_up_kernels() -> None:
    topology, remote = machines(1), RemoteMemory(latency_ps=0, bandwidth=10**9)
    traces = job(Kind.ALL_REDUCE, 2 * MIB, {"": tuple(range(8))})
    loads = []
    for _ in range(8):
        builder = TraceBuilder()
        builder.add(NodeType.MEM_LOAD, "load", tensor_bytes=10**6)  # a millisecond
        builder.add_collective("call", CollectiveType.ALL_REDUCE, 2 * MIB)
        loads.append(builder.build())
    alone, beside = traced(traces, topology, "nccl:nvls"), traced(TraceSet(tuple(loads)), topology, "nccl:nvls", remote)
    assert beside.collectives[0].time_ps == alone.time_ps
    assert beside.time_ps == 1000 * US


def test_a_member_that_never_comes_is_a_deadlock() -> None:
    traces = job(Kind.ALL_REDUCE, MIB, {"": tuple(range(8))})
    lacking = TraceSet((*traces.traces[:7], TraceBuilder().build()), traces.groups)
    for algorithm in ("nccl:nvls", "nccl:ring"):
        with pytest.raises(DeadlockError, match="rank 7"):
            traced(lacking, machines(1), algorithm)


def test_with_the_time_of_the_model_all_wait_for_the_last_and_then_for_that() -> None:
    topology, groups = machines(2), {"": tuple(range(16)), "column": (3, 11)}
    traces = job(Kind.ALL_REDUCE, MIB, groups, late_us={3: 50, 11: 70})
    prediction = traced(traces, topology, "nccl-model")
    choice = model_of(topology.name, 16).choose("AllReduce", [MIB])
    first, second = prediction.collectives
    assert first.algorithm == f"NCCL's model {choice.name(0)}"
    assert first.ready_ps == 70 * US and first.time_ps == round(float(choice.time_us[0]) * US)
    assert second.group == (3, 11) and second.ready_ps == first.finish_ps
    assert prediction.link_bytes.sum() == 0 and prediction.time_ps == second.finish_ps
    assert any("time of a model" in note for note in prediction.notes)


def test_what_is_too_large_to_spell_out_is_refused_at_once_and_timed() -> None:
    traces, topology = job(Kind.ALL_REDUCE, 64 * MIB, {"": tuple(range(8))}, calls=1500), machines(1)
    with pytest.raises(SimulationError, match=r"1500 x all_reduce by NCCL NVLS/Simple .*\(--algorithm nccl-model\)"):
        traced(traces, topology, "nccl:nvls")
    timed = traced(traces, topology, "nccl-model:nvls")
    assert timed.time_ps == 1500 * timed.collectives[0].time_ps


def test_the_command_takes_the_time_of_the_model(tmp_path: Path) -> None:
    machine = ("-t", "dgx-h100:nodes=1,nvls=1", "--algorithm", "nccl-model:nvls")
    generated = hocket("generate", "collective", "all_reduce", "--ranks", 8, "--size", "1MiB", "-o", tmp_path / "one/")
    assert generated.returncode == 0, generated.stderr
    alone, among = (hocket("simulate", *what, *machine) for what in (("all_reduce", "-s", "1MiB"), (tmp_path / "one",)))
    for found in (alone, among):
        assert found.returncode == 0, found.stderr
        assert "NCCL's model NVLS/Simple" in found.stdout
    assert alone.stdout.split("time ")[1].split("\n")[0] == among.stdout.split("time ")[1].split("\n")[0]
