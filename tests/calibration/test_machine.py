"""Calibrated topologies and disagreements: what measurements say about a machine."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from synthetic import SIZES, cluster, measured

from hocket.base.errors import FormatError, TopologyError
from hocket.calibration import (
    Measurement,
    Pieces,
    calibrate,
    calibrated_topology,
    disagreements,
    on_machines,
    read_measurements,
    read_parameters,
    save_parameters,
)
from hocket.calibration.machine import levels_of
from hocket.calibration.simulated import simulated_us
from hocket.calibration.structure import INTER, INTRA
from hocket.topology import load, save

TWO = "dgx-a100:nodes=2"
WRITTEN = """format: hocket.calibration
version: 1
curves:
- collective: all_reduce
  ranks: 8
  nodes: 1
  pipelining: 0.1773
  smallest: 8B
  largest: 8589934592B
  protocols:
  - {name: LL, latency: 17936845ps, bandwidth: 1021842745B/s, latency_within: 1.02, bandwidth_within: null}
  - {name: Simple, latency: 60us, bandwidth: 134GB/s}
levels: []
"""
ROWS = [*measured(cluster(1), 1), *measured(cluster(2), 2)]


def test_levels_of_a_topology() -> None:
    levels = levels_of(load(TWO))
    # GPU - NVSwitch - GPU; GPU - NIC - leaf - NIC - GPU: 2 x 350 and 2 x (600 + 150) ns (docs/topology.md)
    assert (levels[INTRA].latency_ps, levels[INTRA].bandwidth) == (700_000, 300 * 10**9)
    assert (levels[INTER].latency_ps, levels[INTER].bandwidth) == (1_500_000, 25 * 10**9)
    shared_nic = load("switch:4xswitch:2,bandwidth=100/10GB/s,latency=1us")
    assert levels_of(replace(shared_nic, machine=np.array([0] * 4 + [1] * 4)))[INTER].bandwidth == 10 * 10**9


def test_hosts_joined_by_nvlink_are_one_machine() -> None:
    rows = [replace(row, ranks=72, nodes=18) for row in ROWS[:3]]
    assert {(row.ranks, row.nodes) for row in on_machines(rows, load("gb200-nvl72"))} == {(72, 1)}
    two = [replace(row, ranks=144, nodes=36) for row in rows]
    assert {row.nodes for row in on_machines(two, load("gb200-nvl72:nodes=2"))} == {2}
    # What the topology has machines for, or cannot hold, stays as it was told.
    for text, others in ((TWO, ROWS), (TWO, rows), ("gb200-nvl72", two)):
        assert list(on_machines(others, load(text))) == others


def test_the_calibrated_topology_simulates_what_was_measured(tmp_path: Path) -> None:
    given = load(TWO)
    calibration = calibrate(ROWS, given)
    made = calibrated_topology(calibration, given, "all_reduce")
    save(made.topology, tmp_path / "calibrated.yaml")
    topology = load(str(tmp_path / "calibrated.yaml"))
    for fit in calibration.fits:
        ends = [SIZES[0], 2**30]
        told = simulated_us(fit.curve, topology, ends) / fit.pieces.time_us(ends)
        assert told[0] == pytest.approx(1, abs=0.02)
        # inside a machine it is met; between them only where no NIC is to be quicker than its data sheet
        assert told[1] == pytest.approx(1, abs=0.02) or any("1 GiB" in note for note in made.notes)
    assert any("calibrated by all_reduce" in note for note in topology.notes)
    assert any("lower bounds are of these, not of the physical links" in note for note in topology.notes)


def test_a_product_stays_a_product() -> None:
    given = load("switch:8,bandwidth=900GB/s,latency=350ns")
    made = calibrated_topology(calibrate(measured(cluster(1), 1), given), given, "all_reduce").topology
    assert made.dimensions[0].bandwidth == made.bandwidth[0] != given.bandwidth[0]
    # 8 ranks in a ring: 2 x 7/8 of the bytes at 400 GB/s, and 2 x 7 steps of 0.8 us of two links each; 10 % more time
    # at 1 GiB for latency and pipelining
    assert made.bandwidth[0] == pytest.approx(400e9, rel=0.1)
    assert made.latency_ps[0] == pytest.approx(400_000, rel=0.05)


def test_messages_alone_tell_a_level() -> None:
    line = Pieces(np.array([3.0]), np.array([1e-3 / 20]), 0.0)
    rows = [replace(each, ranks=2) for each in measured(line, 2, kind="message")]
    given = load(TWO)
    level = levels_of(calibrated_topology(calibrate(rows, given), given, "message").topology)
    assert level[INTER].latency_ps == pytest.approx(3_000_000, rel=0.01)
    assert level[INTER].bandwidth == pytest.approx(20e9, rel=0.01)
    assert level[INTRA].bandwidth == 300 * 10**9


def test_parameters_read_back(tmp_path: Path) -> None:
    calibration = calibrate(ROWS)
    path = tmp_path / "machine.protocols.yaml"
    save_parameters(calibration, path)
    read = read_parameters(path)
    for fit in calibration.fits:
        again = read[fit.curve.kind, fit.curve.ranks, fit.curve.nodes]
        assert again.time_us(SIZES) == pytest.approx(fit.pieces.time_us(SIZES), rel=1e-3)
    text = path.read_text()
    for old, new, expected in (
        ("version: 3", "version: 4", "expected format"),
        ("name: LL128", "name: LL64", "protocols LL, LL64"),
        ("latency: ", "latency: '3' # ", "time with a unit"),
        ("pipelining", "pipeline", "unknown key 'pipeline'"),
    ):
        path.write_text(text.replace(old, new, 1))
        with pytest.raises(FormatError, match=f"{path.name}:.*{expected}|{expected}"):
            read_parameters(path)


@given(st.data())
@settings(max_examples=60)
def test_mutated_parameters_are_read_or_refused(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    path = tmp_path_factory.getbasetemp() / "mutated.yaml"
    at = data.draw(st.integers(0, len(WRITTEN)))
    until = at + data.draw(st.sampled_from([0, 1, 9, 400]))
    put = data.draw(st.text(max_size=3) | st.sampled_from(["0", "-1", "1e99", "\n", ": ", "- "]))
    path.write_text(WRITTEN[:at] + put + WRITTEN[until:], encoding="utf-8")
    try:
        for pieces in read_parameters(path).values():
            assert (pieces.latency_us >= 0).all() and (pieces.bandwidth > 0).all()
    except FormatError as error:
        assert "mutated.yaml" in str(error)


def found(rows: list[Measurement], topology: str = TWO) -> str:
    machine = load(topology)
    return "\n".join(map(str, disagreements(calibrate(rows, machine), machine, rows)))


def test_a_healthy_machine_agrees() -> None:
    # 400 of 450 GB/s inside; between machines a ring would need 24 x 1.875 = 45 of 50 GB/s
    assert found(ROWS, "dgx-h100:nodes=2") == ""


def test_missing_nics_are_told() -> None:
    rows = [*measured(cluster(1), 1), *measured(cluster(2, slow=0.25), 2)]
    assert "NICs carried it" in found(rows)
    alone = Measurement("message", 2, 2, 1 << 20, round((1 << 20) / 6e9 * 1e12), False, "nic:9", stream=True)
    assert "nic:9: one NIC alone moves 6 GB/s" in found([*ROWS, alone])


def test_more_than_links_carry_is_told() -> None:
    text = found(measured(cluster(1), 1), "switch:8,bandwidth=50GB/s,latency=1us")
    # the ring's busbw comes to 400 GB/s; links carry 50
    assert "times what the topology's links can carry" in text and "nvls=1" in text


def test_a_degraded_run_of_more_nodes_is_told() -> None:
    rows = [*ROWS, *measured(cluster(4, slow=0.4), 4)]
    assert "all_reduce on 32 ranks of 4 nodes gets" in found(rows, "dgx-a100:nodes=4")


def test_bandwidth_that_falls_is_told() -> None:
    rows = [
        replace(each, time_ps=each.time_ps * 2) if each.size_bytes >= 2**30 else each
        for each in measured(cluster(1), 1)
    ]
    assert "after" in found(rows) and "congests" in found(rows)


def test_topologies_that_cannot_hold_the_run_are_refused() -> None:
    with pytest.raises(TopologyError, match=r"made:1: .*2 nodes, but dgx-a100.* has 1 x 8 ranks"):
        calibrate(ROWS, load("dgx-a100"))
    with pytest.raises(TopologyError, match="has 2 x 4 ranks"):
        calibrate(ROWS, load("dgx-a100:nodes=2,gpus=4"))


@pytest.mark.shared
def test_a_misconfigured_cluster_is_told(shared: Path) -> None:
    rows = read_measurements([shared / "nccl_tests" / "h100_16gpu_2node_ringforced_allreduce.csv"])
    text = found(list(rows), "dgx-h100:nodes=2")
    # 89.9 GB/s of busbw is 89.9 / 8 = 11.2 GB/s a NIC, of 50
    assert "as if 2 of 8 NICs carried it" in text and "allreduce.csv:8" in text
    healthy = read_measurements([shared / "nccl_tests" / "h100_16gpu_2node_ib_allreduce.csv"])
    assert "NICs carried it" not in found(list(healthy), "dgx-h100:nodes=2")
