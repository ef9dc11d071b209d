"""What holds for every graph and every collective."""

import numpy as np
from homes import collectives, products
from hypothesis import given, settings
from hypothesis import strategies as st

from hocket.schedule import Collective, Kind, Schedule
from hocket.schedule.algorithms import build, build_all
from hocket.simulator import simulate_schedule
from hocket.topology import Topology

MODELS = ["analytical", "congestion"]
SWITCHING = ["cut_through", "store_and_forward"]


@st.composite
def topologies(draw: st.DrawFn) -> Topology:
    """Connected graphs of 2 to 6 ranks and up to 2 switches, which may compute, every link of its own speed and with
    some latency."""
    ranks, switches = draw(st.integers(2, 6)), draw(st.integers(0, 2))
    nodes = ranks + switches
    around = [(node, (node + 1) % nodes) for node in range(nodes)]
    extra = draw(st.lists(st.tuples(st.integers(0, nodes - 1), st.integers(0, nodes - 1)), max_size=8))
    pairs = around + [(b, a) for a, b in around] + [(a, b) for a, b in extra if a != b]
    links = [
        (a, b, draw(st.sampled_from([1, 500, 700_000])), draw(st.sampled_from([10**9, 3 * 10**9, 5 * 10**10])))
        for a, b in pairs
    ]
    in_network = [node for node in range(ranks, nodes) if draw(st.booleans())]
    return Topology.from_links("random", ranks, links, num_switches=switches, in_network=in_network)


@st.composite
def schedules(draw: st.DrawFn) -> Schedule:
    """A native algorithm for any collective it can do on a random topology or one with dimensions."""
    topology = draw(st.one_of(topologies(), st.sampled_from(products(draw(st.sampled_from([2, 4, 6]))))))
    kind = draw(st.sampled_from([kind for kind in Kind if kind is not Kind.CUSTOM]))
    collective = draw(collectives(kind, topology.num_ranks, most_bytes=10**6))
    return draw(st.sampled_from(list(build_all(collective, topology))))


@settings(deadline=None, max_examples=80)
@given(schedules(), st.sampled_from(SWITCHING))
def test_congestion_only_ever_costs(schedule: Schedule, switching: str) -> None:
    free = simulate_schedule(schedule, model="analytical", switching=switching)
    shared = simulate_schedule(schedule, model="congestion", switching=switching)
    assert (free.finish_ps <= shared.finish_ps).all()
    assert (free.link_busy_ps == shared.link_busy_ps).all()


@settings(deadline=None, max_examples=80)
@given(schedules(), st.sampled_from(SWITCHING))
def test_congestion_is_never_below_the_bound_and_keeps_every_byte(schedule: Schedule, switching: str) -> None:
    prediction = simulate_schedule(schedule, switching=switching, record_links=True)
    assert not prediction.below_bound
    assert prediction.bound_ps <= prediction.time_ps
    assert prediction.warnings == ()
    hops = np.diff(schedule.route_offset)[schedule.route]
    assert prediction.link_bytes.sum() == (schedule.collective.chunk_bytes[schedule.chunk] * hops).sum()
    assert prediction.link_messages.sum() == hops[schedule.collective.sent[schedule.chunk]].sum()
    assert (prediction.link_busy_ps <= prediction.time_ps).all()
    work = prediction.occupancy
    assert work is not None
    order = np.lexsort((work.start_ps, work.link))
    same_link = work.link[order][1:] == work.link[order][:-1]
    assert (work.start_ps[order][1:] >= work.finish_ps[order][:-1])[same_link].all(), "a link carried two at once"


@settings(deadline=None, max_examples=40)
@given(schedules(), st.sampled_from(MODELS), st.sampled_from(SWITCHING))
def test_simulation_is_deterministic(schedule: Schedule, model: str, switching: str) -> None:
    first = simulate_schedule(schedule, model=model, switching=switching).as_json()
    assert simulate_schedule(schedule, model=model, switching=switching).as_json() == first


@settings(deadline=None, max_examples=40)
@given(schedules())
def test_cutting_through_only_ever_saves_without_contention(schedule: Schedule) -> None:
    cut = simulate_schedule(schedule, model="analytical", switching="cut_through")
    stored = simulate_schedule(schedule, model="analytical", switching="store_and_forward")
    assert (cut.finish_ps <= stored.finish_ps).all()


def test_free_sharing_is_flagged() -> None:
    links = [(a, 4, 0, 10**9) for a in range(4)] + [(4, a, 0, 10**9) for a in range(4)]
    star = Topology.from_links("star", 4, links, num_switches=1)
    direct = build("direct", Collective(Kind.ALL_GATHER, 4, 4_000_000), star)
    # Three blocks of 1 MB over a 1 GB/s port take 3 ms; the analytical model sends them side by side.
    prediction = simulate_schedule(direct, model="analytical")
    assert prediction.time_ps == 10**9
    assert prediction.bound_ps == 3 * 10**9
    assert prediction.below_bound
    assert "NOT PHYSICAL" in prediction.warnings[0]
    assert prediction.as_json()["below_bound"] is True
