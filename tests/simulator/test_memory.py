"""Nodes without a duration: computations by a roofline, memory nodes by their memory."""

from collections.abc import Callable
from pathlib import Path

import pytest

from hocket.base.errors import DeadlockError, SimulationError, TraceError
from hocket.chakra import CollectiveType, NodeType, Trace, TraceBuilder, TraceSet
from hocket.simulator import RemoteMemory, parse_remote_memory, simulate_traces, write_timeline
from hocket.simulator.analysis import prediction_json
from hocket.topology import load
from hocket.workload.accelerators import parse_accelerator

US = 10**6  # picoseconds
PAIR = load("ring:2,bandwidth=1GB/s,latency=1us")
# A microsecond for a million operations or for 2000 bytes.
CHIP = parse_accelerator("peak=1TFLOP/s,memory=2GB/s,efficiency=1")
REMOTE = RemoteMemory(latency_ps=3 * US, bandwidth=10**9)


def job(*programs: Callable[[TraceBuilder], object]) -> TraceSet:
    traces: list[Trace] = []
    for program in programs:
        builder = TraceBuilder()
        program(builder)
        traces.append(builder.build())
    return TraceSet(tuple(traces))


def load_node(trace: TraceBuilder, size: int, **common: object) -> int:
    return trace.add(NodeType.MEM_LOAD, "load", tensor_bytes=size, **common)  # type: ignore[arg-type]  # passed on


def test_computations_take_the_longer_of_operations_and_bytes() -> None:
    def program(trace: TraceBuilder) -> None:
        trace.add_comp("many operations", num_ops=5_000_000, tensor_bytes=2_000)
        trace.add_comp("many bytes", num_ops=5_000_000, tensor_bytes=14_000)
        trace.add_comp("rounded up", num_ops=1, tensor_bytes=0)
        trace.add_comp("recorded", num_ops=5_000_000, duration_ns=2_000)
        trace.add_comp("on the CPU", num_ops=5_000_000, is_cpu_op=True)

    prediction = simulate_traces(job(program), PAIR, accelerator=CHIP)
    took = prediction.node_finish_ps - prediction.node_start_ps
    assert took.tolist() == [5 * US, 7 * US, 1, 2 * US, 0]
    half = simulate_traces(
        job(program), PAIR, accelerator=parse_accelerator("peak=1TFLOP/s,memory=2GB/s,efficiency=50%")
    )
    assert (half.node_finish_ps - half.node_start_ps).tolist() == [10 * US, 10 * US, 2, 2 * US, 0]
    repriced = simulate_traces(job(program), PAIR, accelerator=CHIP, reprices=True)
    assert (repriced.node_finish_ps - repriced.node_start_ps).tolist() == [5 * US, 7 * US, 1, 5 * US, 0]
    without = simulate_traces(job(program), PAIR)
    assert without.time_ps == 2 * US
    # Not that on the CPU: it is no work of an accelerator.
    assert any(note.startswith("3 computations have operations or bytes but no duration") for note in without.notes)


def test_local_memory_works_beside_computation_one_access_at_a_time() -> None:
    def program(trace: TraceBuilder) -> None:
        load_node(trace, 4_000)
        trace.add(NodeType.MEM_STORE, "store", tensor_bytes=2_000)
        trace.add_comp("work", duration_ns=2_500)

    prediction = simulate_traces(job(program), PAIR, accelerator=CHIP)
    assert prediction.node_finish_ps.tolist() == [2 * US, 3 * US, 2_500_000]
    assert prediction.compute_ps.tolist() == [2_500_000]
    assert prediction.exposed_ps.tolist() == [500_000]
    # Nothing in the critical path or the bound's is shorter than its longest access.
    assert prediction.bound_ps == 2_500_000


