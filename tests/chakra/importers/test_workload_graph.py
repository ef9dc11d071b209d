"""MLCommons' workload graphs in JSON."""

import json
from pathlib import Path
from typing import Any

import pytest
from import_commands import communication, hocket

from hocket.chakra import NodeType, read_trace
from hocket.chakra.losses import Loss, Lost, losses_of

NODES: list[dict[str, Any]] = [
    {"Id": 216, "Name": "aten::mm", "NodeType": 4, "ctrlDeps": [3], "data_deps": [], "runtime": 30, "is_cpu_op": True},
    {"Id": 432, "Name": "c10d::broadcast_(0)", "NodeType": 7, "data_deps": [216], "runtime": 85, "is_cpu_op": True},
    {"Id": 435, "Name": "ncclKernel_Broadcast_RING_LL", "NodeType": 7, "data_deps": [432], "is_cpu_op": False},
]
SIZED: list[dict[str, Any]] = [
    {"id": 1, "name": "mm", "node_type": 4, "dataDeps": [], "numOps": 100, "tensorSize": 64, "isCpuOp": False},
    {"id": 2, "name": "a", "type": 7, "ctrl_deps": [1], "comm_type": 0, "commSize": 4096},
    {"id": 3, "name": "b", "type": 5, "data_deps": [2], "comm_size": 64, "commDst": 1, "comm_tag": 7},
]


def write(path: Path, nodes: list[dict[str, Any]], **more: Any) -> Path:
    path.write_text(json.dumps({"workload_graph": nodes, **more}))
    return path


def test_what_a_graph_lacks_is_counted(tmp_path: Path) -> None:
    path = write(tmp_path / "chakra.0.json", NODES, workload_name="w", ngpus=8)
    done = hocket("import", path, "-o", tmp_path / "none")
    assert done.returncode == 1, done.stderr
    assert "broadcast: its size, which the graph does not tell (--size broadcast=BYTES tells it)" in done.stdout
    trace = read_trace(tmp_path / "none/trace.0.et")
    assert losses_of(trace.metadata) == {
        Loss(Lost.COLLECTIVE, "broadcast", "its size, which the graph does not tell"): 1,
        Loss(Lost.DEPENDENCY, "", "on a node that is not in the file"): 1,
    }
    done = hocket("import", path, "--size", "broadcast=64KiB", "-o", tmp_path / "told")
    assert (done.returncode, "7 of 8 ranks are missing" in done.stdout) == (0, True), done.stderr
    trace = read_trace(tmp_path / "told/trace.0.et")
    assert communication(trace) == {("broadcast", 64 << 10): 1}
    assert trace.type.tolist() == [NodeType.COMP, NodeType.COMP, NodeType.COMM_COLL]
    assert trace.data_deps.tolist() == [0, 1] and trace.duration_ns.tolist() == [30_000, 85_000, 0]


def test_collectives_of_a_world_that_nobody_tells_are_lost(tmp_path: Path) -> None:
    done = hocket("import", write(tmp_path / "chakra.0.json", SIZED[:2]), "-o", tmp_path / "out")
    assert (done.returncode, "how many ranks the job has, which no file tells" in done.stderr) == (1, True)


def test_the_other_spelling(tmp_path: Path) -> None:
    done = hocket("import", write(tmp_path / "chakra.0.json", SIZED), "--world", "2", "-o", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    trace = read_trace(tmp_path / "out/trace.0.et")
    assert communication(trace) == {("all_reduce", 4096): 1, ("send", 64): 1}
    assert (trace.num_ops[0], trace.tensor_bytes[0], trace.comm_tag[2]) == (100, 64, 7)
    assert trace.ctrl_deps.tolist() == [0] and trace.data_deps.tolist() == [1]


@pytest.mark.parametrize(
    ("node", "message"),
    [
        ({"Id": 1, "NodeType": 4, "id": 2}, "node 1: 'id' comes twice, in two spellings"),
        ({"Id": 7, "NodeType": 99}, "node 7: Expected `int` <= 7"),
        ({"Id": 1, "NodeType": 4, "runtime": "long"}, "node 1: Expected `int`, got `str`"),
        ({"NodeType": 4}, "node without Id: Object missing required field"),
        (NODES[0], "node 216: another node has this Id"),
    ],
)
def test_refusals(tmp_path: Path, node: dict[str, Any], message: str) -> None:
    path = write(tmp_path / "chakra.0.json", [NODES[0], node])
    done = hocket("import", path, "-o", tmp_path / "out")
    assert (done.returncode, f"{path}: {message}" in done.stderr) == (3, True), done.stderr
