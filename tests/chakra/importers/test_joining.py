"""Execution traces of NCCL beside profiles that tell little or nothing of the host."""

import json
from pathlib import Path
from typing import Any

import in_process
import pytest
from handwritten import host_node, host_trace
from import_commands import communication, hocket, imported
from kineto_profiles import kineto, span

from hocket.chakra import read_traces
from hocket.chakra.losses import communication_lost, losses_of

GROUP = json.dumps([{"pg_name": "0", "pg_desc": "", "ranks": [], "group_size": 2, "group_count": 1}])
ATTRIBUTES = {"dtype": "Float", "Process_Group_Name": "0", "Process_Group_Ranks": "[0, 1]", "Group_size": 2}


def called(number: int, name: str, kind: str, elements: int, rank: int) -> list[dict[str, Any]]:
    tensor = [number, number, 0, elements, 4, "cuda:0"]
    told = [[tensor], number, ["0", "default_pg"], rank, kind, [], [], 0, 1, 2]
    return [
        host_node(number, f"c10d::{name}", [[tensor], "<Object>", "<Object>", None, True, -1], [[tensor]]),
        host_node(number + 1, "record_param_comms", told, dtype="Float", in_msg_nelems=elements),
    ]


def host(rank: int) -> str:
    calls = [
        *called(5, "allreduce_", "allreduce", 1000, rank),
        *called(8, "broadcast_", "broadcast", 50, rank),
        *called(11, "allreduce_", "allreduce", 30, rank),
    ]
    return host_trace([host_node(4, "## process_group:init ##", [GROUP]), *calls])


def kernel(name: str, begin: float, **told: Any) -> dict[str, Any]:
    return span("kernel", f"ncclDevKernel_{name}_Sum_f32_RING_LL", begin, 20, 40, stream=40, correlation=-1, **told)


def own(collective: str, elements: int) -> dict[str, Any]:
    return {"Collective_name": collective, "In_msg_nelems": elements, "Out_msg_nelems": elements, **ATTRIBUTES}


NAMED = [kernel("AllReduce", 20), kernel("Broadcast", 50), kernel("AllReduce", 80)]
TELLING = [
    kernel("Generic", 20, **own("allreduce", 1000)),
    kernel("Generic", 50, **own("broadcast", 50)),
    kernel("Generic", 80, **own("allreduce", 30)),
]
EXPECTED = {("all_reduce", 4000): 1, ("broadcast", 200): 1, ("all_reduce", 120): 1}


@pytest.mark.parametrize(("kernels", "with_host"), [(NAMED, True), (TELLING, True), (TELLING, False)])
def test_profiles_of_the_device_alone(tmp_path: Path, kernels: list[dict[str, Any]], with_host: bool) -> None:
    for rank in range(2):
        (tmp_path / f"device.{rank}.json").write_text(kineto(kernels, rank, 2, {"0": [0, 1]}))
        if with_host:
            (tmp_path / f"host.{rank}.json").write_text(host(rank))
    traces, _ = imported(tmp_path, *tmp_path.glob("*.json"))
    for trace in traces.traces:
        assert communication(trace) == EXPECTED
        assert sorted(trace.duration_ns[trace.comm_bytes >= 0]) == [20_000] * 3
        assert communication_lost(losses_of(trace.metadata)) == 0


def test_messages_by_the_kernels_attributes(tmp_path: Path) -> None:
    for rank in range(2):
        ends = {"Src_Rank": 0, "Dst_Rank": 1}
        sent = kernel("SendRecv", 20, **own("recv" if rank else "send", 16), **ends)
        (tmp_path / f"device.{rank}.json").write_text(kineto([sent], rank, 2, {"0": [0, 1]}))
    traces, _ = imported(tmp_path, *tmp_path.glob("*.json"))
    assert [communication(trace) for trace in traces.traces] == [{("send", 64): 1}, {("recv", 64): 1}]


def test_a_profile_of_another_run_loses_all(tmp_path: Path) -> None:
    for rank in range(2):
        other = span("kernel", "sgemm", 20, 30, 7, stream=7, correlation=1, External_id=1)
        (tmp_path / f"device.{rank}.json").write_text(kineto([other], rank, 2, {"0": [0, 1]}))
        (tmp_path / f"host.{rank}.json").write_text(host(rank))
    done = hocket("import", *tmp_path.glob("*.json"), "-o", tmp_path / "out")
    assert done.returncode == 1
    assert "6 collectives of the recording are not in the traces" in done.stderr
    traces = read_traces(tmp_path / "out")
    assert [communication_lost(losses_of(trace.metadata)) for trace in traces.traces] == [3, 3]
    assert hocket("validate", tmp_path / "out").returncode == 1
    taken = hocket("import", *tmp_path.glob("*.json"), "--accept-losses", "-o", tmp_path / "out")
    assert (taken.returncode, "NO COMMUNICATION IS LEFT" in taken.stderr) == (0, True)
    simulated = simulation(tmp_path / "out")
    assert (simulated.returncode, "NO COMMUNICATION IS LEFT" in simulated.stderr) == (1, True)
    assert simulation(tmp_path / "out", "--accept-losses").returncode == 0


def simulation(folder: Path, *options: str) -> Any:
    return in_process.hocket("simulate", folder, "-t", "ring:2,bandwidth=50GB/s,latency=500ns", *options)


def test_flat_nodes_of_schema_1_0_1(tmp_path: Path) -> None:
    def flat(number: int, name: str, inputs: list[Any]) -> dict[str, Any]:
        types = ["GenericList[Tensor(float)]"] * len(inputs)
        told = {"rf_id": number, "parent": 1, "tid": 1, "inputs": inputs, "input_types": types}
        return {"name": name, "id": number, **told, "input_shapes": [], "outputs": [], "output_types": []}

    tensor = [1, 2, 0, 8, 4, "cuda:0"]
    nodes = [
        flat(5, "c10d::allreduce_", [[tensor], "<Object>", "<Object>", -1]),
        flat(6, "record_param_comms", [[tensor], 3, 0, 0, "allreduce", [], []]),
    ]
    for rank in range(2):
        (tmp_path / f"eg_{rank}.json").write_text(host_trace(nodes, "1.0.1"))
    traces, _ = imported(tmp_path, *tmp_path.glob("eg_*"))
    assert [communication(trace) for trace in traces.traces] == [{("all_reduce", 32): 1}] * 2
