"""The ladder of network models, and the two regimes of the first paper by packets and ns-3."""

import pytest

from hocket.base.workers import Workers
from hocket.bench.claims.packet_regimes import regimes
from hocket.bench.fidelity_ladder import LEVELS, ladder, topologies
from hocket.simulator.ns3 import HOW_TO_GET, found

needs_ns3 = pytest.mark.skipif(found() is None, reason=f"ns-3 is not installed: {HOW_TO_GET}")
OWN = {name: fidelity for name, fidelity in LEVELS.items() if name != "ns3"}


@pytest.mark.parametrize("topology", topologies(32), ids=lambda each: each.name.partition(",")[0])
def test_levels_agree_where_nothing_is_shared_and_part_where_it_is(topology: object) -> None:
    alone = ladder(topology, "ring", 2**16, {name: each for name, each in OWN.items() if "stored" not in name})  # type: ignore[arg-type]
    for level in alone.times:
        assert alone.over(level, "packet") == pytest.approx(1, rel=0.01), level
    shared = ladder(topology, "direct", 2**20, OWN)  # type: ignore[arg-type]
    over = shared.over("uncontended", "packet")
    assert over is not None and over < 0.5
    assert shared.over("flow", "packet") == pytest.approx(1, rel=0.1)
    assert all(
        each.below_bound == (level == "uncontended") or each.time_ps >= shared.bound_ps
        for level, each in shared.times.items()
    )


@needs_ns3
def test_ns3_stands_where_packets_stand() -> None:
    levels = {name: LEVELS[name] for name in ("packet", "packet, stored", "ns3")}
    for topology in topologies(32)[2:]:
        row = ladder(topology, "direct", 2**20, levels)
        assert row.over("packet, stored", "ns3") == pytest.approx(1, rel=0.005)


def test_what_a_level_cannot_do_is_left_out() -> None:
    row = ladder(topologies(32)[2], "ring", 2**36, {name: LEVELS[name] for name in ("flow", "ns3")})
    assert set(row.times) == {"flow"}
    assert row.over("ns3", "flow") is None


def test_what_takes_too_long_is_late_and_the_rest_goes_on() -> None:
    levels = {name: LEVELS[name] for name in ("uncontended", "packet", "analytical")}
    ring = topologies(32)[0]
    with Workers(1, limit_s=0.5) as workers:
        row = ladder(ring, "direct", 2**30, levels, workers)
    assert row.late == {"packet"}
    assert set(row.times) == {"uncontended", "analytical"}
    here = ladder(ring, "direct", 2**30, {"analytical": LEVELS["analytical"]})
    assert row.times["analytical"].time_ps == here.times["analytical"].time_ps
    assert row.bound_ps == here.bound_ps


def test_both_regimes_of_the_first_paper() -> None:
    witnessed = found() is not None
    figures = regimes(witnessed=witnessed)
    for name in ("packets", "ns-3")[: 1 + witnessed]:
        assert figures[f"slope of the floor, {name}"] < 0.1
        assert figures[f"slope of the ramp, {name}"] > 0.9
        assert figures[f"floor / (steps x latency), {name}"] == pytest.approx(2, rel=0.03)  # two links per step
