"""How long the largest collectives take to predict, with bounds, and in how much memory: all ranks alike, with one
slow or failed link, with a slow rank (all its links are); and how long `auto` takes to choose.

Every case is a process of its own. Run: python -m hocket.bench.simulator_scale
"""

import sys
import time
from dataclasses import replace

import numpy as np

from hocket.base import processes
from hocket.base.memory import peak_rss_bytes
from hocket.base.units import format_bytes, format_time
from hocket.bench.command_line import command_line
from hocket.schedule import Collective, Kind
from hocket.simulator import simulate_collective
from hocket.topology import Topology, load

LINK = "bandwidth=50GB/s,latency=500ns"
SIZE = 2**30
# algorithm, topology, chunks per rank, what is not like the rest
CASES = [
    ("ring", f"ring:4096,{LINK}", 16, ""),
    ("torus_ring", f"torus:64x32x32,{LINK}", 1, ""),
    ("swing", f"torus:64x32x32,{LINK}", 1, ""),
    ("direct", f"torus:64x32x32,{LINK}", 1, ""),
    ("ring", f"ring:4096,{LINK}", 1, "slow link"),
    ("torus_ring", f"torus:16x16x16,{LINK}", 1, "slow link"),
    ("torus_ring", f"torus:16x16x16,{LINK}", 1, "failed link"),
    ("torus_ring", f"torus:16x16x16,{LINK}", 1, "slow rank"),
    ("auto", "dgx-h100:nodes=16", 1, ""),
    ("auto", f"switch:512,{LINK}", 1, ""),
    ("auto", f"torus:32x32,{LINK}", 1, ""),
    ("auto", f"ring:1024,{LINK}", 1, ""),
    ("auto", f"torus:16x16x16,{LINK}", 1, "slow link"),
    ("auto", f"torus:64x32x32,{LINK}", 1, ""),
]


def main(case: int | None) -> None:
    """Prints the row of one case, or all of them, each from a process of its own."""
    if case is not None:
        print(_row(*CASES[case]), flush=True)
        return
    print(
        f"{'algorithm':<17} {'topology':<17} {'chunks':>6} {'unlike':<11} {'predicted':>10} {'folded':>7}"
        f" {'events':>14} {'CPU s':>6} {'events/s':>10} {'peak RSS':>10}",
        flush=True,
    )
    for number in range(len(CASES)):
        processes.run([sys.executable, "-m", "hocket.bench.simulator_scale", str(number)], check=True)


def _row(algorithm: str, spec: str, chunks: int, unlike: str) -> str:
    topology = load(spec)
    start = time.process_time()
    prediction = simulate_collective(
        Collective(Kind.ALL_REDUCE, topology.num_ranks, SIZE, chunks),
        _with(unlike, topology),
        algorithm,
    )
    cpu_s = time.process_time() - start
    used = prediction.collectives[0].algorithm
    chosen = algorithm if used == algorithm else f"{algorithm}: {used}"
    simulated = prediction.events / prediction.folded
    return (
        f"{chosen:<17} {spec.partition(',')[0]:<17} {chunks:6} {unlike:<11}"
        f" {format_time(prediction.time_ps):>10} {prediction.folded:7} {prediction.events:14} {cpu_s:6.2f}"
        f" {simulated / cpu_s / 1e6:8.2f} M {format_bytes(peak_rss_bytes()):>10}"
    )


def _with(unlike: str, topology: Topology) -> Topology:
    """The topology with its first link, or all links of its first rank, at half the bandwidth, or without that link."""
    first = np.arange(topology.num_links) == 0
    if unlike == "failed link":
        columns = ("src", "dst", "latency_ps", "bandwidth", "link_class")
        return replace(topology, **{name: getattr(topology, name)[~first] for name in columns})
    slow = {"": first & False, "slow link": first, "slow rank": (topology.src == 0) | (topology.dst == 0)}[unlike]
    return replace(topology, bandwidth=np.where(slow, topology.bandwidth // 2, topology.bandwidth))


if __name__ == "__main__":
    parser = command_line()
    parser.add_argument("case", nargs="?", type=int, help="the number of one case; all of them by default")
    main(parser.parse_args().case)
