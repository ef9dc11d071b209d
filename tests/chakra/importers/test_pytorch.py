"""Profiles of PyTorch: of gloo as PyTorch wrote them, of NCCL hand-written (`kineto_profiles`)."""

import gzip
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from handwritten import host_node, host_trace
from import_commands import communication, errors_in, hocket, imported, kind, types
from kineto_profiles import kineto, of_nccl

from hocket.chakra import NodeType
from hocket.chakra.importers import import_traces
from hocket.chakra.losses import communication_lost, losses_of
from hocket.chakra.trace import Trace, TraceSet
from hocket.chakra.validate import validate

WORKLOADS = ["compiled", "ddp_cnn", "ddp_tf", "fsdp2_tf", "funcol", "misc", "moe_a2a", "pp_manual", "pp_sched"]
WORKLOADS += ["tp_mlp", "tp_sp_tf"]


def interposed(path: Path) -> list[dict[str, Any]]:
    """What a rank issued in one step, as the interposer on the dispatcher saw it."""
    lines = map(json.loads, path.read_text().splitlines())
    return [call for call in lines if call["k"] == "coll" and call["step"] == 2]


def _size(call: dict[str, Any]) -> int:
    return {"recv": call["out_bytes"], "scatter": 4 * call["out_bytes"]}.get(call["kind"], call["in_bytes"])


@pytest.mark.shared
@pytest.mark.parametrize("workload", WORKLOADS)
def test_profiles_of_gloo_have_what_the_interposer_saw(shared: Path, workload: str) -> None:
    folder = shared / "torch_traces"
    job = import_traces([folder / "profiler" / workload])
    assert not job.missing
    traces = tuple(job.traces.values())
    assert errors_in(validate(TraceSet(traces, job.groups))) == []
    for rank, trace in enumerate(traces):
        calls = interposed(folder / "interposed" / workload / f"coll.{rank}.jsonl")
        seen = Counter((call["kind"], _size(call)) for call in calls)
        assert communication(trace) == seen
        collectives = [call for call in calls if call["kind"] not in ("send", "recv")]
        seen = Counter((call["kind"], "" if call["kind"] == "barrier" else call["dtype"]) for call in collectives)
        assert types(trace) == seen
        assert communication_lost(losses_of(trace.metadata)) == 0


@pytest.mark.shared
def test_either_file_alone(shared: Path, tmp_path: Path) -> None:
    folder = shared / "torch_traces/profiler/fsdp2_tf"
    both, _ = imported(tmp_path / "both", folder)
    untimed, printed = imported(tmp_path / "host", *sorted(folder.glob("host.*")))
    assert "times, which an execution trace does not have" in printed
    timed, printed = imported(tmp_path / "device", *sorted(folder.glob("device.*")))
    assert "import the execution trace with Kineto's profile" in printed
    for rank in range(4):
        expected = communication(both.traces[rank])
        assert communication(untimed.traces[rank]) == communication(timed.traces[rank]) == expected
        assert not (untimed.traces[rank].duration_ns > 0).any()


@pytest.mark.shared
def test_what_an_execution_trace_alone_loses_says_what_tells_it(shared: Path, tmp_path: Path) -> None:
    """A monitored barrier shows its ranks by the messages that its first rank receives; of the other operations of gloo
    only Kineto's threads tell which of groups alike in size they are of."""
    hosts = sorted((shared / "torch_traces/profiler/misc").glob("host.*"))
    traces, printed = imported(tmp_path, *hosts, losses=True)
    assert [communication(trace)["barrier", 0] for trace in traces.traces] == [1] * 4
    lost = [loss for loss in losses_of(traces.traces[0].metadata) if loss.what.is_communication]
    assert {loss.reason for loss in lost} == {
        "its group, which an execution trace without Kineto's profile does not tell"
    }
    assert "left out; import Kineto's profile with it" in printed
    warned = hocket("import", *hosts, "-o", tmp_path / "again").stderr
    assert "44 of 100 collectives and messages are lost: the notes say which file or option tells them" in warned


