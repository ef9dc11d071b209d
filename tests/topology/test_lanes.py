"""Trunks as parallel links."""

import numpy as np
import pytest

from hocket.topology import Lanes, Topology, load, rank_routes

GB = 10**9


def two_leaves(trunk: int, hosts: int = 4) -> Topology:
    """Two switches of `hosts` ranks each, whose ports have 10 GB/s, joined by links of `trunk` bytes/s."""
    n = 2 * hosts
    pairs = [(rank, n + rank // hosts, 10 * GB) for rank in range(n)] + [(n, n + 1, trunk)]
    links = [(a, b, 1000, width) for a, b, width in pairs] + [(b, a, 1000, width) for a, b, width in pairs]
    return Topology.from_links("two leaves", n, links, num_switches=2)


@pytest.mark.parametrize(("trunk", "lanes"), [(10, 1), (19, 1), (20, 2), (45, 4)])
def test_a_trunk_has_as_many_lanes_as_transfers_fit_on_it(trunk: int, lanes: int) -> None:
    found = Lanes.of(two_leaves(trunk * GB))
    if lanes == 1:
        assert found is None
        return
    assert found is not None
    assert np.diff(found.first)[8] == lanes
    assert (found.topology.bandwidth[found.link == 8] == trunk * GB // lanes).all()
    assert (found.topology.bandwidth >= 10 * GB).all()


def test_networks_of_direct_links_have_no_trunks_however_unequal() -> None:
    for spec in ("dragonfly:4x5,bandwidth=400/200GiB/s,latency=500ns", "dgx-1", "dgx-h100"):
        topology = load(spec)
        assert not topology.has_trunks
        assert Lanes.of(topology) is None


def test_sources_that_fit_share_no_lane() -> None:
    topology = two_leaves(40 * GB)
    lanes = Lanes.of(topology)
    assert lanes is not None
    routes = lanes.spread(rank_routes(topology.graph))
    assert (lanes.link[routes.links] == rank_routes(topology.graph).links).all()
    for trunk in (8, 17):
        users: dict[int, set[int]] = {}
        for begin, end in zip(routes.offset, routes.offset[1:], strict=False):
            way = routes.links[begin:end]
            for lane in way[lanes.link[way] == trunk]:
                users.setdefault(int(lane), set()).add(int(lanes.topology.src[way[0]]))
        assert len(users) == 4
        assert all(len(sources) == 1 for sources in users.values())


def test_computing_switches_end_transfers_but_not_routes() -> None:
    # A sum may cross the trunk at all of its bandwidth; what passes the switches is as slow as the ports and shares it.
    plain = two_leaves(40 * GB)
    computing = Topology.from_links(
        "computing",
        8,
        zip(plain.src.tolist(), plain.dst.tolist(), plain.latency_ps.tolist(), plain.bandwidth.tolist(), strict=True),
        num_switches=2,
        in_network=(8, 9),
    )
    assert Lanes.of(computing) is None
    assert computing.has_trunks
