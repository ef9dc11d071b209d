"""`hocket trace convert --repair` and what travels in metadata of what was lost."""

from pathlib import Path

import numpy as np
from import_commands import hocket

from hocket.chakra import CollectiveType, TraceBuilder, TraceSet, read_trace, read_traces, write_traces
from hocket.chakra.losses import REPAIRS, Loss, Lost, losses_of, with_losses
from hocket.chakra.repairing import kind_in_name, repaired
from hocket.chakra.trace import NodeType, Trace

LOST = {Loss(Lost.COLLECTIVE, "all_reduce", "its size, which was not recorded"): 3}


def old_trace() -> Trace:
    """A host's call of a collective and the kernel that does it, as MLCommons' converters wrote them in 2024; one
    collective without a kernel; dependencies on a node that is gone and of nodes on each other."""
    builder = TraceBuilder({"rank": 0, "world_size": 1})
    builder.add_comp("a", duration_ns=1000, ctrl_deps=[99], is_cpu_op=True)
    builder.add(NodeType.COMM_COLL, "c10d::allreduce_(0)", duration_ns=1000, ctrl_deps=[0, 2], is_cpu_op=True)
    builder.add_collective("ncclKernel_AllReduce_RING", CollectiveType.ALL_REDUCE, 64, deps=[1])
    builder.add(NodeType.COMM_COLL, "ncclKernel_Broadcast_RING_LL(ncclDevComm*)", comm_bytes=8, ctrl_deps=[3])
    builder.add(NodeType.COMM_COLL, "ncclDevKernel_AllGather", duration_ns=5000)
    return builder.build()


def test_old_traces_are_repaired(tmp_path: Path) -> None:
    write_traces(tmp_path / "old", TraceSet((old_trace(),)))
    assert hocket("validate", tmp_path / "old").returncode == 1
    done = hocket("convert", tmp_path / "old", "--repair", "-o", tmp_path / "new")
    assert done.returncode == 0, done.stderr
    assert "repaired: 1 collective broadcast: its type, inferred from the node's name" in done.stdout
    assert "1 collective of the recording is not in the traces (1 all_gather: its size" in done.stderr
    trace = read_trace(tmp_path / "new/trace.0.et")
    assert trace.type.tolist() == [NodeType.COMP] * 2 + [NodeType.COMM_COLL] * 2 + [NodeType.COMP]
    assert trace.comm_type[2:4].tolist() == [CollectiveType.ALL_REDUCE, CollectiveType.BROADCAST]
    assert trace.strings[trace.name[4]] == "communication of unknown size: ncclDevKernel_AllGather"
    assert trace.ctrl_deps.tolist() == [0] and trace.data_deps.tolist() == [1]
    calls, absent = (
        "the host's call beside the kernel that does it: made computation",
        "on nodes that are not in the file",
    )
    cycles = "of nodes on themselves, directly or by others: left out"
    assert losses_of(trace.metadata, REPAIRS) == {
        Loss(Lost.COLLECTIVE, "all_reduce", calls): 1,
        Loss(Lost.COLLECTIVE, "broadcast", "its type, inferred from the node's name"): 1,
        Loss(Lost.DEPENDENCY, "ctrl_deps", f"{absent}: left out"): 1,
        Loss(Lost.DEPENDENCY, "ctrl_deps", cycles): 2,
    }
    checked = hocket("validate", tmp_path / "new")
    assert (checked.returncode, "1 errors" in checked.stdout) == (1, True), checked.stdout
    assert hocket("validate", tmp_path / "new", "--accept-losses").returncode == 0
    again = repaired(trace)
    assert again.metadata == trace.metadata and np.array_equal(again.type, trace.type)