@pytest.mark.parametrize(
    ("ranks", "finish_us"),
    [
        # 2000 bytes: 2 us of service behind 3 us of latency; the second access of a memory waits for the service alone.
        (1, [[5, 7], [5, 7]]),
        (2, [[5, 7], [9, 11]]),
        (0, [[5, 7], [9, 11]]),
    ],
)
def test_remote_memory_serves_first_come_first_served(ranks: int, finish_us: list[list[int]]) -> None:
    def program(trace: TraceBuilder) -> None:
        load_node(trace, 2_000)
        load_node(trace, 2_000)

    shared = RemoteMemory(REMOTE.latency_ps, REMOTE.bandwidth, ranks)
    prediction = simulate_traces(job(program, program), PAIR, remote_memory=shared, accelerator=CHIP)
    assert prediction.node_finish_ps.tolist() == [us * US for rank in finish_us for us in rank]
    assert prediction.bound_ps == 5 * US
    assert prediction_json(prediction) == prediction_json(
        simulate_traces(job(program, program), PAIR, remote_memory=shared, accelerator=CHIP)
    )


def test_memory_is_on_the_path_to_what_needs_it(tmp_path: Path) -> None:
    def program(trace: TraceBuilder) -> None:
        loaded = load_node(trace, 2_000)
        trace.add_collective("c", CollectiveType.ALL_REDUCE, 2_000, deps=[loaded])

    prediction = simulate_traces(job(program, program), PAIR, remote_memory=REMOTE)
    (collective,) = prediction.collectives
    assert (collective.start_ps, collective.finish_ps) == (5 * US, 9 * US)
    write_timeline(prediction, tmp_path / "t.json.gz")


def test_a_recorded_duration_of_an_access_holds() -> None:
    recorded = job(lambda trace: load_node(trace, -1, duration_ns=4_000))
    assert simulate_traces(recorded, PAIR).time_ps == 4 * US
    assert simulate_traces(recorded, PAIR, remote_memory=REMOTE).time_ps == 4 * US


@pytest.mark.parametrize(
    ("size", "remote", "message"),
    [
        (2_000, None, r"rank 0: node 0 \(load\): a MEM_LOAD node without a duration needs a memory: describe it by"),
        (-1, REMOTE, r"rank 0: node 0 \(load\): attribute tensor_size is missing"),
        (2**62, REMOTE, r"rank 0: node 0 \(load\): takes more than 26 days"),
    ],
)
def test_accesses_that_nothing_prices_are_refused(size: int, remote: RemoteMemory | None, message: str) -> None:
    with pytest.raises(TraceError, match=message):
        simulate_traces(job(lambda trace: load_node(trace, size)), PAIR, remote_memory=remote)


def test_computations_beyond_the_horizon_are_refused() -> None:
    huge = job(lambda trace: trace.add_comp("c", num_ops=2**62))
    with pytest.raises(TraceError, match=r"rank 0: node 0 \(c\): takes more than 26 days"):
        simulate_traces(huge, PAIR, accelerator=parse_accelerator("peak=1GFLOP/s,memory=2GB/s,efficiency=1"))


def test_an_access_that_never_comes_is_named_in_a_deadlock() -> None:
    def program(trace: TraceBuilder) -> None:
        load_node(trace, 2_000, deps=[1])
        trace.add_recv("r", 10, src=1, dst=0, deps=[0])

    with pytest.raises(DeadlockError, match=r"rank 0, node 0 \(load\) depends on itself"):
        simulate_traces(job(program, lambda trace: None), PAIR, remote_memory=REMOTE)


@pytest.mark.parametrize(
    "text", ["", "latency=1us", "latency=1us,bandwidth=1GB/s,ranks=0", "latency=1us,bandwidth=1GB/s,x=1"]
)
def test_other_forms_of_remote_memory_are_refused(text: str) -> None:
    assert parse_remote_memory("latency=3us, bandwidth=1GB/s") == REMOTE
    assert parse_remote_memory("latency=3us,bandwidth=1GB/s,ranks=all").ranks == 0
    with pytest.raises(SimulationError, match="expected latency=1us,bandwidth=100GB/s"):
        parse_remote_memory(text)
