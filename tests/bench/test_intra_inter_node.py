"""The paper's fabrics, and its closed form of the load at which NICs are full, on one small enough for a test."""

import pytest

from hocket.bench.intra_inter_node import PATTERNS, Fabric, measured, saturation


@pytest.mark.parametrize(("fabric", "switches"), [(Fabric(32, 8), 12), (Fabric(128, 16), 24), (Fabric(512, 32), 48)])
def test_the_fabrics_have_as_many_switches_as_the_paper_says(fabric: Fabric, switches: int) -> None:
    assert fabric.switches == switches


@pytest.mark.parametrize(("gbits", "pattern", "percent"), [(512, "C4", 70), (128, "C1", 62.5), (128, "C3", 100)])
def test_the_load_at_which_nics_are_full(gbits: int, pattern: str, percent: float) -> None:
    assert saturation(gbits, PATTERNS[pattern]) == pytest.approx(percent / 100, abs=0.005)


@pytest.mark.parametrize(("load", "percent"), [(0.1, 10), (0.5, 17.5)])
def test_nics_that_convert_hold_back_what_stays_inside(load: float, percent: float) -> None:
    # 8 nodes of 8; beyond 17.5 % all buffers of a node are full of what waits for its NIC.
    found = measured(Fabric(8, 4), 512, PATTERNS["C1"], load, True, 100_000_000)
    assert found == pytest.approx(percent / 100, rel=0.05)
    if load > 0.4:
        assert measured(Fabric(8, 4), 512, PATTERNS["C1"], load, False, 50_000_000) > 2 * found
