"""Networks that are no products, and machines whose GPUs are linked directly."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hocket.base.errors import HocketError
from hocket.base.splitmix import SplitMix
from hocket.schedule import Collective, Kind, lower_bound
from hocket.topology import Topology, load

COST = "bandwidth=50GB/s,latency=500ns"


def bound_us(topology: Topology, chunks: int) -> float:
    """Of all_gather of 1 GiB over links that a transfer holds for its latency too."""
    collective = Collective(Kind.ALL_GATHER, topology.num_ranks, 2**30, chunks)
    return lower_bound(collective, topology, blocking=True).time_ps / 10**6


def test_dragonfly_has_one_link_between_every_two_groups() -> None:
    topology = load("dragonfly:4x5,bandwidth=400/200GiB/s,latency=500/700ns")
    far = topology.link_class == topology.classes.index("global")
    groups = topology.src // 4, topology.dst // 4
    assert topology.num_links == 5 * 4 * 3 + 5 * 4
    assert sorted(zip(groups[0][far].tolist(), groups[1][far].tolist(), strict=True)) == [
        (a, b) for a in range(5) for b in range(5) if a != b
    ]
    assert (groups[0][~far] == groups[1][~far]).all()
    # palm tree: port 0 of group 0 (its rank 0) leads to group 1, whose port 5 - 2 - 0 = 3 (its rank 3) leads back
    assert {(0, 7), (7, 0)} <= set(zip(topology.src.tolist(), topology.dst.tolist(), strict=True))
    assert set(topology.bandwidth[far].tolist()) == {200 * 2**30} and set(topology.latency_ps[far].tolist()) == {700000}
    assert topology.machine.tolist() == np.repeat(range(5), 4).tolist()


def test_fat_tree() -> None:
    topology = load("fat_tree:8x4,spines=2,bandwidth=50/100GB/s,latency=1us")
    assert (topology.num_ranks, topology.num_nodes) == (32, 32 + 4 + 2)
    assert topology.num_links == 2 * (32 + 4 * 2)
    assert set(topology.dst[topology.src == 9].tolist()) == {32 + 1}  # rank 9 is on the second leaf
    assert set(topology.dst[topology.src == 33].tolist()) == {*range(8, 16), 36, 37}


def test_splitmix_is_that_of_the_paper() -> None:
    # the first outputs of seed 1234567, as in the reference implementations
    draw = SplitMix(1234567)
    assert [draw.next() for _ in range(3)] == [6457827717110365317, 3203168211198807973, 9817491932198370423]


@given(st.integers(3, 40), st.integers(2, 6), st.integers(0, 1000))
@settings(max_examples=50)
def test_random_links_both_ways(ranks: int, degree: int, seed: int) -> None:
    spec = f"random:{ranks},degree={degree},seed={seed},bandwidth=25/50/100GiB/s,latency=500ns"
    if degree >= ranks:
        with pytest.raises(HocketError, match=f"degree={degree}: {ranks} ranks have from 2 to"):
            load(spec)
        return
    topology = load(spec)  # which refuses what is not connected
    links = set(zip(topology.src.tolist(), topology.dst.tolist(), strict=True))
    assert len(links) == topology.num_links == 2 * (ranks * degree // 2)
    assert links == {(dst, src) for src, dst in links}
    assert set(topology.bandwidth.tolist()) <= {25 * 2**30, 50 * 2**30, 100 * 2**30}
    assert load(spec).fingerprint == topology.fingerprint


def test_random_is_the_same_on_every_machine() -> None:
    topology = load("random:6,degree=3,seed=1,bandwidth=25/50GiB/s,latency=500ns")
    pairs = sorted(zip(topology.src.tolist(), topology.dst.tolist(), strict=True))
    assert [pair for pair in pairs if pair[0] < pair[1]] == [
        (0, 1),
        (0, 2),
        (0, 5),
        (1, 3),
        (1, 4),
        (2, 3),
        (2, 4),
        (3, 5),
        (4, 5),
    ]
    assert load("random:6,degree=3,seed=2,bandwidth=25/50GiB/s,latency=500ns").fingerprint != topology.fingerprint


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (f"dragonfly:4,{COST}", f"topology 'dragonfly:4,{COST}': expected RANKSxGROUPS, such as dragonfly:4x5"),
        (f"dragonfly:0x9,{COST}", "with 2 ranks or more"),
        (f"dragonfly:9999x9999,{COST}", "links are more than the 4194304"),
        ("dragonfly:4x5,bandwidth=1/2/3GB/s,latency=1us", "bandwidth has 3 values: give one, or two"),
        ("dragonfly:4x5,bandwidth=1GB/s", "latency is missing"),
        (f"fat_tree:4x5,{COST},spines=0", "needs at least one spine"),
        (f"fat_tree:4x5,{COST},spine=2", "did you mean 'spines'?"),
        (f"random:4x4,{COST}", "expected random:RANKS"),
        (f"random:999999999,{COST}", "links are more than the 4194304"),
        (f"random:64,{COST},degree=x", "degree=x: expected a whole number"),
    ],
)
def test_refusals_say_what_to_write(spec: str, message: str) -> None:
    with pytest.raises(HocketError) as caught:
        load(spec)
    assert message in str(caught.value)
    assert spec in str(caught.value)


def test_dgx_1_has_the_published_bounds() -> None:
    topology = load("dgx-1:link=25GiB/s")
    assert topology.num_links == 8 * 4
    # two links of 50 and two of 25 GiB/s into each: 128 MiB take 2500.7 and 5000.7 us; the seventh chunk arrives third
    assert bound_us(topology, 1) == pytest.approx(3 * 2500.7)
    assert bound_us(topology, 2) == pytest.approx(5 * 1250.7)  # 5 + 5 + 2 + 2 of 14


def test_mi250_has_the_published_bound() -> None:
    topology = load("mi250:link=50GiB/s")
    out = np.bincount(topology.src, weights=topology.bandwidth) / 2**30
    assert out.tolist() == [350] * 16  # seven links
    # 14 ranks' 16 chunks of 4 MiB get into a package over four links of 78.125 us a chunk and one twice as fast, which
    # all rest for 0.7 us after a chunk: 38 over each of the four and 75 over the other are 227, enough for 224; before
    # the 38th is over they are 4 * 37 + 75 = 223
    assert 38 * (78.125 + 0.7) // (78.125 / 2 + 0.7) == 75
    assert bound_us(topology, 16) == pytest.approx(38 * (78.125 + 0.7))
