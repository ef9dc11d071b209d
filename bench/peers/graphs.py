"""The networks of the comparison, also random graphs that were recorded as the arguments of their generator."""

import random

from hocket.bench.peers.case import Case
from hocket.topology import Topology, load
from hocket.topology.failures import without

__all__ = ["network_of"]

_GIB = 2**30
_LATENCY_PS = 500_000


def network_of(case: Case) -> Topology:
    """The network `recorded RANKS DEGREE SEED BANDWIDTH,... ASYMMETRIC`, or what `hocket.topology.load` knows, without
    what failed."""
    word, _, arguments = case.topology.partition(" ")
    if word != "recorded":
        topology = load(case.topology)
        return without(topology, case.without) if case.without else topology
    ranks, degree, seed, bandwidths, asymmetric = arguments.split()
    values = [int(value) for value in bandwidths.split(",")]
    return recorded_graph(case.topology, int(ranks), int(degree), int(seed), values, asymmetric == "1")


def recorded_graph(name: str, ranks: int, degree: int, seed: int, bandwidths: list[int], asymmetric: bool) -> Topology:
    """A circle through shuffled ranks and random pairs, ranks * degree / 2 in all; bandwidths (GiB/s) drawn for each
    pair, or for each direction. Drawn in the order of the recorded runs, from the same generator (Python's)."""
    draw = random.Random(seed)
    order = list(range(ranks))
    draw.shuffle(order)
    pairs = {(min(a, b), max(a, b)) for a, b in zip(order, order[1:] + order[:1], strict=True)}
    while len(pairs) < ranks * degree // 2:
        a, b = draw.sample(range(ranks), 2)
        pairs.add((min(a, b), max(a, b)))
    links = []
    for a, b in sorted(pairs):
        there = draw.choice(bandwidths)
        back = draw.choice(bandwidths) if asymmetric else there
        links += [(a, b, _LATENCY_PS, there * _GIB), (b, a, _LATENCY_PS, back * _GIB)]
    return Topology.from_links(name, ranks, links)
