"""The flow model and SimGrid, an independent simulator, say the same of messages on one path and on several."""

import pytest

from hocket.bench.flow_witness import EQUAL, compare, find_simgrid


def test_flows_on_every_routing_end_as_in_simgrid() -> None:
    if (python := find_simgrid()) is None:
        pytest.skip("no Python here has SimGrid's module: apt-get install python3-simgrid")
    results, *_ = compare(python, networks=40, seed=1)
    assert results.keys() == {"shortest", "parallel", "ecmp", "spray", "d_mod_k"}
    assert results["spray"].paths > 2
    assert results["spray"].uneven > 5 and results["parallel"].uneven > 5
    for routing, result in results.items():
        assert result.equal == result.networks == 40, routing
        assert result.worst < EQUAL
        assert result.messages > 300
