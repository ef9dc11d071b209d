"""The paper's fabrics, and its closed form of the load at which NICs are full, on one small enough for a test."""

import pytest

from hocket.bench.claims.acknowledged_rings import NS3_US, acknowledged_us
from hocket.bench.intra_inter_node import QUICK, NodeTraffic, Precision, saturation
from hocket.topology import load


@pytest.mark.parametrize(("nodes", "switches"), [(32, 12), (128, 24)])
def test_the_fabrics_have_as_many_switches_as_the_paper_says(nodes: int, switches: int) -> None:
    topology = load(NodeTraffic("C1", nodes=nodes).topology)
    assert topology.num_nodes - topology.num_ranks - 2 * nodes == switches


@pytest.mark.parametrize(
    ("gbits", "accelerators", "part", "percent"),
    [(512, 8, 0.05, 70), (128, 8, 0.2, 62.5), (128, 8, 0.1, 100), (256, 4, 0.15, 93.6), (512, 2, 0.2, 70)],
)
def test_the_load_at_which_nics_are_full(gbits: int, accelerators: int, part: float, percent: float) -> None:
    assert saturation(gbits, accelerators, part) == pytest.approx(percent / 100, abs=0.005)


@pytest.mark.parametrize(("part", "percent"), [(0.1, 10), (1.0, 17.5)])
def test_nics_that_convert_hold_back_what_stays_inside(part: float, percent: float) -> None:
    # Beyond 17.5 % all buffers of a node are full of what waits for its NIC.
    short = Precision(100, QUICK.buffer)
    found = NodeTraffic("C1").at_load(part, short).throughput
    assert found == pytest.approx(percent / 100, rel=0.05)
    if part > 0.4:
        assert NodeTraffic("C1", converts=False).at_load(part, short).throughput > 2 * found


@pytest.mark.parametrize("size", NS3_US)
def test_rings_that_wait_for_acknowledgements_take_what_ns3_says(size: int) -> None:
    switch, ring = NS3_US[size]
    assert acknowledged_us("switch", size) == pytest.approx(switch, rel=0.035)
    assert acknowledged_us("ring", size) == pytest.approx(ring, rel=0.01)
