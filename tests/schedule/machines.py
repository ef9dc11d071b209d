"""Small topologies for the tests of schedules."""

from hypothesis import strategies as st

from hocket.topology import Topology

LATENCY_PS = 500_000
BANDWIDTH = 50 * 10**9


def ring(n: int) -> Topology:
    """A one-way ring."""
    return Topology.from_links("ring", n, [(rank, (rank + 1) % n, LATENCY_PS, BANDWIDTH) for rank in range(n)])


def switch(n: int) -> Topology:
    up = [(rank, n, LATENCY_PS, BANDWIDTH) for rank in range(n)]
    down = [(n, rank, LATENCY_PS, BANDWIDTH) for rank in range(n)]
    return Topology.from_links("switch", n, up + down, num_switches=1)


def mesh(rows: int, columns: int) -> Topology:
    links = []
    for rank in range(rows * columns):
        neighbours = [rank + 1] if rank % columns < columns - 1 else []
        neighbours += [rank + columns] if rank + columns < rows * columns else []
        for other in neighbours:
            links += [(rank, other, LATENCY_PS, BANDWIDTH), (other, rank, LATENCY_PS, BANDWIDTH)]
    return Topology.from_links("mesh", rows * columns, links)


@st.composite
def topologies(draw: st.DrawFn, num_ranks: int, max_switches: int = 2) -> Topology:
    """A strongly connected graph of uneven links: a ring through all nodes, and chords. Some switches compute."""
    nodes = num_ranks + draw(st.integers(0, max_switches))
    node = st.integers(0, nodes - 1)
    order = draw(st.permutations(range(nodes)))
    pairs = [(order[at - 1], order[at]) for at in range(nodes)] + draw(st.lists(st.tuples(node, node), max_size=8))
    latency, bandwidth = st.integers(0, 2000), st.sampled_from([10**9, 3 * 10**9, 10**10])
    links = [(src, dst, draw(latency), draw(bandwidth)) for src, dst in pairs if src != dst]
    in_network = sorted(draw(st.sets(st.sampled_from(range(num_ranks, nodes))))) if nodes > num_ranks else []
    return Topology.from_links("random", num_ranks, links, num_switches=nodes - num_ranks, in_network=in_network)
