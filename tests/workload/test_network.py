"""`hocket generate network`: times worked out by hand, bytes and parameters of the published networks."""

import json
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from in_process import hocket

from hocket.chakra import CollectiveType, NodeType, read_traces
from hocket.chakra.validate import validate
from hocket.workload.architecture import to_network
from hocket.workload.network import Scope
from hocket.workload.plan import HybridPlan
from hocket.workload.presets import PRESETS
from hocket.workload.training import left_out

# Of two ranks over 50 GB/s and 500 ns: an all_reduce of 1 MB is two messages of 500 kB, 2 * (10 + 0.5) us = 21 us; one
# of 100 kB 2 * (1 + 0.5) = 3 us; an all_gather of 500 kB or an all_to_all of 1 MB is one such message, 10.5 us.
PAIR = "fully_connected:2,bandwidth=50GB/s,latency=500ns"

DATA = """\
name,forward.time,input_gradient.time,weight_gradient.time,weight_gradient.comm,weight_gradient.bytes,update.time
a,10us,,12us,all_reduce,100000,2us
b,20us,15us,30us,all_reduce,1MB,4us
"""
MODEL = """\
layers:
- name: a
  forward: {time: 10us, comm: all_gather, bytes: 500000}
  weight_gradient: {time: 12us}
- name: b
  forward: {time: 20us}
  input_gradient: {time: 15us, comm: all_reduce, bytes: 1MB}
  weight_gradient: {time: 30us}
"""
EXCHANGE = """\
layers:
- name: tables
  forward: {time: 5us, comm: all_to_all, bytes: 1MB, group: all}
  input_gradient: {comm: all_to_all, bytes: 1MB, group: all}
  weight_gradient: {time: 6us}
  needed_by: top
- {name: bottom, forward: {time: 3us}, weight_gradient: {time: 3us}}
- {name: top, forward: {time: 10us}, input_gradient: {time: 4us}, weight_gradient: {time: 10us}}
"""


def simulated_us(tmp_path: Path, table: str, name: str, *options: object) -> float:
    """The time of the table's job on two ranks, by the commands."""
    (tmp_path / name).write_text(table)
    done = hocket("generate", "network", tmp_path / name, "--ranks", 2, "-o", tmp_path / "traces", *options)
    assert done.returncode == 0, done.stderr
    assert hocket("trace", "validate", tmp_path / "traces", "--profile", "astra-sim").returncode == 0
    out = tmp_path / "out.json"
    assert hocket("simulate", tmp_path / "traces", "--topology", PAIR, "--json", out).returncode == 0
    return float(json.loads(out.read_text())["time_ps"]) / 10**6


def test_data_parallel_gradients_overlap_back_propagation(tmp_path: Path) -> None:
    # Forward a 0-10, b 10-30. Weight gradient b 30-60, its all_reduce 60-81; input gradient b 60-75; weight gradient a
    # 75-87, its all_reduce 87-90. Update of b 87-91 (the rank was busy at 81), of a 91-93. The next step starts at 93.
    assert simulated_us(tmp_path, DATA, "net.csv") == 93
    assert simulated_us(tmp_path, DATA, "net.csv", "--steps", 2) == 186


def test_model_parallel_activations_are_awaited(tmp_path: Path) -> None:
    # Forward a 0-10, all_gather 10-20.5, forward b 20.5-40.5, input gradient b 40.5-55.5, its all_reduce 55.5-76.5
    # beside weight gradient b 55.5-85.5, weight gradient a 85.5-97.5.
    assert simulated_us(tmp_path, MODEL, "net.yaml", "--parallel", "model") == 97.5


def test_exchange_of_tables_overlaps_the_bottom_layers(tmp_path: Path) -> None:
    # Tables 0-5, all_to_all 5-15.5 beside bottom 5-8, top 15.5-25.5; weight gradient top 25.5-35.5, its input gradient
    # 35.5-39.5, all_to_all 39.5-50 beside weight gradient bottom 39.5-42.5, weight gradient of the tables 50-56.
    assert simulated_us(tmp_path, EXCHANGE, "net.yml") == 56


def test_groups_of_one_rank_are_left_out_and_said_so(tmp_path: Path) -> None:
    (tmp_path / "net.yaml").write_text(MODEL)
    done = hocket("generate", "network", tmp_path / "net.yaml", "--ranks", 2, "-o", tmp_path / "traces")
    assert "note: 2 collectives per step are left out" in done.stdout
    assert all((trace.type == NodeType.COMP).all() for trace in read_traces(tmp_path / "traces").traces)


@pytest.mark.parametrize(
    ("name", "published", "tolerance"),
    [
        ("resnet50", 25_557_032, 0),  # torchvision's and MLPerf's count; the paper's 25.6 million
        ("gnmt", 278e6, 0.02),  # Shazeer et al. 2017, arXiv:1701.06538, on the same network
        ("transformer", 213e6, 0.01),  # Vaswani et al. 2017, table 3
        ("turing-nlg", 17.2e9, 0.002),  # 17.17 billion are called 17
        ("dlrm", 24.04e9, 0.001),  # 187.8 million rows of 128, 96 GB in 4-byte numbers
    ],
)
def test_parameters_are_those_published(name: str, published: float, tolerance: float) -> None:
    assert PRESETS[name]().parameters == pytest.approx(published, rel=tolerance)


