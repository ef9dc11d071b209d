"""Traces of jobs: dependencies, computation, groups, messages, and what is wrong with them."""

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest

from hocket.base.errors import DeadlockError, ScheduleError, SimulationError, TopologyError, TraceError
from hocket.chakra import CollectiveType, NodeType, Trace, TraceBuilder, TraceSet, read_traces
from hocket.schedule import Collective, Kind, save
from hocket.schedule.algorithms import build, build_all
from hocket.simulator import Fidelity, Prediction, simulate_collective, simulate_traces
from hocket.topology import load

US = 10**6  # picoseconds
# One microsecond for 1000 bytes over one link, one microsecond of latency.
RING4 = load("ring:4,bandwidth=1GB/s,latency=1us")
PAIR = load("ring:2,bandwidth=1GB/s,latency=1us")


def job(*programs: Callable[[TraceBuilder], object], groups: dict[str, tuple[int, ...]] | None = None) -> TraceSet:
    """The traces of ranks that run these programs."""
    traces: list[Trace] = []
    for program in programs:
        builder = TraceBuilder()
        program(builder)
        traces.append(builder.build())
    return TraceSet(tuple(traces), groups or {})


def test_computation_overlaps_with_communication_it_does_not_depend_on() -> None:
    def program(trace: TraceBuilder) -> None:
        first = trace.add_comp("forward", duration_ns=2_000)
        trace.add_collective("all_reduce", CollectiveType.ALL_REDUCE, 2_000, deps=[first])
        trace.add_comp("backward", duration_ns=3_000, deps=[first])

    prediction = simulate_traces(job(program, program), PAIR)
    # all_reduce of 2000 B on 2 ranks: 2 steps of (1 us latency + 1 us for half of it), from 2 us to 6 us.
    (collective,) = prediction.collectives
    assert (collective.start_ps, collective.finish_ps) == (2 * US, 6 * US)
    # Computing is done at 5 us; 1 us of the communication is exposed.
    assert prediction.finish_ps.tolist() == [6 * US] * 2
    assert prediction.compute_ps.tolist() == [5 * US] * 2
    assert prediction.exposed_ps.tolist() == [1 * US] * 2


def test_a_rank_computes_one_node_at_a_time_in_order_of_id() -> None:
    def program(trace: TraceBuilder) -> None:
        trace.add_comp("a", duration_ns=2_000)
        trace.add_comp("b", duration_ns=1_000)

    prediction = simulate_traces(job(program), load("ring:2,bandwidth=1GB/s,latency=1us"))
    assert prediction.node_start_ps.tolist() == [0, 2 * US]
    assert prediction.time_ps == 3 * US == prediction.bound_ps


def test_compute_scale_changes_computation_alone() -> None:
    def program(trace: TraceBuilder) -> None:
        trace.add_collective("work", CollectiveType.ALL_REDUCE, 100, deps=[trace.add_comp("think", duration_ns=3000)])

    slow = simulate_traces(job(program, program), PAIR)
    fast = simulate_traces(job(program, program), PAIR, compute_scale=Fraction(1, 3))
    assert fast.compute_ps.tolist() == [1_000_000, 1_000_000]
    assert slow.time_ps - fast.time_ps == 2_000_000


def test_a_late_rank_makes_the_others_wait() -> None:
    def punctual(trace: TraceBuilder) -> None:
        trace.add_collective("all_reduce", CollectiveType.ALL_REDUCE, 2_000)

    def late(trace: TraceBuilder) -> None:
        work = trace.add_comp("work", duration_ns=7_000)
        trace.add_collective("all_reduce", CollectiveType.ALL_REDUCE, 2_000, deps=[work])

    prediction = simulate_traces(job(punctual, late), PAIR)
    (collective,) = prediction.collectives
    assert (collective.start_ps, collective.ready_ps, collective.finish_ps) == (0, 7 * US, 11 * US)
    assert prediction.exposed_ps.tolist() == [11 * US, 4 * US]


