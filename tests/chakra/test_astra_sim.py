"""Traces adapted for ASTRA-sim hold nothing that it refuses, and every change is counted."""

from pathlib import Path

import pytest

from hocket.base.errors import TraceError
from hocket.chakra import CollectiveType, NodeType, TraceBuilder, TraceSet, read_traces, write_trace, write_traces
from hocket.chakra.astra_sim import adapt, violations
from hocket.chakra.trace import Trace
from hocket.chakra.validate import validate


def rank_trace(rank: int) -> Trace:
    builder = TraceBuilder({"rank": rank})
    groups = builder.add(NodeType.METADATA, "process groups", is_cpu_op=True)
    start = builder.add_comp("compute", is_cpu_op=True, ctrl_deps=[groups])
    more = builder.add(NodeType.METADATA, "more", deps=[start])
    gap = builder.add_comp("gap", deps=[more, 99], is_cpu_op=True)
    uneven = builder.add_collective("a2a", CollectiveType.ALL_TO_ALL, 64 + rank, group="experts", deps=[gap])
    builder.add_collective("barrier", CollectiveType.BARRIER, 0, duration_ns=5000, deps=[uneven])
    builder.add_collective("rs", CollectiveType.REDUCE_SCATTER_BLOCK, 64, group="7")
    return builder.build()


def job() -> TraceSet:
    return TraceSet((rank_trace(0), rank_trace(1)), {"experts": (0, 1), "7": (1, 0)})


def test_adapted_traces_have_no_violations_and_are_sound() -> None:
    assert {finding.field for finding in violations(job())} == {
        "type",
        "is_cpu_op",
        "comm_type",
        "pg_name",
        "comm_size",
    }
    adapted, changes = adapt(job())
    assert list(violations(adapted)) == []
    assert validate(adapted) == []
    assert changes == {
        "METADATA nodes left out": 4,
        "is_cpu_op set to false": 4,
        "dependencies on absent nodes left out": 2,
        "BARRIER replayed as COMP of the measured duration": 2,
        "REDUCE_SCATTER_BLOCK written as REDUCE_SCATTER": 2,
        "ALL_TO_ALL grown to the largest of its ranks": 1,
        "nodes' inputs, outputs and attributes that ASTRA-sim does not read left out": 0,
    }
    assert adapted.groups == {"1": (0, 1), "7": (1, 0)}


def test_order_survives_what_is_left_out() -> None:
    trace = adapt(job())[0].traces[0]
    # Node 3 depended on node 2 (metadata), which depended on node 1; its dependency on 99, no node, is gone.
    assert trace.id.tolist() == [1, 3, 4, 5, 6]
    assert trace.data_offset.tolist() == [0, 0, 1, 2, 3, 3]
    assert trace.data_deps.tolist() == [1, 3, 4]
    assert trace.ctrl_deps.tolist() == []
    assert trace.comm_bytes.tolist() == [-1, -1, 65, -1, 64]
    assert [trace.strings[group] if group >= 0 else None for group in trace.process_group] == [
        None,
        None,
        "1",
        None,
        "7",
    ]
    assert (trace.type[3], trace.duration_us[3]) == (NodeType.COMP, 5)


def test_writing_with_the_profile(tmp_path: Path) -> None:
    assert write_traces(tmp_path, job(), profile="astra-sim") == adapt(job())[1]
    assert list(violations(read_traces(tmp_path))) == []
    with pytest.raises(TraceError, match=r"group 'experts'.*all ranks together"):
        write_trace(tmp_path / "alone.0.et", rank_trace(0), profile="astra-sim")


def test_a_rank_without_nodes_is_refused() -> None:
    with pytest.raises(TraceError, match="empty trace"):
        adapt(TraceSet((TraceBuilder().build(),)))


def test_a_group_whose_ranks_are_unknown_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match=r"group '7': nothing says which ranks are in it.*--groups"):
        write_traces(tmp_path, TraceSet(job().traces, {"experts": (0, 1)}), profile="astra-sim")
    assert not list(tmp_path.iterdir())


@pytest.mark.shared
@pytest.mark.parametrize("prefix", ["ddp_tf", "fsdp2_tf", "moe_a2a", "pp_sched", "tp_sp_tf"])
def test_captured_traces(shared: Path, prefix: str) -> None:
    adapted, _ = adapt(read_traces(shared / "chakra" / "from_interposed" / prefix))
    assert list(violations(adapted)) == []
