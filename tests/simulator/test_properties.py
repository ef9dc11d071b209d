"""What holds for every graph and every collective."""

from dataclasses import replace

import numpy as np
from homes import collectives, products
from hypothesis import given, settings
from hypothesis import strategies as st

from hocket.schedule import Collective, Kind, Schedule
from hocket.schedule.algorithms import build, build_all
from hocket.simulator import Fidelity, simulate_collective, simulate_schedule
from hocket.simulator.analysis import prediction_json
from hocket.topology import Topology, load

MODELS = ["uncontended", "analytical", "congestion", "flow"]
SWITCHING = ["cut_through", "store_and_forward"]
QUEUEING = ["fifo", "lifo", "priority", "smallest_remaining"]
# Every way to share links; `uncontended` shares them for free.
SHARING = [("flow", "fifo"), ("analytical", "fifo"), *(("congestion", queueing) for queueing in QUEUEING)]


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


@settings(max_examples=80)
@given(schedules(), st.sampled_from(SWITCHING))
def test_congestion_only_ever_costs(schedule: Schedule, switching: str) -> None:
    free = simulate_schedule(schedule, fidelity=Fidelity("uncontended", switching=switching))
    shared = simulate_schedule(schedule, fidelity=Fidelity("congestion", switching=switching))
    assert (free.finish_ps <= shared.finish_ps).all()
    assert (free.link_busy_ps == shared.link_busy_ps).all()


@settings(max_examples=80)
@given(schedules(), st.sampled_from(SHARING), st.sampled_from(SWITCHING))
def test_shared_links_are_never_below_the_bound_and_keep_every_byte(
    schedule: Schedule, sharing: tuple[str, str], switching: str
) -> None:
    model, queueing = sharing
    prediction = simulate_schedule(
        schedule, fidelity=Fidelity(model, switching=switching, queueing=queueing, record_links=model == "congestion")
    )
    assert not prediction.below_bound
    assert prediction.bound_ps <= prediction.time_ps
    assert prediction.warnings == ()
    hops = np.diff(schedule.route_offset)[schedule.route]
    chunk_bytes = schedule.collective.chunk_bytes[schedule.chunk]
    carried = np.zeros(schedule.topology.num_links, np.int64)
    for transfer, route in enumerate(schedule.route.tolist()):
        first, last = schedule.route_offset[route], schedule.route_offset[route + 1]
        carried[schedule.route_links[first:last]] += chunk_bytes[transfer] * (hops[transfer] > 0)
    assert (prediction.link_bytes == carried).all()
    # A link that works on n messages rounds up n times.
    assert (prediction.link_busy_ps - prediction.link_messages <= prediction.time_ps).all()
    work = prediction.occupancy
    if work is None:
        return
    order = np.lexsort((work.start_ps, work.link))
    same_link = work.link[order][1:] == work.link[order][:-1]
    assert (work.start_ps[order][1:] >= work.finish_ps[order][:-1])[same_link].all(), "a link carried two at once"


@settings(max_examples=40)
@given(st.data(), schedules(), st.sampled_from([("uncontended", "fifo"), *SHARING]), st.sampled_from(SWITCHING))
def test_names_of_ranks_do_not_matter(
    data: st.DataObject, schedule: Schedule, sharing: tuple[str, str], switching: str
) -> None:
    topology = schedule.topology
    new = np.array(
        [*data.draw(st.permutations(range(topology.num_ranks))), *range(topology.num_ranks, topology.num_nodes)]
    )
    renamed = replace(topology, src=new[topology.src].astype(np.int32), dst=new[topology.dst].astype(np.int32))
    same = replace(schedule, topology=renamed, group=new[schedule.ranks].astype(np.int32))
    model, queueing = sharing
    first = simulate_schedule(schedule, fidelity=Fidelity(model, switching=switching, queueing=queueing))
    second = simulate_schedule(same, fidelity=Fidelity(model, switching=switching, queueing=queueing))
    assert (second.finish_ps[new[: topology.num_ranks]] == first.finish_ps).all()
    assert (second.link_busy_ps == first.link_busy_ps).all()


@settings(max_examples=40)
@given(topologies(), st.integers(1, 10**7), st.data())
def test_all_models_agree_on_a_message_alone(topology: Topology, size: int, data: st.DataObject) -> None:
    root = data.draw(st.integers(0, topology.num_ranks - 1))
    # Two of the ranks: one message.
    group = np.array([root, (root + 1) % topology.num_ranks], np.int32)
    schedule = build("direct", Collective(Kind.BROADCAST, 2, size), topology, group)
    for switching in SWITCHING:
        free = simulate_schedule(schedule, fidelity=Fidelity("uncontended", switching=switching))
        for model, queueing in SHARING:
            alone = simulate_schedule(schedule, fidelity=Fidelity(model, switching=switching, queueing=queueing))
            assert alone.time_ps == free.time_ps


