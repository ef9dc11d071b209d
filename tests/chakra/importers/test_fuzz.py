"""Random and damaged files are imported or refused with an error of ours; never anything else."""

import json
import pickle
from pathlib import Path

import pytest
from handwritten import collective, entry, host_node, host_trace, nccl_profile, record
from hypothesis import given, settings
from hypothesis import strategies as st
from kineto_profiles import kineto, span

from hocket.base.errors import HocketError
from hocket.chakra.importers import IMPORTERS, import_traces
from hocket.chakra.importers.registry import AUTO, SOURCES

quickly = settings(max_examples=100)

_ENTRIES = [entry(1, "nccl:all_reduce", [[8]]), entry(2, "nccl:send 0->1", [[8]])]
_DUMP = {"version": "2.10", "entries": _ENTRIES, "pg_config": {"0": {"name": "0", "desc": "", "ranks": "[0, 1]"}}}
_TENSOR = [1, 2, 0, 8, 4, "cpu"]
_NODES = [host_node(5, "c10d::allreduce_", [[_TENSOR], "<Object>", "<Object>", None, False], [[_TENSOR]])]
_EVENTS = [
    span(
        "cpu_op", "c10d::allreduce_", 5, 3, Record_function_id=5, Input_Dims=[[[8]], []], Input_type=["TensorList", ""]
    ),
    span("user_annotation", "gloo:all_reduce", 6, 9, 2, Input_Dims=[[8]], Input_type=["float"]),
    span("kernel", "ncclDevKernel_AllReduce", 6, 9, 2, stream=3, correlation=4),
]
GRAPH = [
    {"Id": 3, "Name": "aten::mm", "NodeType": 4, "data_deps": [], "runtime": 7, "is_cpu_op": True},
    {"Id": 4, "Name": "ncclKernel_AllReduce_RING_LL", "NodeType": 7, "ctrlDeps": [3], "is_cpu_op": False},
]
OTHER = [
    {"id": 3, "name": "a", "node_type": 5, "comm_size": 8, "comm_dst": 1, "dataDeps": [9], "numOps": 3},
    {"id": 4, "name": "b", "type": 7, "comm_type": 0, "commSize": 8, "ctrl_deps": [3]},
]
_LINKED = [_NODES[0] | {"ts": 10.5, "inclusive_dur": 4.25, "exclusive_dur": 4.25}]
SAMPLES = {
    "mlcommons": [host_trace(_LINKED).encode()],
    "pytorch": [
        kineto(_EVENTS, 0, 1, {"0": [0]}).encode(),
        kineto(_EVENTS[:2], 0, 1, {"0": [0]}).encode(),
        host_trace(_NODES).encode(),
    ],
    "workload-graph": [json.dumps({"workload_graph": GRAPH}).encode(), json.dumps({"workload_graph": OTHER}).encode()],
    "flight-recorder": [pickle.dumps(_DUMP, protocol=2), json.dumps(_DUMP).encode()],
    "nccl-profile": [nccl_profile([("AllReduce", 8), ("Broadcast", 8), ("Send", 8)])],
    "nccl-inspector": [record(0, "a", 1, 0, **collective("AllReduce", 1, 8)).encode()],
}


def import_or_refuse(path: Path, content: bytes, source: str) -> None:
    path.write_bytes(content)
    for name in (source, "auto"):
        try:
            import_traces([path], name)
        except HocketError as error:
            assert str(path) in str(error)


def test_every_format_is_damaged_here() -> None:
    assert SAMPLES.keys() == IMPORTERS.keys() == set(SOURCES) - {AUTO}


@pytest.mark.parametrize("source", SAMPLES)
def test_samples_are_read(tmp_path: Path, source: str) -> None:
    for index, sample in enumerate(SAMPLES[source]):
        (tmp_path / f"sample{index}").write_bytes(sample)
        assert import_traces([tmp_path / f"sample{index}"]).traces


@pytest.mark.parametrize("source", SAMPLES)
@quickly
@given(st.binary(max_size=200))
def test_random_bytes(tmp_path: Path, source: str, content: bytes) -> None:
    import_or_refuse(tmp_path / "rank0", content, source)


@pytest.mark.parametrize("source", SAMPLES)
@quickly
@given(
    st.integers(0, 2),
    st.lists(st.tuples(st.integers(0, 5000), st.integers(0, 255)), max_size=4),
    st.one_of(st.just(0), st.integers(0, 3000)),
)
def test_damaged_files(tmp_path: Path, source: str, which: int, changes: list[tuple[int, int]], cut: int) -> None:
    content = bytearray(SAMPLES[source][which % len(SAMPLES[source])])
    for place, value in changes:
        content[place % len(content)] = value
    import_or_refuse(tmp_path / "rank0", bytes(content[: len(content) - cut % len(content)]), source)
