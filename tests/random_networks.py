"""Random topologies for property tests."""

from hypothesis import strategies as st

from hocket.topology import Topology

__all__ = ["networks"]


@st.composite
def networks(draw: st.DrawFn) -> Topology:
    """A circle that joins all ranks one way, and any links besides: asymmetric, heterogeneous, with parallel links."""
    ranks = draw(st.integers(2, 9))
    order = draw(st.permutations(range(ranks)))
    pairs = [(order[at], order[(at + 1) % ranks]) for at in range(ranks)]
    extra = st.tuples(st.integers(0, ranks - 1), st.integers(0, ranks - 1)).filter(lambda pair: pair[0] != pair[1])
    pairs += draw(st.lists(extra, max_size=12))
    latency = st.integers(0, 2_000_000)
    bandwidth = st.sampled_from([10**9, 25 * 10**9, 50 * 10**9, 400 * 10**9])
    return Topology.from_links("drawn", ranks, [(a, b, draw(latency), draw(bandwidth)) for a, b in pairs])