def test_groups_run_side_by_side_and_alone_is_free() -> None:
    def program(group: str) -> Callable[[TraceBuilder], object]:
        def add(trace: TraceBuilder) -> None:
            trace.add_collective("pair", CollectiveType.ALL_REDUCE, 2_000, group=group)
            trace.add_collective("alone", CollectiveType.ALL_REDUCE, 10**9, group=f"alone {group}")

        return add

    groups = {"a": (0, 1), "b": (3, 2), "alone a": (0,), "alone b": (2,)}
    traces = job(program("a"), lambda t: t.add_collective("pair", CollectiveType.ALL_REDUCE, 2_000, group="a"),
                 program("b"), lambda t: t.add_collective("pair", CollectiveType.ALL_REDUCE, 2_000, group="b"),
                 groups=groups)  # fmt: skip
    prediction = simulate_traces(traces, RING4)
    assert prediction.finish_ps.tolist() == [4 * US] * 4
    assert {c.group: c.duration_ps for c in prediction.collectives} == {
        (0, 1): 4 * US, (3, 2): 4 * US, (0,): 0, (2,): 0
    }  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "input_bytes", "size_bytes"),
    [
        (CollectiveType.ALL_REDUCE, 4_000, 4_000),
        (CollectiveType.ALL_GATHER, 1_000, 4_000),  # the input is one block of the output
        (CollectiveType.GATHER, 1_000, 4_000),
        (CollectiveType.REDUCE_SCATTER, 4_000, 4_000),
        (CollectiveType.REDUCE_SCATTER_BLOCK, 4_000, 4_000),
        (CollectiveType.ALL_TO_ALL, 4_000, 4_000),
        (CollectiveType.BROADCAST, 4_000, 4_000),
        (CollectiveType.REDUCE, 4_000, 4_000),
        (CollectiveType.SCATTER, 4_000, 4_000),
    ],
)
def test_every_collective_takes_the_time_it_takes_alone(
    kind: CollectiveType, input_bytes: int, size_bytes: int
) -> None:
    def program(trace: TraceBuilder) -> None:
        trace.add_collective("c", kind, input_bytes, root=2 if kind in ROOTED else -1)

    prediction = simulate_traces(job(*[program] * 4), RING4)
    (call,) = prediction.collectives
    assert call.size_bytes == size_bytes
    alone = Collective(Kind(call.kind), 4, size_bytes, root=2 if kind in ROOTED else 0)
    assert prediction.time_ps == simulate_collective(alone, RING4, call.algorithm).time_ps
    assert prediction.bound_ps == simulate_collective(alone, RING4, fidelity=Fidelity("bound")).time_ps
    assert not prediction.below_bound


ROOTED = {CollectiveType.BROADCAST, CollectiveType.REDUCE, CollectiveType.GATHER, CollectiveType.SCATTER}


def test_collectives_that_overlap_are_bounded_by_their_bytes_together() -> None:
    def program(trace: TraceBuilder) -> None:
        for _ in range(10):
            trace.add_collective("c", CollectiveType.ALL_REDUCE, 100_000)

    prediction = simulate_traces(job(*[program] * 4), RING4)
    # Ten times 2 * 3 deliveries of 100 kB into four ranks with two links of 1 GB/s each: 6 MB at 8 GB/s.
    assert prediction.bound_ps == 750 * US
    assert prediction.time_ps >= prediction.bound_ps


def test_a_barrier_is_a_tree_of_empty_messages() -> None:
    prediction = simulate_traces(job(*[lambda t: t.add_collective("b", CollectiveType.BARRIER, 0)] * 2), PAIR)
    # Two ranks: up and down the tree, a microsecond each.
    assert prediction.time_ps == 2 * US
    assert prediction.link_bytes.sum() == 0


def test_messages_meet_by_source_destination_and_tag_in_order() -> None:
    def sender(trace: TraceBuilder) -> None:
        first = trace.add_send("s1", 1_000, src=0, dst=1, tag=5)
        trace.add_send("s2", 3_000, src=0, dst=1, tag=5, deps=[first])

    def receiver(trace: TraceBuilder) -> None:
        first = trace.add_recv("r1", 1_000, src=0, dst=1, tag=5)
        work = trace.add_comp("work", duration_ns=9_000, deps=[first])
        trace.add_recv("r2", 3_000, src=0, dst=1, tag=5, deps=[work])

    prediction = simulate_traces(job(sender, receiver), PAIR)
    # 1 + 1 us, then 3 + 1 us more; the second receive comes after the work, at 2 + 9 us, and has nothing to wait for.
    assert prediction.node_finish_ps.tolist() == [2 * US, 6 * US, 2 * US, 11 * US, 11 * US]


