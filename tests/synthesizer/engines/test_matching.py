"""What holds for the engine `matching`."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from random_networks import networks

from hocket.schedule import Collective, Kind, verify
from hocket.synthesizer import synthesize
from hocket.topology import Topology, load


def relabelled(topology: Topology, label: list[int]) -> Topology:
    """Rank r becomes rank label[r]; switches and links keep their numbers."""
    node = np.array([*label, *range(topology.num_ranks, topology.num_nodes)])
    links = zip(node[topology.src], node[topology.dst], topology.latency_ps, topology.bandwidth, strict=True)
    switches = topology.num_nodes - topology.num_ranks
    return Topology.from_links(topology.name, topology.num_ranks, links, num_switches=switches)


@settings(max_examples=40)
@given(topology=networks(), blocking=st.booleans(), data=st.data())
def test_labels_do_not_change_what_is_possible(topology: Topology, blocking: bool, data: st.DataObject) -> None:
    # Ties are broken by labels, so the schedule may differ; the bound does not, and both schedules keep to it.
    label = data.draw(st.permutations(range(topology.num_ranks)))
    collective = Collective(Kind.ALL_GATHER, topology.num_ranks, 2**10 * topology.num_ranks)
    schedules = [
        synthesize(collective, network, engine="matching", blocking=blocking, attempts=4)
        for network in (topology, relabelled(topology, label))
    ]
    bounds = {schedule.bound.time_ps for schedule in schedules if schedule.bound is not None}
    assert len(bounds) == 1
    assert min(verify(schedule).time_ps for schedule in schedules) >= bounds.pop()


def test_more_attempts_are_never_worse() -> None:
    # The same sequence goes on: its best only improves. Two chunks per rank on MI250 take hundreds of attempts.
    mi250 = load("mi250")
    collective = Collective(Kind.ALL_GATHER, 16, 2**30, 2)
    few, many = (synthesize(collective, mi250, engine="matching", blocking=True, attempts=n) for n in (1, 300))
    assert many.time_ps < few.time_ps
