"""D-mod-K over parallel cables and on rails: balanced for shifts, as it was published, and where it cannot be."""

import numpy as np
import pytest

import hocket
from hocket.base.errors import ExitCode
from hocket.topology import Topology, load, routing_of
from hocket.topology.routing_tables import RoutingTables, routing_tables

LINKS = "bandwidth=50GB/s,latency=500ns"
#: As many links up as down at every switch, of several cables in the middle, at the top, and both.
TRUNKED = ["pgft:4x4x1x2x1x2", "pgft:4x8x1x1x1x4", "pgft:4x4x4x1x2x4x1x2x2", "pgft:4x4x4x1x2x8x1x2x1"]


def tables_of(spec: str) -> tuple[Topology, RoutingTables]:
    topology = load(spec)
    return topology, routing_tables(topology, routing_of(topology, "d_mod_k"))


@pytest.mark.parametrize("spec", TRUNKED)
def test_every_shift_has_links_of_its_own_over_parallel_cables(spec: str) -> None:
    topology, tables = tables_of(f"{spec},{LINKS}")
    assert tables.arrived == tables.pairs
    assert np.allclose(tables.shifts * 50e9, 1)
    for link_class in range(1, len(topology.classes)):
        assert np.ptp(tables.all_to_all[topology.link_class == link_class]) < 1e-12


@pytest.mark.parametrize(("spec", "flows"), [("pgft:4x8x1x2x1x1", 2), ("pgft:8x4x1x2x1x2", 2), ("pgft:8x4x1x1x1x2", 4)])
def test_oversubscribed_cables_carry_as_many_flows_each(spec: str, flows: int) -> None:
    topology, tables = tables_of(f"{spec},{LINKS}")
    assert tables.shifts.max() * 50e9 == pytest.approx(flows)
    assert np.ptp(tables.all_to_all[topology.link_class == 1]) < 1e-12


def test_a_cable_down_is_the_one_that_goes_up_to_the_same_rank() -> None:
    """By hand: 4 leaves of 4 ranks below one spine, by 4 cables each: rank d comes down cable d mod 4."""
    topology = load(f"pgft:4x4x1x1x1x4,{LINKS}")
    pairs = np.array([(src, dst) for src in range(4) for dst in range(4, 16)], np.int32)
    paths = routing_of(topology, "d_mod_k").paths(topology, pairs)
    up, down = paths.links.reshape(-1, 4)[:, 1:3].T
    cables = {link: at // 2 % 4 for at, link in enumerate(np.flatnonzero(topology.link_class == 1).tolist())}
    assert (
        [cables[link] for link in up.tolist()]
        == [cables[link] for link in down.tolist()]
        == [int(dst) % 4 for dst in pairs[:, 1]]
    )


@pytest.mark.parametrize(
    "spec",
    [
        "dgx-h100:nodes=8,fabric=rail,leaf=4,spines=4",
        "dgx-h100:nodes=4,gpus=4,fabric=rail,leaf=2,spines=2",
        "node:accelerators=4,nics=4,link=512Gbit/s,nodes=8,fabric=rail,leaf=4,spines=4",
    ],
)
def test_every_shift_has_links_of_its_own_on_rails(spec: str) -> None:
    topology, tables = tables_of(spec)
    sprayed = routing_tables(topology, routing_of(topology, "spray"))
    assert tables.arrived == tables.pairs
    # No link of 50 GB/s has more than one flow; what is sprayed may do better than one flow a link, alone.
    assert (tables.shifts <= np.maximum(sprayed.shifts, 1 / 50e9) * (1 + 1e-9)).all()
    assert hocket.topology_routes(spec, routing="d_mod_k", balanced=True).exit_code == ExitCode.DONE


def test_leaves_with_more_ways_down_than_ranks_cannot_be_balanced() -> None:
    """A leaf of a rail has two ranks and four links from above, of which single ways down to them take two."""
    spec = "dgx-h100:nodes=4,fabric=rail,leaf=2,spines=4"
    found = hocket.topology_routes(spec, routing="d_mod_k", balanced=True)
    assert found.exit_code == ExitCode.CHECK_FAILED
    (said,) = [line for line in found.warnings if "cannot" in line]
    assert said == (
        "failed: d_mod_k cannot balance the 4 links down to switch 68: a rank has one way down, and 2 are behind it;"
        " take spray"
    )