def test_operations_are_those_published() -> None:
    assert PRESETS["resnet50"]().flops == pytest.approx(2 * 4.09e9, rel=0.001)  # 4.09 G multiply-adds of v1.5
    # Narayanan et al. 2021, arXiv:2104.04473, eq. 2 without recomputation: a forward pass is
    # 24 B s l h^2 (1 + s/6h + V/12lh) operations.
    layers, hidden, tokens, words = 78, 4256, 1024, 50257
    forward = 24 * tokens * layers * hidden**2 * (1 + tokens / (6 * hidden) + words / (12 * layers * hidden))
    assert PRESETS["turing-nlg"]().flops == pytest.approx(forward, rel=1e-9)


def test_data_parallel_resnet_reduces_four_bytes_a_parameter(tmp_path: Path) -> None:
    done = hocket("generate", "network", "resnet50", "--ranks", 4, "--steps", 2, "-o", tmp_path)
    assert done.returncode == 0, done.stderr
    for trace in read_traces(tmp_path).traces:
        collectives = trace.type == NodeType.COMM_COLL
        assert collectives.sum() == 2 * 54
        assert trace.comm_bytes[collectives].sum() == 2 * 4 * 25_557_032
        # Forward, weight gradient and, but for the first layer, input gradient cost the same: 3 * 64 images.
        first = 2 * 64 * 3 * 64 * 49 * 112**2
        assert trace.num_ops[trace.num_ops >= 0].sum() == 2 * (3 * 64 * PRESETS["resnet50"]().flops - first)


def test_hybrid_turing_nlg_communicates_as_megatron() -> None:
    network = to_network(PRESETS["turing-nlg"](), HybridPlan(16, 4), batch=1)
    sums = network.communication()
    # A layer all_reduces its 1024 x 4256 activations of 2 bytes twice forward and twice backward; so do the embedding
    # (forward) and the output head (backward).
    assert sums["all_reduce", Scope.MODEL] == (4 * 78 + 2, (4 * 78 + 2) * 1024 * 4256 * 2)
    # A quarter of every block's parameters, 4 bytes each; blocks whose parameters 4 does not divide are rounded up.
    count, num_bytes = sums["all_reduce", Scope.DATA]
    assert count == 157
    assert 0 <= num_bytes - PRESETS["turing-nlg"]().parameters < 4 * 157


def test_dlrm_exchanges_its_tables_rows() -> None:
    sums = to_network(PRESETS["dlrm"](), HybridPlan(8), batch=2048).communication()
    # 26 vectors of 128 numbers of 2 bytes per sample, forward and backward.
    assert sums["all_to_all", Scope.ALL] == (2, 2 * 2048 * 26 * 128 * 2)
    widths = [13, 512, 256, 128], [479, 1024, 1024, 512, 256, 1]
    layers = [(a + 1) * b for mlp in widths for a, b in pairwise(mlp)]
    assert sums["all_reduce", Scope.DATA] == (8, 4 * sum(layers))


def test_hybrid_ranks_have_their_groups(tmp_path: Path) -> None:
    for parallel, model, data in (
        ("hybrid:2", {(0, 1), (2, 3), (4, 5)}, {(0, 2, 4), (1, 3, 5)}),
        ("hybrid:2:spread", {(0, 3), (1, 4), (2, 5)}, {(0, 1, 2), (3, 4, 5)}),
    ):
        options = ["--ranks", 6, "--parallel", parallel, "-o", tmp_path / parallel]
        assert hocket("generate", "network", "resnet50", *options).returncode == 0
        traces = read_traces(tmp_path / parallel)
        assert not validate(traces)
        gathering = set()
        for trace in traces.traces:
            names = trace.process_group[trace.comm_type == CollectiveType.ALL_GATHER]
            gathering |= {traces.members(trace.strings[name]) for name in np.unique(names)}
        assert gathering == model
        assert set(traces.groups.values()) == model | data


@given(
    st.sampled_from(sorted(PRESETS)),
    st.sampled_from(
        [HybridPlan(4), HybridPlan(4, 2), HybridPlan(4, 4), HybridPlan(8, 4, spread=True), HybridPlan(2, 2)]
    ),
    st.integers(1, 64),
)
def test_networks_shrink_with_the_ranks_that_share_them(name: str, plan: HybridPlan, batch: int) -> None:
    if name == "dlrm" and plan.model_size > 1:
        return
    alone = to_network(PRESETS[name](), HybridPlan(plan.num_ranks), batch)
    shared = to_network(PRESETS[name](), plan, batch)
    assert left_out(shared, plan) == 0
    for before, after in zip(alone.passes(), shared.passes(), strict=True):
        # Shares are rounded up, so all ranks together do no less, and less than one operation a rank more.
        assert 0 <= after.num_ops * plan.model_size - before.num_ops < plan.model_size
        assert after.memory_bytes <= before.memory_bytes