def test_all_ranks_have_two_names() -> None:
    """ "" and "0" are all ranks, and one sequence of collectives."""
    traces = job(all_reduce(100, group="0"), all_reduce(100))
    assert len(simulate_traces(traces, PAIR).collectives) == 1


def test_auto_is_at_least_as_fast_as_every_algorithm() -> None:
    traces = job(*[lambda t: t.add_collective("c", CollectiveType.ALL_REDUCE, 100)] * 4)
    auto = simulate_traces(traces, RING4, algorithms="auto")
    names = [native.generator for native in build_all(Collective(Kind.ALL_REDUCE, 4, 100), RING4)]
    assert {"ring", "recursive_doubling", "multitree"} < set(names)
    times = {name: simulate_traces(traces, RING4, algorithms={"all_reduce": name}).time_ps for name in names}
    assert auto.time_ps == min(times.values())
    assert len(set(times.values())) > 1


def test_a_schedule_file_serves_its_kind_at_any_size(tmp_path: Path) -> None:
    path = str(tmp_path / "ar.schedule")
    save(build("direct", Collective(Kind.ALL_REDUCE, 4, 4_000), RING4), path)
    traces = job(*[lambda t: t.add_collective("c", CollectiveType.ALL_REDUCE, 10_007)] * 4)
    prediction = simulate_traces(traces, RING4, algorithms={"all_reduce": path})
    assert prediction.collectives[0].algorithm == "ar.schedule"
    assert prediction.time_ps == simulate_traces(traces, RING4, algorithms={"all_reduce": "direct"}).time_ps

    pairs = {"a": (0, 1), "b": (2, 3)}
    small = job(*[lambda t, g=g: t.add_collective("c", CollectiveType.ALL_REDUCE, 100, group=g) for g in "aabb"],
                groups=pairs)  # fmt: skip
    other = simulate_traces(small, RING4, algorithms={"all_reduce": path})
    assert {c.algorithm for c in other.collectives} == {"ring"}
    assert any("ar.schedule is for other ranks" in note for note in other.notes)

    with pytest.raises(ScheduleError, match="was made for topology"):
        simulate_traces(traces, load("torus:2x2,bandwidth=1GB/s,latency=1us"), algorithms={"all_reduce": path})
    with pytest.raises(ScheduleError, match="is a schedule for all_reduce, not for all_gather"):
        simulate_traces(traces, RING4, algorithms={"all_gather": path})


def all_reduce(size: int = 100, group: str = "") -> Callable[[TraceBuilder], object]:
    return lambda trace: trace.add_collective("ar", CollectiveType.ALL_REDUCE, size, group=group)


def test_a_rank_that_never_comes_is_a_deadlock_that_names_it() -> None:
    with pytest.raises(
        DeadlockError, match=r"rank 0, node 0 \(ar\) waits in all_reduce .* for rank 1, whose trace has no"
    ):
        simulate_traces(job(all_reduce(), lambda trace: trace.add_comp("idle", duration_ns=1)), PAIR)


def test_ranks_that_wait_for_each_other_are_a_deadlock_with_its_cycle() -> None:
    def crossed(mine: int) -> Callable[[TraceBuilder], object]:
        def program(trace: TraceBuilder) -> None:
            received = trace.add_recv("recv", 10, src=1 - mine, dst=mine)
            trace.add_send("send", 10, src=mine, dst=1 - mine, deps=[received])

        return program

    with pytest.raises(DeadlockError, match=r"4 nodes of 2 ranks .*rank 0, node 0 .*rank 1, node 0 .*a cycle"):
        simulate_traces(job(crossed(0), crossed(1)), PAIR)


def test_a_node_that_depends_on_itself_is_a_deadlock() -> None:
    with pytest.raises(DeadlockError, match="depends on itself"):
        simulate_traces(job(lambda trace: trace.add_comp("loop", duration_ns=1, deps=[0])), PAIR)


