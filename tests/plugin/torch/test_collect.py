"""Collects one torchrun of many parallelisms, and compares with PyTorch's profiler and with arithmetic."""

import json
import os
import subprocess
import sys
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pytest
import streams
from in_process import hocket

from hocket.bench.feeder_rules import check_astra_sim, check_mlcommons
from hocket.chakra import CollectiveType, NodeType, Trace, TraceSet, read_traces
from hocket.chakra.messages import read_messages
from hocket.recording.folder import stream_path

pytestmark = pytest.mark.torch

RANKS = 4
JOB = Path(__file__).parents[3] / "bench" / "workloads" / "job.py"
NAMES = [
    "ddp",
    "ddp_in_buckets",
    "ddp_transformer",
    "fsdp2",
    "hybrid_fsdp2",
    "tensor_parallel",
    "sequence_parallel",
    "ring_attention",
    "pipeline",
    "interleaved_pipeline",
    "pipeline_by_hand",
    "mixture_of_experts",
    "functional_collective",
    "compiled",
    "several_backends",
    "reductions",
    "every_operation",
]
Calls = list[dict[str, Any]]


@pytest.fixture(scope="module", params=["native", "python"])
def hook(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def collected(tmp_path_factory: pytest.TempPathFactory, hook: str) -> Path:
    pytest.importorskip("torch")
    folder = tmp_path_factory.mktemp("collected")
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={RANKS}"]
    command = [*torchrun, "-m", "hocket.collect", "--out", str(folder), str(JOB), str(folder)]
    subprocess.run(command, check=True, timeout=300, env=os.environ | {"HOCKET_COLLECT_HOOK": hook})
    return streams.job(folder)


@pytest.fixture(scope="module")
def calls(collected: Path) -> dict[str, list[Calls]]:
    """The measured calls of each workload, a list per rank."""
    found: dict[str, list[Calls]] = {name: [[] for _ in range(RANKS)] for name in NAMES}
    for rank in range(RANKS):
        for record in streams.calls(stream_path(collected, rank)):
            if record["step"] > 0 and record["step"] % 2 == 0:
                found[NAMES[record["step"] // 2 - 1]][rank].append(record)
    return found


@pytest.fixture(scope="module")
def traces(collected: Path) -> TraceSet:
    return read_traces(str(collected))


def sizes(calls: Calls, op: str) -> list[int]:
    return [call["in"] for call in calls if call["op"] == op]


def test_every_operation_the_profiler_sees_is_recorded(collected: Path, calls: dict[str, list[Calls]]) -> None:
    for rank in range(RANKS):
        counts = json.loads((collected.parent / f"counts.{rank}.json").read_text())
        assert list(counts) == NAMES
        for name, expected in counts.items():
            assert Counter(f"c10d::{call['op']}" for call in calls[name][rank]) == expected, (name, rank)


def test_ddp_reduces_all_its_gradients_in_one_bucket(calls: dict[str, list[Calls]]) -> None:
    # 64 x 128 + 128 weights and biases in the first layer, 128 x 64 + 64 in the second, 4 bytes each.
    for rank in range(RANKS):
        assert sizes(calls["ddp"][rank], "allreduce_") == [4 * (64 * 128 + 128 + 128 * 64 + 64)]


def test_fsdp_gathers_each_layer_twice_and_scatters_its_gradients(calls: dict[str, list[Calls]]) -> None:
    first, second = 4 * (64 * 128 + 128), 4 * (128 * 64 + 64)
    for rank in range(RANKS):
        shards = [first // 4, second // 4, second // 4, first // 4]  # forward, then backward
        assert sizes(calls["fsdp2"][rank], "_allgather_base_") == shards
        assert sizes(calls["fsdp2"][rank], "_reduce_scatter_base_") == [second, first]


def test_pipeline_sends_each_microbatch_over_each_boundary_both_ways(calls: dict[str, list[Calls]]) -> None:
    # 16 rows in 4 microbatches: 4 rows of 64 floats are 1024 bytes.
    for rank in range(RANKS):
        peers = [peer for peer in (rank - 1, rank + 1) if 0 <= peer < RANKS]
        sends = [call for call in calls["pipeline"][rank] if call["op"] == "send"]
        receives = [call for call in calls["pipeline"][rank] if call["op"] == "recv_"]
        assert Counter(call["peer"] for call in sends) == dict.fromkeys(peers, 4)
        assert Counter(call["peer"] for call in receives) == dict.fromkeys(peers, 4)
        assert {call["in"] for call in sends} == {call["out"] for call in receives} == {1024}


def test_arguments_are_recorded_in_world_ranks(calls: dict[str, list[Calls]]) -> None:
    for rank in range(RANKS):
        by_op = defaultdict(list)
        for call in calls["every_operation"][rank]:
            by_op[call["op"]].append(call)
        assert [call["reduce"] for call in by_op["allreduce_"]] == ["SUM", "MAX", "SUM", "MIN"]
        assert by_op["broadcast_"][0]["root"] == 1
        assert by_op["broadcast_"][1]["root"] == (1 if rank < 2 else 3)  # rank 1 of its half
        assert by_op["reduce_"][0]["root"] == 3
        assert by_op["scatter_"][0]["root"] == 2
        sends = [1, 2, 3, 3]
        assert by_op["alltoall_base_"][1]["in_splits"] == sends
        assert by_op["alltoall_base_"][1]["out_splits"] == [sends[rank]] * RANKS
        assert "in_splits" not in by_op["alltoall_base_"][0]
        assert [(call["peer"], call["tag"]) for call in by_op["send"]] == [
            ((rank + 1) % RANKS, 0),
            ((rank + 1) % RANKS, 5),
            (rank ^ 1, 0),  # the other rank of its half
        ]
        assert ["async" in call for call in by_op["allreduce_"]] == [False, True, False, False]
        # Two tensors of 8 and 16 floats; three of 50, coalesced.
        assert [call["in"] for call in by_op["allreduce_coalesced_"]] == [4 * 24, 4 * 150]


def test_every_kind_of_every_workload(calls: dict[str, list[Calls]]) -> None:
    """What each parallelism is known for, on rank 1: operations by name and count."""

    def counts(name: str) -> Counter[str]:
        return Counter(call["op"] for call in calls[name][1])

    assert counts("ddp_in_buckets")["allreduce_"] > counts("ddp")["allreduce_"]
    # A column-wise layer, then a row-wise one: the output is summed going forward, the input's gradient is not asked.
    assert counts("tensor_parallel") == {"allreduce_": 1}
    assert set(counts("sequence_parallel")) >= {"allgather_into_tensor_coalesced_", "reduce_scatter_tensor_coalesced_"}
    # 4 microbatches over 7 boundaries between 8 stages, both ways; rank 1 sees those around its stages 1 and 5.
    assert counts("interleaved_pipeline") == {"send": 16, "recv_": 16}
    assert counts("pipeline_by_hand") == {"send": 1, "recv_": 1}
    # Rank 1's tokens for its experts: 1 + (1 + e) % 3.
    assert [call["in_splits"] for call in calls["mixture_of_experts"][1][1:]] == [[2, 3, 1, 2]] * 2
    # Keys and values go around in one all_gather, or in three steps between four ranks.
    assert counts("ring_attention") == {"allgather_into_tensor_coalesced_": 1, "alltoall_base_": 3}
    assert [call["reduce"] for call in calls["reductions"][1]] == ["PRODUCT", "BAND", "BOR", "BXOR", "AVG"]
    assert counts("compiled") == {"allreduce_": 1, "allgather_into_tensor_coalesced_": 1}


def test_messages_tell_their_batch(collected: Path, calls: dict[str, list[Calls]], traces: TraceSet) -> None:
    for rank in range(RANKS):
        ids = {call["id"]: call["op"] for call in calls["every_operation"][rank]}
        batches = defaultdict(list)
        for record in streams.read(stream_path(collected, rank)):
            if record["k"] == "b" and record["id"] in ids:
                batches[record["batch"]].append(ids[record["id"]])
        assert list(batches.values()) == [["send", "recv_"]]  # of five messages the two that were batched

        nodes = [node for node in read_messages(collected / f"trace.{rank}.et") if node.DESCRIPTOR.name == "Node"]
        together = defaultdict(list)
        for node in nodes:
            for attribute in node.attr:
                if attribute.name == "batch":
                    together[attribute.int64_val].append(node)
        depends = {number: {tuple(node.data_deps) for node in batch} for number, batch in together.items()}
        assert any(len(batch) > 1 for batch in together.values())
        assert all(len(dependencies) == 1 for dependencies in depends.values())  # no order within a batch


def test_traces_hold_the_calls(traces: TraceSet, calls: dict[str, list[Calls]], collected: Path) -> None:
    assert traces.num_ranks == RANKS
    for rank, trace in enumerate(traces.traces):
        recorded = Counter(call["op"] for call in streams.calls(stream_path(collected, rank)))
        types = Counter(trace.type.tolist())
        assert types[NodeType.COMM_SEND] == recorded["send"]
        assert types[NodeType.COMM_RECV] == recorded["recv_"] + recorded["recv_any_source_"]
        assert sum(types[kind] for kind in (NodeType.COMM_COLL, NodeType.COMM_SEND, NodeType.COMM_RECV)) == sum(
            recorded.values()
        )
        assert (trace.comm_src[trace.type == NodeType.COMM_SEND] == rank).all()
        assert (trace.comm_dst[trace.type == NodeType.COMM_RECV] == rank).all()
        # Any-source receives carry the sender that came: rank - 1.
        tagged = (trace.type == NodeType.COMM_RECV) & (trace.comm_tag == 5)
        assert set(trace.comm_src[tagged].tolist()) == {(rank - 1) % RANKS}
        assert not trace.is_cpu_op.any()


def test_traces_say_how_uneven_inputs_are_cut(traces: TraceSet) -> None:
    for trace in traces.traces:
        cut = [
            trace.strings[text] for text in trace.in_splits[trace.comm_type == CollectiveType.ALL_TO_ALL] if text >= 0
        ]
        assert "[1, 2, 3, 3]" in cut


def test_lists_of_tensors_of_different_sizes_are_described_in_bytes() -> None:
    torch = pytest.importorskip("torch")
    from hocket.plugin.torch.groups import CollectedGroup
    from hocket.plugin.torch.python.describe import describer
    from hocket.plugin.torch.signature import signatures

    (signature,) = [signature for signature in signatures() if signature.op == "alltoall_"]
    describe = describer(signature)
    outputs, group = [torch.empty(2), torch.empty(2)], CollectedGroup(0, [0, 1])
    uneven = describe((outputs, [torch.empty(1), torch.empty(3)], None, 0), group, False)
    assert json.loads("{" + uneven + "}")["in_splits"] == [4, 12]
    assert "in_splits" not in describe((outputs, outputs, None, 0), group, False)


def test_traces_depend_only_on_earlier_nodes(traces: TraceSet) -> None:
    for trace in traces.traces:
        assert trace.id.tolist() == list(range(len(trace)))
        for row in range(len(trace)):
            dependencies = trace.data_deps[trace.data_offset[row] : trace.data_offset[row + 1]]
            assert (dependencies < row).all()
            assert len(dependencies) > 0 or row == 0
        assert (trace.duration_ns >= 0).all()


def test_traces_are_valid(collected: Path) -> None:
    validate = [sys.executable, "-m", "hocket", "trace", "validate", str(collected)]
    finished = subprocess.run(validate, capture_output=True, text=True, timeout=100)
    assert finished.returncode == 0, finished.stdout
    assert "0 errors, 0 warnings" in finished.stdout


def test_traces_are_read_by_the_feeders_of_both_profiles(collected: Path, tmp_path: Path) -> None:
    check_mlcommons(collected)
    done = hocket("trace", "convert", collected, "--profile", "astra-sim", "-o", tmp_path)
    assert done.returncode == 0, done.stderr
    assert "BARRIER replayed as COMP of the measured duration" in done.stdout
    assert hocket("trace", "validate", tmp_path, "--profile", "astra-sim").returncode == 0
    check_astra_sim(tmp_path)


def test_ranks_agree_on_every_collective(traces: TraceSet, collected: Path) -> None:
    sequences: dict[str, dict[int, list[tuple[int, int]]]] = defaultdict(dict)
    for rank, trace in enumerate(traces.traces):
        for row in (trace.type == NodeType.COMM_COLL).nonzero()[0]:
            group = trace.strings[trace.process_group[row]]
            size = -1 if trace.comm_type[row] == CollectiveType.ALL_TO_ALL else int(trace.comm_bytes[row])
            sequences[group].setdefault(rank, []).append((int(trace.comm_type[row]), size))
    for group, by_rank in sequences.items():
        assert sorted(by_rank) == sorted(traces.members(group))
        assert len({tuple(sequence) for sequence in by_rank.values()}) == 1
    # Of `reductions`, three times on each rank: told once.
    told = [problem["message"] for problem in json.loads((collected / "summary.json").read_text())["mismatches"]]
    refused = [message.partition(" raised: ")[0] for message in told]
    assert refused == [f"rank {rank}: allgather_:" for rank in range(RANKS)]


def test_groups_are_numbered_and_keep_their_names(collected: Path, traces: TraceSet) -> None:
    groups = json.loads((collected / "summary.json").read_text())["groups"]
    assert [group["number"] for group in groups] == list(range(len(groups)))
    assert groups[0]["ranks"] == [0, 1, 2, 3]
    named = defaultdict(list)
    for group in groups:
        named[group["description"]].append(group["ranks"])
    assert named["low"] == [[0, 1], [0, 1], [2, 3]]  # a description may be that of several, even of the same members
    assert named["high"] == [[2, 3]]
    assert json.loads((collected / "comm_groups.json").read_text()) == {
        str(group["number"]): group["ranks"] for group in groups[1:]
    }


def test_compute_beside_an_asynchronous_collective_does_not_wait_for_it(traces: TraceSet) -> None:
    """The functional all-reduce: a matrix product comes between issue and wait."""
    for trace in traces.traces:
        overlapping = [row for row in all_reduces(trace) if followed_by_independent_compute(trace, row)]
        synchronous = [row for row in all_reduces(trace) if not followed_by_independent_compute(trace, row)]
        assert overlapping
        assert synchronous


def all_reduces(trace: Trace) -> list[int]:
    return [int(row) for row in (trace.comm_type == CollectiveType.ALL_REDUCE).nonzero()[0]]


def followed_by_independent_compute(trace: Trace, row: int) -> bool:
    following = trace.data_deps[trace.data_offset[row + 1] : trace.data_offset[row + 2]]
    return bool(trace.type[row + 1] == NodeType.COMP) and row not in following


def test_every_rank_measured_its_clock_at_start_and_end(collected: Path) -> None:
    for rank in range(1, RANKS):
        clocks = [record for record in streams.read(stream_path(collected, rank)) if record["k"] == "clock"]
        assert len(clocks) == 2
        # All ranks share this machine's clock, so what is measured is the error: at most half the round trip.
        assert all(abs(clock["offset"]) <= clock["round_trip"] // 2 for clock in clocks)


def test_synchronous_collectives_never_end_before_their_last_rank_began(collected: Path) -> None:
    summary = json.loads((collected / "summary.json").read_text())
    assert summary["clock_residual_ns"] == 0
    for rank in summary["ranks"]:
        assert rank["compute_ns"] + rank["exposed_ns"] == rank["elapsed_ns"]
        assert 0 < rank["communication_ns"] <= rank["elapsed_ns"]
