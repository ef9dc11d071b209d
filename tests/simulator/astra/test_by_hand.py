"""Times worked out by hand from ASTRA-sim's rules; 50 GB/s are 53.687 bytes/ns."""

from collections.abc import Callable

import pytest
from astra_inputs import SYSTEM, Folder, collective
from hypothesis import given
from hypothesis import strategies as st

from hocket.bench.astra_sim_equality import Row, predict
from hocket.chakra import CollectiveType, NodeType, TraceBuilder

Times = Callable[..., list[int]]
MIB = 1 << 20


def test_ring_all_reduce(times: Times) -> None:
    # 4 chunks of 1 MiB / 4, one after another; messages of a chunk / 4 = 65536 B take 500 + 1220.7 ns, cut to 1720.
    # Each chunk: 10, then 6 steps of 1720 + 10, the first 3 of which reduce: 3 * floor(65536 / 1600 B/ns) = 120.
    assert times(collective(CollectiveType.ALL_REDUCE, MIB)) == [4 * (10 + 6 * 1730 + 3 * 120)] * 4


def test_a_size_below_the_ranks_is_charged_as_one_byte_a_rank(times: Times) -> None:
    # Chunks of 4 B, messages of 1 B: 500 ns; 3 * floor(1 / 1600) = 0.
    assert times(collective(CollectiveType.ALL_REDUCE, 1)) == [4 * (10 + 6 * 510)] * 4


def test_a_remainder_is_a_whole_chunk_and_is_said(folder: Folder) -> None:
    # 1000003 B in 4: chunks of 250000 B and a fifth one for 3 B. Messages of 62500 B: 500 + 1164; reduction 3 * 39.
    prediction = folder.simulate((collective(CollectiveType.ALL_REDUCE, 1000003),) * 4)
    assert prediction.finish_ns.tolist() == [5 * (10 + 6 * 1674 + 3 * 117)] * 4
    assert prediction.notes == (
        "4 x all-reduce of 1000003 bytes: charged as 5 chunks of 250000 bytes, 1250000 bytes, 25.0% more",
    )


def test_all_gather_counts_the_shard(times: Times) -> None:
    # 4 chunks of 262144 B, which go round whole: 3 steps of 500 + 4882 + 10.
    assert times(collective(CollectiveType.ALL_GATHER, MIB)) == [4 * (10 + 3 * 5392)] * 4


def test_a_switch_has_no_contention_without_congestion(folder: Folder) -> None:
    folder.write("topology: [Switch]\nnpus_count: [4]\nbandwidth: [50.0]\nlatency: [500.0]\n")
    folder.write(system=SYSTEM | {"all-to-all-implementation": ["direct"], "preferred-dataset-splits": 1})
    trace = (collective(CollectiveType.ALL_TO_ALL, MIB),) * 4
    # All 3 messages of 262144 B at once: up and down are 2 * 500, the bytes count once; 10 before and after.
    unaware = folder.simulate(trace)
    assert unaware.finish_ns.tolist() == [10 + 1000 + 4882 + 10] * 4
    assert unaware.notes[0].startswith("NOT PHYSICAL: dimension 0 (Switch of 4) needs at least 14648 ns")  # 3 * 4882.8
    # With it they leave one after another, and so they arrive: 3 * 4882 up, 500, then the last one down, 5382 more.
    aware = folder.simulate(trace, backend="congestion")
    assert aware.finish_ns.tolist() == [10 + 2 * 4882 + 2 * 5382 + 10] * 4
    assert aware.notes == ()


def test_first_differing_dimension_alone_is_charged(folder: Folder) -> None:
    folder.write("topology: [Ring, Ring]\nnpus_count: [2, 2]\nbandwidth: [50.0, 1.0]\nlatency: [500.0, 9000.0]\n")
    builders = [TraceBuilder() for _ in range(4)]
    builders[0].add_send("across", 65536, src=0, dst=3)
    builders[3].add_recv("across", 65536, src=0, dst=3)
    for rank in (1, 2):
        builders[rank].add_comp("nothing")
    prediction = folder.simulate(tuple(builder.build() for builder in builders))
    # 500 + 1220; what dimension 1 would add is 9000 + 65536 / 1.073741824 = 9000 + 61035. Computing nothing takes 1 ns.
    assert prediction.finish_ns.tolist() == [1720, 1, 1, 1720]
    assert "1 of 1 messages cross several dimensions" in prediction.notes[1]
    assert "70035 ns each" in prediction.notes[1]


def test_group_in_the_order_of_its_list(folder: Folder) -> None:
    traces = tuple(collective(CollectiveType.ALL_REDUCE, MIB, group="7") for _ in range(4))
    forwards = folder.simulate(traces, groups={"7": (0, 1, 2, 3)})
    crosswise = folder.simulate(traces, groups={"7": (0, 2, 1, 3)})
    # A group of everybody runs on the network's dimensions, whatever its order.
    assert forwards.finish_ns.tolist() == crosswise.finish_ns.tolist()
    pairs = {"1": (0, 2), "2": (1, 3)}
    apart = tuple(collective(CollectiveType.ALL_REDUCE, MIB, group=str(1 + rank % 2)) for rank in range(4))
    # Two ranks, two hops apart: 4 chunks of 10 + 2 steps of 1000 + 2441 + 10, the first reducing 3 * 81.
    assert folder.simulate(apart, groups=pairs).finish_ns.tolist() == [4 * (10 + 2 * 3451 + 243)] * 4