def test_groups_that_no_file_names_are_told(tmp_path: Path) -> None:
    def of_groups(rank: int) -> Trace:
        builder = TraceBuilder({"rank": rank, "world_size": 2})
        for group in ("dp", "dp", "tp", "1", ""):
            builder.add_collective("a", CollectiveType.ALL_REDUCE, 8, group=group)
        return builder.build()

    write_traces(tmp_path / "old", TraceSet((of_groups(0), of_groups(1)), {"1": (0, 1)}))
    done = hocket("convert", tmp_path / "old", "--repair", "-o", tmp_path / "new")
    said = "6 collectives are of process groups whose ranks no file tells (4 of dp, 2 of tp): name their ranks in"
    assert (done.returncode, said in done.stderr) == (0, True), done.stderr
    (tmp_path / "groups.json").write_text('{"1": [0, 1], "dp": [0, 1], "tp": [0, 1]}')
    done = hocket("convert", tmp_path / "old", "--repair", "--groups", tmp_path / "groups.json", "-o", tmp_path / "new")
    assert (done.returncode, "process groups" in done.stderr) == (0, False), done.stderr


def test_each_kernel_does_one_call_of_the_host() -> None:
    """Of three calls one has its kernel; a name that tells no kind has none, whatever else is on the device."""
    builder = TraceBuilder({"rank": 0, "world_size": 1})
    for _ in range(3):
        builder.add(NodeType.COMM_COLL, "c10d::allreduce_", duration_ns=1000, is_cpu_op=True)
    builder.add(NodeType.COMM_COLL, "something", duration_ns=1000, is_cpu_op=True)
    builder.add_collective("ncclKernel_AllReduce_RING", CollectiveType.ALL_REDUCE, 64)
    builder.add_collective("unknown", CollectiveType.ALL_REDUCE, 64)
    metadata = repaired(builder.build()).metadata
    assert sum(losses_of(metadata, REPAIRS).values()) == 1
    assert {(loss.kind, loss.reason.split(",")[0]): count for loss, count in losses_of(metadata).items()} == {
        ("all_reduce", "its size"): 2,
        ("", "its type"): 1,
    }


def test_kinds_in_names() -> None:
    named = {
        "c10d::_allgather_base_(1)": "all_gather",
        "ncclKernel_ReduceScatter_RING_LL_Sum_float": "reduce_scatter",
        "nccl:all_to_all": "all_to_all",
        "c10d::reduce_": "reduce",
        "aten::mm": "",
    }
    assert {name: kind_in_name(name) for name in named} == named


def test_losses_stay_with_the_trace(tmp_path: Path) -> None:
    def lossy(rank: int) -> Trace:
        builder = TraceBuilder(with_losses({"rank": rank, "world_size": 2}, LOST))
        builder.add_comp("a", duration_ns=1000)
        builder.add_collective("b", CollectiveType.ALL_REDUCE, 8, deps=[0])
        return builder.build()

    write_traces(tmp_path / "job", TraceSet((lossy(0), lossy(1))))
    changes = [
        ("slice", tmp_path / "job", "--nodes", "0:1"),
        ("merge", tmp_path / "job"),
        ("convert", tmp_path / "job", "--profile", "astra-sim"),
        ("anonymize", tmp_path / "job"),
        ("combine", tmp_path / "job", tmp_path / "slice"),
    ]
    for verb, *arguments in changes:
        done = hocket(verb, *arguments, "-o", tmp_path / verb)
        assert done.returncode == 0, done.stderr
        assert all(losses_of(trace.metadata) == LOST for trace in read_traces(tmp_path / verb).traces), verb
        checked = hocket("validate", tmp_path / verb)
        assert checked.returncode == 1, checked.stdout
        assert "3 collectives of the recording are not in the traces (3 all_reduce: its size" in checked.stdout
    shown = hocket("info", tmp_path / "job", "--json", tmp_path / "info.json")
    assert "warning: 6 collectives of the recording are not in the traces" in shown.stderr


def test_losses_that_do_not_read(tmp_path: Path) -> None:
    builder = TraceBuilder({"losses": ["many collectives"]})
    builder.add_comp("a", duration_ns=1000)
    write_traces(tmp_path, TraceSet((builder.build(),)))
    checked = hocket("validate", tmp_path)
    assert (checked.returncode, "'many collectives' in losses or repairs" in checked.stdout) == (1, True)
