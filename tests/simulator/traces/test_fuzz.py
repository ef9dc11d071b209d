"""Damaged trace files are simulated or refused with one typed error; never anything else."""

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hocket.base.errors import HocketError, TraceError
from hocket.chakra import CollectiveType, NodeType, TraceBuilder, TraceSet, read_traces, write_traces
from hocket.simulator import Fidelity, RemoteMemory, simulate_traces
from hocket.topology import load
from hocket.workload.accelerators import parse_accelerator

RING = load("ring:2,bandwidth=1GB/s,latency=1us")
CHIP = parse_accelerator("peak=1TFLOP/s,memory=2GB/s,efficiency=1")


def traces() -> TraceSet:
    """Two ranks with every kind of node."""
    built = []
    for rank in range(2):
        builder = TraceBuilder({"rank": rank, "world_size": 2})
        work = builder.add_comp("work", num_ops=1_000, tensor_bytes=30)
        fetch = builder.add(NodeType.MEM_LOAD, "fetch", tensor_bytes=300)
        cut = builder.add_collective("a2a", CollectiveType.ALL_TO_ALL, 60, in_splits=[2, 4], deps=[work, fetch])
        builder.add_collective("gather", CollectiveType.ALL_GATHER, 10 + rank, group="pair", deps=[cut])
        add = builder.add_recv if rank else builder.add_send
        add("message", 70, src=0, dst=1, tag=3)
        built.append(builder.build())
    return TraceSet(tuple(built), {"pair": (1, 0)})


@settings(max_examples=250)
@given(
    st.lists(st.tuples(st.integers(0, 2_000), st.integers(0, 255)), min_size=1, max_size=3),
    st.sampled_from([0, 0, 0, 1, 17]),
    st.sampled_from(["bound", "uncontended", "analytical", "congestion", "flow"]),
)
@example(changes=[(140, 13)], cut=0, model="bound")  # a line break within a name
def test_damaged_traces(tmp_path: Path, changes: list[tuple[int, int]], cut: int, model: str) -> None:
    write_traces(tmp_path, traces())
    path = tmp_path / "trace.1.et"
    content = bytearray(path.read_bytes())
    for place, value in changes:
        content[place % len(content)] = value
    path.write_bytes(content[: len(content) - cut])
    try:
        memory = RemoteMemory(latency_ps=10**6, bandwidth=10**9)
        simulate_traces(read_traces(tmp_path), RING, fidelity=Fidelity(model), accelerator=CHIP, remote_memory=memory)
    except HocketError as error:
        assert "\n" not in str(error)


def test_the_command_names_file_and_node(tmp_path: Path) -> None:
    write_traces(tmp_path, traces())
    command = [
        sys.executable,
        "-m",
        "hocket",
        "simulate",
        str(tmp_path),
        "--topology",
        "ring:2,bandwidth=1GB/s,latency=1us",
    ]
    refused = subprocess.run(command, capture_output=True, text=True)
    assert refused.returncode == 3
    assert (
        f"{tmp_path / 'trace.0.et'}: node 1 (fetch): a MEM_LOAD node without a duration needs a memory"
        in refused.stderr
    )
    options = ["--accelerator", "h100", "--remote-memory", "latency=2us,bandwidth=1GB/s", "--placement", "1,0"]
    done = subprocess.run([*command, *options], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "the job's ranks 0, 1, ... sit on 1, 0" in done.stdout


def test_sizes_beyond_any_network_are_refused() -> None:
    builder = TraceBuilder()
    builder.add_collective("c", CollectiveType.ALL_GATHER, 2**62)
    with pytest.raises(TraceError, match=r"node 0 \(c\): comm_size 4611686018427387904 is too large"):
        simulate_traces(TraceSet((builder.build(),) * 2), RING)