@pytest.mark.shared
@pytest.mark.parametrize("workload", ["ddp_cnn", "misc"])
def test_linked_by_mlcommons(shared: Path, workload: str) -> None:
    # Of one rank, so nothing of the others tells groups: of `misc` only those of one possible size are known.
    linked = import_traces([shared / f"chakra/gloo_torch215/{workload}.linked.0.json.gz"])
    own = [shared / f"torch_traces/profiler/{workload}/{name}.0.json.gz" for name in ("host", "device")]
    of_one_rank = import_traces(own)
    assert linked.world == 4
    reasons = {loss.reason for loss in losses_of(linked.traces[0].metadata) if loss.what.is_communication}
    assert reasons <= {"its group, which a linked trace does not tell"}
    assert communication(linked.traces[0]) <= communication(of_one_rank.traces[0])
    if workload == "ddp_cnn":
        assert communication(linked.traces[0]) == {("all_reduce", 4 * 10250): 1, ("all_reduce", 4 * 1392): 1}


@pytest.mark.shared
def test_computation_is_operators(shared: Path) -> None:
    trace = import_traces([shared / "torch_traces/profiler/tp_mlp"]).traces[0]
    names = Counter(trace.strings[name] for name in trace.name[trace.type == NodeType.COMP])
    assert names["aten::linear"] == 2 and names["host"] > 0
    assert not any(name.startswith(("c10d::", "gloo:", "autograd::")) for name in names)
    row = next(row for row in range(len(trace)) if trace.strings[trace.name[row]] == "aten::linear")
    # 8 x 64 by the transpose of 64 x 64, this rank's quarter of the columns: 2 * 8 * 64 * 64 operations on floats.
    assert trace.num_ops[row] == 2 * 8 * 64 * 64
    assert trace.tensor_bytes[row] == 4 * (8 * 64 + 64 * 64 + 8 * 64)


def test_nccl(tmp_path: Path) -> None:
    for rank in range(2):
        (tmp_path / f"rank{rank}.json").write_text(kineto(of_nccl(rank), rank, 2, {"0": [0, 1]}))
    traces, _ = imported(tmp_path, *tmp_path.glob("rank?.json"))
    first, second = traces.traces
    assert communication(first) == {("all_reduce", 4000): 1, ("send", 64): 1}
    assert communication(second) == {("all_reduce", 4000): 1, ("recv", 64): 1}
    assert types(first) == {("all_reduce", "float32"): 1}
    shown = [(name_of(first, row), int(first.duration_ns[row]), deps_of(first, row)) for row in range(len(first))]
    assert shown == [
        ("host", 20_000, []),
        ("sgemm", 30_000, [0]),
        ("all_reduce", 100_000, [1]),  # launched after the product, which was complete
        ("host", 5_000, [1]),  # beside the all_reduce its stream waits for the launch
        ("sgemm", 40_000, [1, 3]),  # beside the all_reduce
        ("send", 30_000, [2, 4]),  # launched after the second product; begins as the all_reduce ends
        ("host", 20_000, [4, 5]),  # nothing runs: from the end of the message to the addition
        ("add", 10_000, [2, 4, 5, 6]),  # the stream was made to wait at 60
        ("Memcpy DtoH (Device -> Pageable)", 5_000, [7]),
    ]
    # [4, 8] by [8, 2]: 2 * 4 * 8 * 2 operations, 32 + 16 + 8 floats.
    assert (first.num_ops[1], first.tensor_bytes[1]) == (128, 4 * 56)
    assert (first.type[8], first.tensor_bytes[8]) == (NodeType.MEM_STORE, 64)
    assert first.metadata["step_numbers"] == [3]


def between(number: int, tensor: list[Any], sequence: int, rank: int) -> list[dict[str, Any]]:
    """An asynchronous all_reduce."""
    told = [[tensor], sequence, ["0", "default_pg"], rank, "allreduce", [], [], 0, 1, 2]
    return [
        host_node(number, "c10d::allreduce_", [[tensor], "<Object>", "<Object>", None, True, -1], [[tensor]]),
        host_node(number + 1, "record_param_comms", told, dtype="Float", in_msg_nelems=1000),
    ]


