"""Spec strings and presets: what they build, and what they refuse."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hocket.base.errors import HocketError
from hocket.topology import Topology, load

COST = "bandwidth=50GB/s,latency=500ns"


def pairs(topology: Topology) -> set[tuple[int, int]]:
    return set(zip(topology.src.tolist(), topology.dst.tolist(), strict=True))


def test_ring_links_both_neighbours() -> None:
    topology = load(f"ring:4,{COST}")
    assert pairs(topology) == {(0, 1), (1, 0), (1, 2), (2, 1), (2, 3), (3, 2), (3, 0), (0, 3)}
    assert set(topology.bandwidth.tolist()) == {50 * 10**9}
    assert set(topology.latency_ps.tolist()) == {500 * 10**3}


def test_dimension_zero_varies_fastest() -> None:
    # 3x2: rank = c0 + 3*c1, so 0-1-2 is a line of dimension 0 and 0-3 one of dimension 1
    topology = load("mesh:3x2,bandwidth=50GB/s+25GiB/s,latency=500ns")
    bandwidth = {
        (s, d): b
        for s, d, b in zip(topology.src.tolist(), topology.dst.tolist(), topology.bandwidth.tolist(), strict=True)
    }
    assert bandwidth[0, 1] == bandwidth[2, 1] == 50 * 10**9
    assert bandwidth[0, 3] == bandwidth[5, 2] == 25 * 2**30
    assert (0, 2) not in bandwidth and (2, 3) not in bandwidth
    assert topology.num_links == 2 * (2 * 2 + 3 * 1)  # both directions of 2 lines of 2 hops and 3 lines of 1


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ("bandwidth=200GiB/s/100GiB/s/50GiB/s,latency=500ns/700ns/1us", ([200, 100, 50], [500, 700, 1000])),
        ("bandwidth=200/100/50GiB/s,latency=500/700/1000ns", ([200, 100, 50], [500, 700, 1000])),
        ("bandwidth=200GiB/s+100GiB/s+50GiB/s,latency=.5us", ([200, 100, 50], [500] * 3)),
        ("bandwidth=200GiB/s / 100GiB/s / 50GiB/s,latency=.5/.7/1us", ([200, 100, 50], [500, 700, 1000])),
        ("bandwidth=50GiBps/2.5e1GiB/s/5e1GiB/s,latency=500ns", ([50, 25, 50], [500] * 3)),
    ],
)
def test_values_by_dimension(values: str, expected: tuple[list[int], list[int]]) -> None:
    dimensions = load(f"ring:2xfully_connected:4xswitch:2,{values}").dimensions
    assert [dimension.bandwidth for dimension in dimensions] == [value * 2**30 for value in expected[0]]
    assert [dimension.latency_ps for dimension in dimensions] == [value * 1000 for value in expected[1]]


def test_an_unwound_switch_splits_its_ports() -> None:
    topology = load("unwound_switch:8x4,degree=2/3,bandwidth=300/25GiB/s,latency=500ns")
    first = topology.link_class == 0
    assert topology.num_links == 32 * (2 + 3)
    # rank 7 is at 7 of the first dimension: its ports are turned to 0 and 1
    assert pairs(topology) >= {(7, 0), (7, 1), (7, 15), (7, 23), (7, 31)}
    assert set(topology.bandwidth[first].tolist()) == {150 * 2**30}
    assert set(topology.bandwidth[~first].tolist()) == {25 * 2**30 // 3}
    assert [dimension.shifts for dimension in topology.dimensions] == [(1, 2), (1, 2, 3)]


@given(
    st.lists(
        st.sampled_from(["ring:2", "ring:5", "mesh:2", "mesh:4", "fully_connected:4", "unwound_switch:5", "switch:3"]),
        min_size=1,
        max_size=3,
    )
)
def test_shifts_are_the_links_of_every_rank(shapes: list[str]) -> None:
    topology = load(f"{'x'.join(shapes)},{COST}")
    stride = 1
    for number, dimension in enumerate(topology.dimensions):
        of_dimension = topology.link_class == number
        links = set(zip(topology.src[of_dimension].tolist(), topology.dst[of_dimension].tolist(), strict=True))
        shifted = set()
        for rank in range(topology.num_ranks):
            at = rank // stride % dimension.size
            shifted |= {(rank, rank + ((at + s) % dimension.size - at) * stride) for s in dimension.shifts}
        assert shifted == (links if dimension.shifts else set())
        assert bool(dimension.shifts) != (dimension.kind == "switch" or (dimension.kind, dimension.size) == ("mesh", 4))
        stride *= dimension.size


@pytest.mark.parametrize(
    ("shape", "ranks", "switches", "links"),
    [
        ("ring:2", 2, 0, 2),  # one neighbour, not two
        ("torus:4x4", 16, 0, 16 * 4),
        ("torus:2x4", 8, 0, 8 * 3),
        ("hypercube:3", 8, 0, 8 * 3),
        ("fully_connected:5", 5, 0, 5 * 4),
        ("unwound_switch:4x2", 8, 0, 8 * (1 + 1)),
        ("unwound_switch:4,degree=3", 4, 0, 4 * 3),
        ("switch:4x2", 8, 2 + 4, 8 * 2 * 2),  # a switch for each line of both dimensions
        ("ring:2xfully_connected:4xswitch:2", 16, 8, 16 * (1 + 3 + 2)),
    ],
)
def test_counts(shape: str, ranks: int, switches: int, links: int) -> None:
    word, _, options = shape.partition(",")
    topology = load(f"{word},{COST},{options}".rstrip(","))
    assert (topology.num_ranks, topology.num_nodes, topology.num_links) == (ranks, ranks + switches, links)


def test_switches_that_compute() -> None:
    topology = load(f"switch:4x2,{COST},in_network=0+1")
    assert topology.in_network == (8 + 2, 8 + 3, 8 + 4, 8 + 5)  # after those of the two lines of dimension 0
    assert topology.fingerprint != load(f"switch:4x2,{COST}").fingerprint
    # NVSwitches 8 and 9, NICs 10 to 17, leaves 18 to 21, spine 22
    assert load("dgx-h100:nodes=2,gpus=4,nvls=1").in_network == (8, 9)
    assert load("dgx-h100:nodes=2,gpus=4,sharp=1").in_network == (18, 19, 20, 21, 22)
    assert load("dgx-h100:nvls=1").in_network == (8,)


@pytest.mark.parametrize(
    ("spec", "error"),
    [
        (f"ring:4,{COST},in_network=1", "in_network is for dimensions of kind switch; a ring has no switches"),
        (f"switch:4,{COST},in_network=yes", "in_network=yes: expected 1 where switches compute in the network, 0"),
        ("dgx-a100:nvls=1", "it has no NVSwitches that can reduce; nvls=1 is for dgx-h100"),
        ("dgx-h100:sharp=1", "sharp=1 needs a fabric: two nodes or more"),
        ("dgx-h100:nvls=2", "nvls=2: expected 1 where switches compute"),
    ],
)
def test_refuses_switches_that_cannot_compute(spec: str, error: str) -> None:
    with pytest.raises(HocketError, match=error):
        load(spec)


def test_one_machine_has_no_fabric() -> None:
    topology = load("dgx-h100")
    assert (topology.num_ranks, topology.num_nodes, topology.num_links) == (8, 9, 16)
    assert set(topology.bandwidth.tolist()) == {450 * 10**9}


def test_machines_on_rails() -> None:
    topology = load("dgx-a100:nodes=3,gpus=4")
    # 12 GPUs, 3 NVSwitches, 12 NICs, 4 leaves, 1 spine; NVLink + PCIe + NIC cable a GPU and an uplink a rail
    assert topology.num_nodes == 12 + 3 + 12 + 4 + 1
    assert topology.num_links == 2 * (12 * 3 + 4)
    assert topology.machine.tolist() == [0] * 4 + [1] * 4 + [2] * 4
    assert np.bincount(topology.bandwidth // 10**8)[[3000, 288, 250, 750]].tolist() == [24, 24, 24, 8]


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("mesh:4x4,latency=500ns", "bandwidth is missing: add bandwidth=50GB/s"),
        ("mesh:4x4,bandwidth=50GB/s", "latency is missing: add latency=500ns"),
        ("mesh:4x4", "or bandwidth=400Gbit/s; latency is missing: add latency=500ns"),
        ("mesh:4x4,bandwidth=50,latency=500ns", "a bandwidth with a unit"),
        ("mesh:4x4,bandwidth=0GB/s,latency=500ns", "must be positive"),
        ("mesh:4x4,bandwith=50GB/s,latency=500ns", "unknown key 'bandwith'; did you mean 'bandwidth'?"),
        ("dgx-1:link=25", "a bandwidth with a unit"),
        (f"mesh:4x4,{COST},latency=1ns", "key 'latency' is given twice"),
        ("mesh:4x4,bandwidth=50GB/s+2GB/s+1GB/s,latency=500ns", "3 values for 2 dimensions"),
        ("mesh:4x4,bandwidth=50/25,latency=500ns", "'50' is not a bandwidth with a unit"),
        ("mesh:4x4,bandwidth=50//25GB/s,latency=500ns", "'50/' is not a bandwidth with a unit"),
        ("mesh:4x4x4,bandwidth=50/25GiB/s/5GB/s,latency=500ns", "'50' is not a bandwidth with a unit"),
        (f"mesh:4x4,{COST},degree=2", "degree is for unwound_switch, and there is none"),
        (f"unwound_switch:4,{COST},degree=4", "a switch of 4 ranks is unwound to a degree from 1 to 3, got degree=4"),
        (
            f"unwound_switch:4x8x4,{COST},degree=1/2",
            "degree has 2 values for 3 unwound switches: give one",
        ),
        (f"mesh:1,{COST}", "at least 2 ranks"),
        (f"mesh,{COST}", "not a shape such as"),
        (f"mash:4x4,{COST}", "did you mean 'mesh'?"),
        (f"ring:4xmash:4,{COST}", "there is no shape 'mash'"),
        (f"hypercube:2x2,{COST}", "takes one number"),
        (f"mesh:99999x99999,{COST}", "more than"),
        ("dgx-h100:nodes=two", "whole number"),
        ("dgx-h100:node=2", "did you mean 'nodes'?"),
        ("dgx-h100:gpus=9", "gpus from 1 to 8"),
        ("cluster.yaml", "no file and no topology 'cluster.yaml'"),
    ],
)
def test_refusals_say_what_to_write(spec: str, message: str) -> None:
    with pytest.raises(HocketError) as caught:
        load(spec)
    assert message in str(caught.value)
    assert spec in str(caught.value)


@given(st.text(alphabet="dgx-h10:nodesmring=switchtofu_ly,42+GB/s.ex", max_size=40))
def test_any_text_is_a_topology_or_an_error(text: str) -> None:
    try:
        assert load(text).num_ranks >= 2
    except HocketError as error:
        assert text.strip() in str(error)
