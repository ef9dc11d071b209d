"""How many small points a sweep simulates per second of CPU time, in one process.

Run: python -m hocket.bench.sweep_speed
"""

import time
from collections.abc import Sequence

from hocket.api.simulate.request import Simulation
from hocket.api.sweep.execution import answer_rows
from hocket.api.sweep.rows import grid
from hocket.bench.command_line import command_line

LINK = "bandwidth=50GB/s,latency=500ns"
TOPOLOGIES = [f"{shape},{LINK}" for shape in ("ring:8", "torus:2x4", "switch:8", "fully_connected:8")]
TOPOLOGIES += ["dgx-h100", "dgx-h100:nodes=2"]
COLLECTIVES = ["all_reduce", "all_gather", "reduce_scatter", "all_to_all"]
SIZES = [2**power for power in range(10, 31)]


def main() -> None:
    print(f"{'sweep':<44} {'points':>7} {'CPU s':>7} {'points/s':>9}")
    whole: dict[str, Sequence[str | int]] = {"topology": TOPOLOGIES, "collective": COLLECTIVES, "size": SIZES}
    ring = grid(**{**whole, "collective": COLLECTIVES[:3]}, algorithm="ring")
    direct = grid(**whole, algorithm="direct")
    _measure("ring and direct, 6 topologies, 21 sizes", ring + direct)
    _measure("auto, 6 topologies, 21 sizes", grid(**whole))
    _measure("bound, 6 topologies, 21 sizes", grid(**whole, model="bound"))


def _measure(name: str, rows: list[Simulation]) -> None:
    start = time.process_time()
    columns = answer_rows(rows)
    seconds = time.process_time() - start
    failed = columns["error"][columns["error"] != ""]
    assert not len(failed), failed[0]
    print(f"{name:<44} {len(rows):7} {seconds:7.2f} {len(rows) / seconds:9.0f}")


if __name__ == "__main__":
    command_line().parse_args()
    main()