@settings(max_examples=40)
@given(st.integers(2, 9), st.integers(0, 10**7), st.sampled_from(["ring", "switch", "fully_connected"]), st.booleans())
def test_symmetric_flows_stay_symmetric(ranks: int, size: int, kind: str, gather: bool) -> None:
    """Nothing in the flow model depends on an order, so ranks that all do alike end together, whatever the parts."""
    topology = load(f"{kind}:{ranks},bandwidth=7GB/s,latency=33ns")
    collective = Collective(Kind.ALL_GATHER if gather else Kind.ALL_TO_ALL, ranks, ranks * ranks * size)
    prediction = simulate_schedule(build("direct", collective, topology), fidelity=Fidelity("flow"))
    assert len(set(prediction.finish_ps.tolist())) == 1


@settings(max_examples=40)
@given(schedules(), st.sampled_from(SWITCHING), st.integers(1, 4), st.integers(0, 1000), st.integers(1, 4))
def test_messages_alone_are_monotone(schedule: Schedule, switching: str, times: int, more_ps: int, slower: int) -> None:
    """A theorem only for `uncontended`: links that serve in some order, or share, have anomalies (docs)."""
    topology, collective = schedule.topology, schedule.collective
    worse = replace(
        schedule,
        collective=replace(
            collective,
            size_bytes=times * collective.size_bytes,
            block_bytes=collective.block_bytes and tuple(times * size for size in collective.block_bytes),
        ),
        topology=replace(
            topology,
            latency_ps=topology.latency_ps + more_ps,
            bandwidth=np.maximum(topology.bandwidth // slower, 1),
        ),
    )
    first = simulate_schedule(schedule, fidelity=Fidelity("uncontended", switching=switching))
    second = simulate_schedule(worse, fidelity=Fidelity("uncontended", switching=switching))
    assert (first.finish_ps <= second.finish_ps).all()


@settings(max_examples=40)
@given(schedules(), st.sampled_from(MODELS), st.sampled_from(SWITCHING))
def test_simulation_is_deterministic(schedule: Schedule, model: str, switching: str) -> None:
    first = prediction_json(simulate_schedule(schedule, fidelity=Fidelity(model, switching=switching)))
    assert prediction_json(simulate_schedule(schedule, fidelity=Fidelity(model, switching=switching))) == first


@settings(max_examples=40)
@given(schedules())
def test_cutting_through_only_ever_saves_without_contention(schedule: Schedule) -> None:
    cut = simulate_schedule(schedule, fidelity=Fidelity("uncontended", switching="cut_through"))
    stored = simulate_schedule(schedule, fidelity=Fidelity("uncontended", switching="store_and_forward"))
    assert (cut.finish_ps <= stored.finish_ps).all()


def test_the_bound_itself_is_physical() -> None:
    # 2 x 3 deliveries of 4 chunks of 1 MB over 8 links of 1 GB/s take 3 ms; what one rank gets would take 2 ms.
    ring = load("ring:4,bandwidth=1GB/s,latency=0ns")
    prediction = simulate_collective(Collective(Kind.ALL_REDUCE, 4, 4_000_000), ring, fidelity=Fidelity("bound"))
    (call,) = prediction.collectives
    assert prediction.time_ps == call.duration_ps == call.bound_ps == 3 * 10**9
    assert not prediction.below_bound
    assert prediction.warnings == ()


def test_free_sharing_is_flagged() -> None:
    links = [(a, 4, 0, 10**9) for a in range(4)] + [(4, a, 0, 10**9) for a in range(4)]
    star = Topology.from_links("star", 4, links, num_switches=1)
    direct = build("direct", Collective(Kind.ALL_GATHER, 4, 4_000_000), star)
    # Three blocks of 1 MB over a 1 GB/s port take 3 ms; the uncontended model sends them side by side.
    prediction = simulate_schedule(direct, fidelity=Fidelity("uncontended"))
    assert prediction.time_ps == 10**9
    assert prediction.bound_ps == 3 * 10**9
    assert prediction.below_bound
    assert "NOT PHYSICAL" in prediction.warnings[0]
    assert prediction_json(prediction)["below_bound"] is True
