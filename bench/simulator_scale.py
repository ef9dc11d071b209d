"""How long the largest collectives take to predict, with bounds, and in how much memory: all ranks alike, and with one
slow link.

Every case is a process of its own. Run: python -m hocket.bench.simulator_scale
"""

import resource
import subprocess
import sys
import time
from dataclasses import replace

from hocket.bench.command_line import command_line
from hocket.core.units import format_bytes, format_time
from hocket.schedule import Collective, Kind
from hocket.simulator import simulate_collective
from hocket.topology import Topology, load

LINK = "bandwidth=50GB/s,latency=500ns"
SIZE = 2**30
# algorithm, topology, chunks per rank, whether the first link has half the bandwidth
CASES = [
    ("ring", f"ring:4096,{LINK}", 16, False),
    ("torus_ring", f"torus:64x32x32,{LINK}", 1, False),
    ("swing", f"torus:64x32x32,{LINK}", 1, False),
    ("direct", f"torus:64x32x32,{LINK}", 1, False),
    ("ring", f"ring:4096,{LINK}", 1, True),
    ("torus_ring", f"torus:16x16x16,{LINK}", 1, True),
]


def main(case: int | None) -> None:
    """Prints the row of one case, or all of them, each from a process of its own."""
    if case is not None:
        print(_row(*CASES[case]), flush=True)
        return
    print(
        f"{'algorithm':<11} {'topology':<15} {'chunks':>6} {'links':<9} {'predicted':>10} {'folded':>7} {'events':>14}"
        f" {'CPU s':>6} {'events/s':>10} {'peak RSS':>10}",
        flush=True,
    )
    for number in range(len(CASES)):
        subprocess.run([sys.executable, "-m", "hocket.bench.simulator_scale", str(number)], check=True)


def _row(algorithm: str, spec: str, chunks: int, slow: bool) -> str:
    topology = load(spec)
    start = time.process_time()
    prediction = simulate_collective(
        Collective(Kind.ALL_REDUCE, topology.num_ranks, SIZE, chunks),
        _with_slow_link(topology) if slow else topology,
        algorithm,
    )
    cpu_s = time.process_time() - start
    simulated = prediction.events / prediction.folded
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return (
        f"{algorithm:<11} {spec.partition(',')[0]:<15} {chunks:6} {'one slow' if slow else 'alike':<9}"
        f" {format_time(prediction.time_ps):>10} {prediction.folded:7} {prediction.events:14} {cpu_s:6.2f}"
        f" {simulated / cpu_s / 1e6:8.2f} M {format_bytes(peak):>10}"
    )


def _with_slow_link(topology: Topology) -> Topology:
    bandwidth = topology.bandwidth.copy()
    bandwidth[0] //= 2
    return replace(topology, bandwidth=bandwidth)


if __name__ == "__main__":
    parser = command_line()
    parser.add_argument("case", nargs="?", type=int, help="the number of one case; all of them by default")
    main(parser.parse_args().case)
