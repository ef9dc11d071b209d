"""How many small points a sweep simulates per second of CPU time, in one process, and what a point costs beside that.

Run: python -m hocket.bench.sweep_speed [--points N --jobs N]
With --points one sweep of so many, from its file to its page: workers answer, this process does all the rest.
"""

import resource
import time
from collections.abc import Sequence

from hocket.api.simulate.request import Simulation
from hocket.api.sweep.execution import answer_rows
from hocket.api.sweep.request import Sweep
from hocket.api.sweep.rows import grid
from hocket.base.files import write_file
from hocket.base.scratch import scratch_folder
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


def whole_sweep(points: int, jobs: int) -> None:
    """A sweep of analytical points, as a user runs it, and again where all is answered."""
    each = 4 * 3
    sizes = [1024 * at for at in range(1, max(points // each, 1) + 1)]
    with scratch_folder("sweep-speed") as folder:
        file = folder / "sweep.yaml"
        write_file(
            file,
            f"topology: {TOPOLOGIES[:4]}\ncollective: {COLLECTIVES[:3]}\nsize: {sizes}\n"
            "algorithm: ring\nmodel: analytical\n",
        )
        for times in ("first", "again"):
            wall, here, there = time.perf_counter(), time.process_time(), _children()
            swept = Sweep.of(file, output=folder / "swept", executor="local", jobs=jobs).perform()
            wall, here, there = time.perf_counter() - wall, time.process_time() - here, _children() - there
            count = len(swept.results["error"])
            print(
                f"{times}: {count:,} points on {jobs} workers: {wall:.0f} s; CPU: {1e3 * here / count:.3f} ms a point"
                f" here, {1e3 * there / count:.3f} ms in workers"
            )
        kept = (folder / "swept" / "answers.sqlite").stat().st_size
        print(f"{kept / count:.0f} bytes per point in answers.sqlite")


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    parser = command_line()
    parser.add_argument("--points", type=int, help="of one whole sweep")
    parser.add_argument("--jobs", type=int, default=2, help="its worker processes")
    arguments = parser.parse_args()
    if arguments.points:
        whole_sweep(arguments.points, arguments.jobs)
    else:
        main()
