"""What holds for every engine, collective and network."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from random_networks import networks

from hocket.base.errors import Infeasible
from hocket.schedule import NAMED_KINDS, Collective, Kind, lower_bound, verify
from hocket.synthesizer import ENGINES, Problem, Search, solve
from hocket.synthesizer.derived_engines import derived_engines
from hocket.topology import Topology, load

SEARCHING = [name for name in ENGINES if name != "exact"]  # test_exact.py is about that one

# Bounds by prices on links are approximate: in which order ranks are looked at decides how good they are.
PRICED = (Kind.ALL_TO_ALL, Kind.GATHER, Kind.SCATTER)
EXACTLY_BOUNDED = [kind for kind in NAMED_KINDS if kind not in PRICED]


@st.composite
def regular(draw: st.DrawFn) -> Topology:
    """A ring, torus or full mesh of equal links: what the engines of symmetry and of rounds are for."""
    kind = draw(st.sampled_from(["ring", "torus", "mesh", "fully_connected"]))
    sizes = draw(st.lists(st.integers(2, 4), min_size=1, max_size=2))
    if kind == "torus" and len(sizes) == 1:
        kind = "ring"
    shape = "x".join(map(str, sizes)) if kind in ("torus", "mesh") else str(sizes[0] + 1)
    return load(f"{kind}:{shape},bandwidth={draw(st.integers(1, 50))}GB/s,latency={draw(st.integers(0, 900))}ns")


@pytest.mark.parametrize("engine", SEARCHING)
@settings(max_examples=40)
@given(
    drawn=networks(),
    even=regular(),
    kind=st.sampled_from(NAMED_KINDS),
    size=st.integers(1, 10**6),
    chunks=st.integers(1, 3),
    blocking=st.booleans(),
    data=st.data(),
)
def test_every_engine_is_right_and_never_below_the_bound(
    engine: str,
    drawn: Topology,
    even: Topology,
    kind: Kind,
    size: int,
    chunks: int,
    blocking: bool,
    data: st.DataObject,
) -> None:
    topology = even if engine in ("symmetry", "rounds") else drawn
    root = data.draw(st.integers(0, topology.num_ranks - 1))
    collective = Collective(kind, topology.num_ranks, size, chunks, root)
    if engine == "balancing" and collective.kind.in_pairs:
        number = topology.num_ranks**2
        blocks = data.draw(st.lists(st.integers(0, size), min_size=number, max_size=number))
        collective = Collective.uneven(kind, topology.num_ranks, blocks, chunks)
    problem = Problem(collective, topology, blocking)
    assume(derived_engines(ENGINES[engine], problem)[0])
    found = solve(problem, Search(attempts=2), engine=engine).schedule
    assert verify(found).time_ps == found.time_ps >= problem.bound.time_ps


def renamed(topology: Topology, name: np.ndarray) -> Topology:
    """The topology whose rank `name[i]` is what rank i was."""
    links = zip(
        name[topology.src].tolist(), name[topology.dst].tolist(), topology.latency_ps.tolist(),
        topology.bandwidth.tolist(), strict=True,
    )  # fmt: skip
    return Topology.from_links("renamed", topology.num_ranks, links)


@settings(max_examples=60)
@given(
    topology=networks(),
    kind=st.sampled_from(NAMED_KINDS),
    blocking=st.booleans(),
    data=st.data(),
)
def test_other_names_change_nothing_but_names(
    topology: Topology, kind: Kind, blocking: bool, data: st.DataObject
) -> None:
    name = np.array(data.draw(st.permutations(range(topology.num_ranks))), np.int32)
    other = renamed(topology, name)
    root = data.draw(st.integers(0, topology.num_ranks - 1))
    collective = Collective(kind, topology.num_ranks, 1000 * topology.num_ranks**2, 2, root)
    moved = replace(collective, root=int(name[root]))
    before, after = (
        lower_bound(one, on, blocking=blocking).time_ps for one, on in ((collective, topology), (moved, other))
    )
    assert before == after or kind in PRICED
    # The same transfers over the same links do for the ranks under their new names what they did under the old ones.
    schedule = solve(Problem(collective, topology, blocking), Search(attempts=1)).schedule.expand()
    again = replace(schedule, topology=other, group=name)
    assert verify(again).time_ps == schedule.time_ps >= after


@settings(max_examples=60)
@given(topology=networks(), kind=st.sampled_from(EXACTLY_BOUNDED), blocking=st.booleans(), data=st.data())
def test_without_a_link_no_bound_is_lower(topology: Topology, kind: Kind, blocking: bool, data: st.DataObject) -> None:
    gone = data.draw(st.integers(0, topology.num_links - 1))
    kept = [column[np.arange(topology.num_links) != gone].tolist()
            for column in (topology.src, topology.dst, topology.latency_ps, topology.bandwidth)]  # fmt: skip
    fewer = Topology.from_links("fewer", topology.num_ranks, zip(*kept, strict=True))
    collective = Collective(kind, topology.num_ranks, 1000 * topology.num_ranks)
    try:
        less = lower_bound(collective, fewer, blocking=blocking)
    except Infeasible:
        return
    assert lower_bound(collective, topology, blocking=blocking).time_ps <= less.time_ps
