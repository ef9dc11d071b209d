"""How far permutations and an all_to_all are from the bound on a fat tree that does not block, by routing.

Run: python -m hocket.bench.routing_spread [--seeds 100]

Cases of 64 MiB a rank on 8 leaves of 8 ranks and 8 spines, links of 50 GB/s and 500 ns: a shift by half (rank r to
r + 32), random permutations, and an all_to_all by `direct`. Times are over the bound, under the flow model: `ecmp` over
so many seeds (of a random permutation another one each; 20 of the all_to_all), the others once each. Hashed flows that
collide share a link: 2, 3, ... times the bound.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np

from hocket.bench.command_line import command_line
from hocket.chakra import TraceBuilder, TraceSet
from hocket.schedule import Collective, Kind
from hocket.simulator import Fidelity, simulate_collective, simulate_traces
from hocket.topology import Topology, load

__all__ = ["SPEC", "ratio_of_all_to_all", "ratio_of_permutation"]

SPEC = "fat_tree:8x8,spines=8,bandwidth=50GB/s,latency=500ns"
SIZE = 64 << 20
MODEL = "flow"
ONCE = ("shortest", "d_mod_k", "adaptive", "spray")


def ratio_of_permutation(topology: Topology, target: Sequence[int], routing: str) -> float:
    """The time over the bound when each rank sends SIZE bytes to its target."""
    builders = [TraceBuilder() for _ in target]
    for src, dst in enumerate(target):
        if src != dst:
            builders[src].add_send("send", SIZE, src=src, dst=dst)
            builders[dst].add_recv("recv", SIZE, src=src, dst=dst)
    traces = TraceSet(tuple(builder.build() for builder in builders))
    return simulate_traces(traces, topology, fidelity=Fidelity(MODEL, routing=routing)).ratio


def ratio_of_all_to_all(topology: Topology, routing: str) -> float:
    """The time over the bound of an all_to_all in which each rank has SIZE bytes."""
    collective = Collective(Kind.ALL_TO_ALL, topology.num_ranks, SIZE)
    return simulate_collective(collective, topology, "direct", fidelity=Fidelity(MODEL, routing=routing)).ratio


def permutation(ranks: int, seed: int) -> list[int]:
    target = list(range(ranks))
    random.Random(seed).shuffle(target)
    return target


def main() -> None:
    parser = command_line()
    parser.add_argument("--seeds", type=int, default=100, help="of ecmp, and random permutations")
    seeds = range(parser.parse_args().seeds)
    topology = load(SPEC)
    ranks = topology.num_ranks
    shift = [(rank + ranks // 2) % ranks for rank in range(ranks)]
    heads = ("min", "median", "95 %", "max")
    print(f"{'case':<20} {'routing':<9} {'runs':>4} " + " ".join(f"{head:>6}" for head in heads))
    for routing in (*ONCE, "ecmp"):
        many = seeds if routing == "ecmp" else range(1)
        named = [f"ecmp:seed={seed}" if routing == "ecmp" else routing for seed in many]
        _print("shift by 32", routing, [ratio_of_permutation(topology, shift, name) for name in named])
        named = [f"ecmp:seed={seed}" if routing == "ecmp" else routing for seed in seeds]
        drawn = enumerate(named)
        ratios = [ratio_of_permutation(topology, permutation(ranks, seed), name) for seed, name in drawn]
        _print("random permutation", routing, ratios)
        named = [f"ecmp:seed={seed}" if routing == "ecmp" else routing for seed in many]
        _print("all_to_all", routing, [ratio_of_all_to_all(topology, name) for name in named[:20]])


def _print(case: str, routing: str, ratios: list[float]) -> None:
    spread = np.percentile(ratios, [0, 50, 95, 100])
    print(f"{case:<20} {routing:<9} {len(ratios):4} " + " ".join(f"{each:6.3f}" for each in spread), flush=True)


if __name__ == "__main__":
    main()
