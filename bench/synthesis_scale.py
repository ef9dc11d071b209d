"""Time and memory of the synthesizer up to 40,000 ranks: all_gather of 1 GiB on square meshes, blocking links of
50 GiB/s and 500 ns, with the engine `rounds`.

Every mesh in a process of its own. `search` and `verify` are wall seconds with THREADS threads (the verification has
one), `CPU` the processor seconds of the whole process, `peak RSS` its memory, `rounds` the size of the file that the
schedule is in. Example: python -m hocket.bench.synthesis_scale --plot growth.html
"""

import json
import os
import sys
import time
from typing import Any

from hocket.base import processes
from hocket.base.files import write_file
from hocket.base.memory import peak_rss_bytes
from hocket.base.units import format_bytes
from hocket.bench.command_line import command_line
from hocket.report import Figure, Section, render
from hocket.report.charts import Axis, Series, xy_chart
from hocket.schedule import Collective, FoldedSchedule, Kind, Rounds, verify
from hocket.synthesizer import Problem, Search
from hocket.synthesizer.portfolio import best_schedule
from hocket.topology import load

__all__ = ["main"]

SIDES = (10, 20, 32, 45, 64, 100, 140, 200)
SIZE_BYTES = 2**30


def measure(side: int, threads: int) -> dict[str, Any]:
    """One mesh, in this process."""
    topology = load(f"mesh:{side}x{side},bandwidth=50GiB/s,latency=500ns")
    problem = Problem(Collective(Kind.ALL_GATHER, topology.num_ranks, SIZE_BYTES), topology, blocking=True)
    _ = problem.bound, problem.network
    begin = time.perf_counter()
    schedule = best_schedule(problem, Search(threads=threads), "rounds")
    searched = time.perf_counter()
    verify(schedule)
    verified = time.perf_counter()
    stored = [phase.transfers for phase in schedule.phases] if isinstance(schedule, FoldedSchedule) else []
    return {
        "ranks": topology.num_ranks,
        "transfers": schedule.num_transfers,
        "search_s": searched - begin,
        "verify_s": verified - searched,
        "cpu_s": time.process_time(),
        "peak_rss_bytes": peak_rss_bytes(),
        "rounds_bytes": sum(rounds.size for rounds in stored if isinstance(rounds, Rounds)),
        "ratio": schedule.time_ps / problem.bound.time_ps,
    }


def plot(rows: list[dict[str, Any]], path: str) -> None:
    """Seconds and memory over ranks, logarithmic: time grows with the transfers, the square of the ranks."""
    ranks = [float(row["ranks"]) for row in rows]
    times = [
        Series(name[:-2], ranks, [row[name] for row in rows], color)
        for name, color in (("search_s", "c0"), ("verify_s", "c1"))
    ]
    memory = [Series("memory", ranks, [row["peak_rss_bytes"] / 2**20 for row in rows], "c2")]
    axis = Axis("ranks", log=True, ticks=[(each, f"{each:.0f}") for each in ranks])
    seconds = xy_chart(times, axis, Axis("seconds", log=True), "seconds over ranks")
    mebibytes = xy_chart(memory, axis, Axis("peak memory, MiB", from_zero=True), "memory over ranks")
    section = Section("Growth", [Figure(seconds, "Seconds of one run."), Figure(mebibytes, "Of the whole process.")])
    write_file(path, render("Synthesis over ranks", "meshes", [section]))


def main() -> None:
    parser = command_line()
    parser.add_argument("--largest", type=int, default=SIDES[-1], metavar="SIDE", help="leave out larger meshes")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--plot", metavar="FILE.html", help="write the growth as a picture here")
    parser.add_argument("--side", type=int, help="measure one mesh as JSON")
    options = parser.parse_args()
    if options.side:
        print(json.dumps(measure(options.side, options.threads)))
        return
    print(
        f"{'mesh':<8} {'ranks':>6} {'transfers':>11} {'search s':>9} {'verify s':>9} {'CPU s':>7} {'peak RSS':>10}"
        f" {'rounds':>10} {'/ bound':>8}",
        flush=True,
    )
    rows = []
    for side in (side for side in SIDES if side <= options.largest):
        command = [sys.executable, "-m", "hocket.bench.synthesis_scale", "--side", str(side)]
        command += ["--threads", str(options.threads)]
        row = json.loads(processes.run(command, check=True, capture_output=True, text=True).stdout)
        rows.append(row)
        memory, stored = format_bytes(row["peak_rss_bytes"]), format_bytes(row["rounds_bytes"])
        print(
            f"{f'{side}x{side}':<8} {row['ranks']:6} {row['transfers']:11} {row['search_s']:9.3f}"
            f" {row['verify_s']:9.3f} {row['cpu_s']:7.2f} {memory:>10} {stored:>10} {row['ratio']:8.5f}",
            flush=True,
        )
    if options.plot:
        plot(rows, options.plot)
        print(f"wrote {options.plot}")


if __name__ == "__main__":
    main()
