"""Random connected topologies for property tests."""

from hypothesis import strategies as st

from hocket.topology import Topology

__all__ = ["topologies"]

_LATENCY = st.integers(0, 10**8)
_BANDWIDTH = st.one_of(st.integers(1, 10**12), st.integers(1, 400).map(lambda gb: gb * 10**9))


@st.composite
def topologies(draw: st.DrawFn, max_ranks: int = 6, max_switches: int = 3) -> Topology:
    """A directed circle through all nodes in random order keeps it connected; more random links join in."""
    num_ranks = draw(st.integers(2, max_ranks))
    num_switches = draw(st.integers(0, max_switches))
    order = draw(st.permutations(range(num_ranks + num_switches)))
    pairs = list(zip(order, order[1:] + order[:1], strict=True))
    node = st.integers(0, len(order) - 1)
    pairs += draw(st.lists(st.tuples(node, node).filter(lambda pair: pair[0] != pair[1]), max_size=12))
    links = []
    for src, dst in pairs:
        links.append((src, dst, draw(_LATENCY), draw(_BANDWIDTH)))
        if draw(st.booleans()):
            links.append((dst, src, *links[-1][2:]))
    machine = draw(st.lists(st.integers(0, 3), min_size=num_ranks, max_size=num_ranks))
    name = draw(st.text(min_size=1, max_size=12))
    notes = tuple(draw(st.lists(st.text(max_size=20), max_size=2)))
    in_network = [node for node in range(num_ranks, len(order)) if draw(st.booleans())]
    return Topology.from_links(
        name, num_ranks, links, num_switches=num_switches, machine=machine, notes=notes, in_network=in_network
    )
