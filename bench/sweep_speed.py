"""How many small points a sweep simulates per second of CPU time, in one process.

Run: python -m hocket.bench.sweep_speed
"""

import time

from hocket.bench.command_line import command_line
from hocket.simulator.sweep import Point, grid, sweep

LINK = "bandwidth=50GB/s,latency=500ns"
TOPOLOGIES = [f"{shape},{LINK}" for shape in ("ring:8", "torus:2x4", "switch:8", "fully_connected:8")]
TOPOLOGIES += ["dgx-h100", "dgx-h100:nodes=2"]
COLLECTIVES = ["all_reduce", "all_gather", "reduce_scatter", "all_to_all"]
SIZES = [2**power for power in range(10, 31)]


def main() -> None:
    print(f"{'sweep':<44} {'points':>7} {'CPU s':>7} {'points/s':>9}")
    ring = grid(TOPOLOGIES, COLLECTIVES[:3], SIZES, ["ring"])
    direct = grid(TOPOLOGIES, COLLECTIVES, SIZES, ["direct"])
    _measure("ring and direct, 6 topologies, 21 sizes", ring + direct)
    _measure("auto, 6 topologies, 21 sizes", grid(TOPOLOGIES, COLLECTIVES, SIZES))
    _measure("bound, 6 topologies, 21 sizes", grid(TOPOLOGIES, COLLECTIVES, SIZES, models=["bound"]))


def _measure(name: str, points: list[Point]) -> None:
    start = time.process_time()
    columns = sweep(points)
    seconds = time.process_time() - start
    failed = columns["error"][columns["error"] != ""]
    assert not len(failed), failed[0]
    print(f"{name:<44} {len(points):7} {seconds:7.2f} {len(points) / seconds:9.0f}")


if __name__ == "__main__":
    command_line().parse_args()
    main()
