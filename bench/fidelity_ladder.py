"""What each network model makes of the same all_reduce on 128 ranks (links of 50 GB/s and 500 ns).

Run: python -m hocket.bench.fidelity_ladder
"""

import time

from hocket.base.errors import ScheduleError
from hocket.bench.command_line import command_line
from hocket.schedule import Collective, Kind
from hocket.simulator import Fidelity, simulate_collective
from hocket.topology import Topology, load

RANKS, LINKS = 128, "bandwidth=50GB/s,latency=500ns"
SIZES = {"16 MiB": 2**24, "64 KiB": 2**16}
LEVELS = {
    "uncontended": ("uncontended", "cut_through"),
    "analytical": ("analytical", "cut_through"),
    "congestion, stored": ("congestion", "store_and_forward"),
    "congestion": ("congestion", "cut_through"),
    "flow": ("flow", "cut_through"),
}


def leaf_spine() -> Topology:
    """Eight leaves of 16 hosts whose four links up are one of 200 GB/s: 4 to 1."""
    links = []
    for host in range(RANKS):
        links += [(host, RANKS + host // 16, 500_000, 50 * 10**9), (RANKS + host // 16, host, 500_000, 50 * 10**9)]
    spine = RANKS + RANKS // 16
    for leaf in range(RANKS, spine):
        links += [(leaf, spine, 500_000, 200 * 10**9), (spine, leaf, 500_000, 200 * 10**9)]
    return Topology.from_links("leaf-spine 4:1", RANKS, links, num_switches=RANKS // 16 + 1)


def main() -> None:
    topologies = [load(f"{shape},{LINKS}") for shape in ("ring:128", "torus:8x16", "switch:128")] + [leaf_spine()]
    print(f"{'topology':<15} {'algorithm':<17} {'size':>6} {'bound':>8} " + " ".join(f"{name:>18}" for name in LEVELS))
    for topology in topologies:
        for algorithm in ("ring", "halving_doubling", "direct"):
            for name, size in SIZES.items():
                _print_row(topology, algorithm, name, Collective(Kind.ALL_REDUCE, RANKS, size))
    print("times in us; ! below the bound; in brackets seconds of CPU time, plan included")


def _print_row(topology: Topology, algorithm: str, name: str, collective: Collective) -> None:
    cells, bound_ps = [], 0
    for model, switching in LEVELS.values():
        start = time.process_time()
        try:
            prediction = simulate_collective(
                collective, topology, algorithm, fidelity=Fidelity(model, switching=switching)
            )
        except ScheduleError:
            return
        seconds = time.process_time() - start
        flag = "!" if prediction.below_bound else ""
        cells.append(f"{flag}{prediction.time_ps / 1e6:.1f} ({seconds:.1f})")
        bound_ps = prediction.bound_ps
    shape = topology.name.partition(",")[0]
    print(f"{shape:<15} {algorithm:<17} {name:>6} {bound_ps / 1e6:8.1f} " + " ".join(f"{cell:>18}" for cell in cells))


if __name__ == "__main__":
    command_line().parse_args()
    main()