@pytest.mark.parametrize(
    ("programs", "groups", "error", "message"),
    [
        ((all_reduce(100), all_reduce(200)), {}, TraceError, "200 bytes here, but another rank has 100"),
        (
            (all_reduce(), lambda t: t.add_collective("x", CollectiveType.ALL_TO_ALL, 100)),
            {}, TraceError, "is all_to_all with root 0 here, but all_reduce",
        ),
        ((all_reduce(group="tp"),) * 2, {}, TraceError, "process group 'tp' is unknown"),
        ((all_reduce(group="tp"),) * 2, {"tp": (0,)}, TraceError, "without rank 1"),
        ((all_reduce(group="tp"),), {"tp": (0, 9)}, TraceError, "has rank 9, but there are traces of 1 ranks"),
        ((lambda t: t.add_comp("c", deps=[7]),), {}, TraceError, "node 0 depends on node 7, which does not exist"),
        ((lambda t: t.add_send("s", 1, src=0, dst=0),), {}, TraceError, "comm_dst is 0, expected another"),
        ((lambda t: t.add_send("s", 1, src=1, dst=1),) * 2, {}, TraceError, "comm_src is 1, expected this rank"),
        (
            (lambda t: t.add_send("s", 1, src=0, dst=1), lambda t: t.add_recv("r", 2, src=0, dst=1)),
            {}, TraceError, "has 2 bytes here, but 1 bytes",
        ),
        ((lambda t: t.add_comp("c", duration_ns=2**62),), {}, TraceError, "not between 0 and 26 days"),
        ((lambda t: t.add(NodeType.INVALID, "n"),), {}, TraceError, r"has no type \(INVALID_NODE\)"),
        ((all_reduce(),) * 3, {}, TopologyError, "has 2 ranks, the workload 3"),
    ],
)  # fmt: skip
def test_bad_traces_get_one_clear_error(
    programs: tuple[Callable[[TraceBuilder], object], ...],
    groups: dict[str, tuple[int, ...]],
    error: type[Exception],
    message: str,
) -> None:
    with pytest.raises(error, match=message):
        simulate_traces(job(*programs, groups=groups), PAIR)


def test_unknown_choices_are_named() -> None:
    traces = job(all_reduce(), all_reduce())
    with pytest.raises(SimulationError, match="unknown model 'magic'"):
        simulate_traces(traces, PAIR, fidelity=Fidelity("magic"))
    with pytest.raises(SimulationError, match="unknown switching 'circuit'"):
        simulate_traces(traces, PAIR, fidelity=Fidelity(switching="circuit"))
    with pytest.raises(ScheduleError, match="'magic' is not an algorithm"):
        simulate_traces(traces, PAIR, algorithms={"all_reduce": "magic"})
    with pytest.raises(ScheduleError, match="'allreduce' is not a collective"):
        simulate_traces(traces, PAIR, algorithms={"allreduce": "ring"})


@pytest.mark.shared
@pytest.mark.parametrize("name", ["ddp_tf", "fsdp2_tf", "hsdp_tf", "pp_sched", "tp_sp_tf"])
@pytest.mark.parametrize("model", ["uncontended", "analytical", "congestion", "flow"])
def test_recorded_jobs_run_to_their_end_on_every_rank(shared: Path, name: str, model: str) -> None:
    traces = read_traces(shared / "chakra/astra_ok" / name, shared / "chakra/astra_ok/cg.json")
    machine = load("ring:4,bandwidth=50GiB/s,latency=500ns")
    prediction: Prediction = simulate_traces(traces, machine, fidelity=Fidelity(model))
    assert (prediction.node_finish_ps >= prediction.node_start_ps).all()
    assert len(prediction.node_start_ps) == sum(map(len, traces.traces))
    assert (prediction.finish_ps > 0).all()
    assert (prediction.exposed_ps >= 0).all()
    # All computing happens on the rank's one resource.
    for rank, trace in enumerate(traces.traces):
        assert prediction.compute_ps[rank] == 1000 * trace.duration_ns[trace.type == 4].sum()
    assert prediction.bound_ps <= prediction.time_ps