@pytest.mark.parametrize(
    ("kind", "finish"), [("PER_NPU_MEMORY_EXPANSION", [1100] * 4), ("MEMORY_POOL", [1100, 2200, 3300, 4400])]
)
def test_remote_memory(times: Times, kind: str, finish: list[int]) -> None:
    builder = TraceBuilder()
    builder.add(NodeType.MEM_LOAD, "weights", tensor_bytes=10_000)
    memory = f'{{"memory-type": "{kind}", "remote-mem-latency": 1000, "remote-mem-bw": 100}}'
    assert times(builder.build(), memory=memory) == finish  # 1000 + 10000 / 100, in a pool one after another


def test_remote_memory_of_nodes(times: Times) -> None:
    builder = TraceBuilder()
    builder.add(NodeType.MEM_STORE, "weights", tensor_bytes=10_000)
    memory = (
        '{"memory-type": "PER_NODE_MEMORY_EXPANSION", "remote-mem-latency": 1000, "remote-mem-bw": 100,'
        ' "num-nodes": 2, "num-npus-per-node": 2}'
    )
    assert times(builder.build(), memory=memory) == [1100, 2200, 1100, 2200]


def test_roofline(folder: Folder, times: Times) -> None:
    folder.write(system=SYSTEM | {"roofline-enabled": 1, "peak-perf": 100})
    builder = TraceBuilder()
    first = builder.add_comp("memory bound", num_ops=10**9, tensor_bytes=10**9, duration_ns=5_000)
    second = builder.add_comp("compute bound", num_ops=10**12, tensor_bytes=10**6, deps=[first])
    builder.add_comp("on the host", num_ops=1, tensor_bytes=1, duration_ns=7_000, is_cpu_op=True, deps=[second])
    # 1e9 operations at 1600e9/s: 625000 ns; 1e12 at 100e12/s: 1e7 ns; the host's 7 us as recorded.
    assert times(builder.build()) == [625_000 + 10_000_000 + 7_000] * 4


def test_rendezvous_adds_a_message_before_each(times: Times, folder: Folder) -> None:
    folder.write(system=SYSTEM | {"preferred-dataset-splits": 1})
    trace = collective(CollectiveType.REDUCE_SCATTER, MIB)
    # 3 steps of 500 + 4882 + 10 + 3 * 163; a handshake of 8192 B takes 500 + 152.
    assert times(trace) == [10 + 3 * (5392 + 489)] * 4
    assert times(trace, rendezvous=True) == [10 + 3 * (652 + 5392 + 489)] * 4


def test_replay_only_takes_recorded_times(folder: Folder, times: Times) -> None:
    folder.write(system=SYSTEM | {"replay-only": 1})
    builder = TraceBuilder()
    first = builder.add_collective("any", CollectiveType.BARRIER, 0, duration_ns=4_000)
    builder.add_comp("next", duration_ns=3_000, deps=[first])
    assert times(builder.build()) == [7_000] * 4


def test_endpoint_delay_is_scaled_and_cut(folder: Folder, times: Times) -> None:
    folder.write(system=SYSTEM | {"preferred-dataset-splits": 1, "endpoint-delay": 7})
    trace = collective(CollectiveType.ALL_GATHER, 1024)
    assert times(trace, injection_scale=1.5) == [10 + 3 * (500 + 19 + 10)] * 4  # int(7 * 1.5) = 10, 1024 B: 19 ns


def test_exposed_below_zero_wraps_as_in_astra_sim(folder: Folder) -> None:
    folder.write(system=SYSTEM | {"replay-only": 1})
    builder = TraceBuilder()
    builder.add_comp("compute", duration_ns=5_000)
    builder.add_collective("communicate", CollectiveType.ALL_REDUCE, 4, duration_ns=3_000)
    prediction = folder.simulate((builder.build(),) * 4)
    assert prediction.finish_ns.tolist() == [5_000] * 4
    assert prediction.exposed_ns == [2**64 - 3_000] * 4
    assert "computes for 3000 ns longer" in prediction.notes[0]


def row(size: int, ranks: int, bandwidth: float, latency: float, backend: str, algorithm: str) -> Row:
    values = {
        "backend": backend, "collective": "allreduce", "size_bytes": size, "topology": "Ring", "npus_count": ranks,
        "bandwidth_GBps": bandwidth, "latency_ns": latency, "sched": "FIFO", "endpoint_delay": 10, "active_chunks": 1,
        "splits": 2, "coll_opt": "baseline", "local_mem_bw": 1600, "queues_per_dim": 1,
    }  # fmt: skip
    values |= {f"{kind}_impl": algorithm for kind in ("ar", "ag", "rs", "a2a")}
    return {key: str(value) for key, value in values.items()}


sizes = st.integers(1, 1 << 30)
latencies = st.floats(0, 1e5)
bandwidths = st.floats(0.5, 1000)


@given(sizes, st.integers(3, 9), bandwidths, latencies)
def test_both_models_agree_where_nobody_waits(size: int, ranks: int, bandwidth: float, latency: float) -> None:
    unaware, aware = (predict(row(size, ranks, bandwidth, latency, b, "ring")) for b in ("unaware", "aware"))
    assert unaware.finish_ns.tolist() == aware.finish_ns.tolist()
    assert len(set(aware.finish_ns.tolist())) == 1  # the ring looks the same from everywhere


@given(sizes, st.integers(3, 9), bandwidths, latencies, st.sampled_from(["unaware", "aware"]))
def test_slower_links_never_help_a_ring(size: int, ranks: int, bandwidth: float, latency: float, backend: str) -> None:
    base, slower, later = (
        predict(row(size, ranks, b, late, backend, "ring")).time_ns
        for b, late in ((bandwidth, latency), (bandwidth / 2, latency), (bandwidth, latency + 100))
    )
    assert base <= slower and base <= later