def test_execution_trace_of_nccl(tmp_path: Path) -> None:
    tensor = [1, 2, 0, 1000, 4, "cuda:0"]
    group = json.dumps([{"pg_name": "0", "pg_desc": "default_pg", "ranks": [], "group_size": 2, "group_count": 1}])
    for rank in range(2):
        nodes = [
            host_node(4, "## process_group:init ##", [group]),
            host_node(5, "c10d::broadcast_", [[tensor], "<Object>", 1, 0, True, -1], [[tensor], "<Object>"]),
            host_node(
                6,
                "record_param_comms",
                [[tensor], 33, ["0", "default_pg"], rank, "broadcast", [], [], 0, 1, 2],
                dtype="Float",
                in_msg_nelems=1000,
            ),
            *between(8, tensor, 34, rank),
            host_node(10, "record_param_comms", [33, ["", ""], rank, "wait", [], [], -1, -1, 1]),
            *between(11, tensor, 35, rank),
        ]
        (tmp_path / f"host.{rank}.json.gz").write_bytes(gzip.compress(host_trace(nodes, "1.1.0-chakra.0.0.4").encode()))
    traces, _ = imported(tmp_path, *tmp_path.glob("host.*"))
    assert [communication(trace) for trace in traces.traces] == [{("broadcast", 4000): 1, ("all_reduce", 4000): 2}] * 2
    first = traces.traces[0]
    assert first.root.tolist() == [1, -1, -1]
    assert types(first) == {("broadcast", "float32"): 1, ("all_reduce", "float32"): 2}
    # The second runs beside the first; the third was issued after the wait for the first.
    assert [deps_of(first, row) for row in range(3)] == [[], [], [0]]


def test_a_profile_that_was_cut_off(tmp_path: Path) -> None:
    whole = kineto(of_nccl(0), 0, 2, {"0": [0, 1]})
    (tmp_path / "rank0.json").write_text(whole[: whole.index('"add"') + 200])
    done = hocket("import", tmp_path / "rank0.json", "-o", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    # All but the copy, which would end at 215 us.
    shown = f"{tmp_path}/rank0.json is cut off: what it has ends 0.300 ms after its first event, the rest is lost"
    assert shown in done.stdout
    (tmp_path / "rank0.json").write_text(whole[: whole.index("ncclDevKernel_SendRecv")])
    done = hocket("import", tmp_path / "rank0.json", "-o", tmp_path / "out")
    lost = f"kernels of {tmp_path}/rank0.json launched between 0.049 and 0.049 ms after the first event"
    assert f"{lost} that are not in it: their time is missing" in done.stdout, done.stdout
    host_alone = json.loads(whole)
    host_alone["traceEvents"].sort(key=lambda event: event["cat"] == "kernel" or event["cat"] == "gpu_memcpy")
    text = json.dumps(host_alone)
    (tmp_path / "rank0.json").write_text(text[: text.index('"kernel"')])
    refused = hocket("import", tmp_path / "rank0.json", "-o", tmp_path / "out")
    assert "cut off before its kernels" in refused.stderr


def test_a_packed_profile_that_was_cut_off(tmp_path: Path) -> None:
    packed = gzip.compress(kineto(of_nccl(0), 0, 2, {"0": [0, 1]}).encode(), mtime=0)
    path = tmp_path / "rank0.json.gz"
    path.write_bytes(packed[: len(packed) * 3 // 4])
    refused = hocket("import", path, "-o", tmp_path / "out")
    assert refused.returncode == 3
    assert f"it was cut off; copy or write it anew, or take what is there: gunzip -c {path} > PART" in refused.stderr


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("et.json", host_trace([host_node(1, "a", [])], "1.0.0"), "schema '1.0.0'; execution traces 1.0.1 to"),
        ("k.json", '{"schemaVersion": 1, "traceEvents": [{"ph": "X", "ts": -5}]}', "k.json: 'traceEvents': Expected"),
        ("k.json", '{"schemaVersion": 1, "traceEvents": 3}', "no array 'traceEvents'"),
        ("k.json", '{"schemaVersion": 1, "traceEvents": [{"ph": ', "does not end, and has no whole item"),
    ],
)
def test_refusals(tmp_path: Path, name: str, content: str, message: str) -> None:
    (tmp_path / name).write_text(content)
    done = hocket("import", tmp_path / name, "-o", tmp_path / "out")
    assert (done.returncode, message in done.stderr) == (3, True), done.stderr


def name_of(trace: Trace, row: int) -> str:
    return kind(trace, row) if trace.type[row] >= NodeType.COMM_SEND else trace.strings[trace.name[row]]


def deps_of(trace: Trace, row: int) -> list[int]:
    return sorted(trace.data_deps[trace.data_offset[row] : trace.data_offset[row + 1]].tolist())
