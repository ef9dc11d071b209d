"""Time and memory of compatibility mode next to recorded ASTRA-sim runs: `python -m hocket.bench.astra_sim_speed DIR`.

DIR has `a_seed000.csv`, a published sweep, and `f_scaling.csv`, with columns as in `astra_sim_equality`. Everything is
CPU time in one process, from a row to a prediction with its notes. Recorded is CPU time of a process a run, for the
sweep wall time.
"""

import csv
import time
from collections.abc import Iterator
from pathlib import Path

from hocket.base.memory import peak_rss_bytes
from hocket.bench.astra_sim_equality import Row, agrees, predict, rows_of, setup_of, trace_of
from hocket.bench.command_line import command_line
from hocket.chakra import CollectiveType, Trace, TraceBuilder, TraceSet
from hocket.simulator.astra import AstraPrediction, simulate_astra

__all__ = ["late_trace", "main", "slow_rank_row"]

_REPEATS = 5
_MANY = (4096, 16384, 65536)


def main(folder: Path) -> None:
    """Prints the three tables."""
    _sweep(folder / "a_seed000.csv")
    _scaling(folder / "f_scaling.csv")
    _events()
    print(f"peak memory of this process: {peak_rss_bytes() // 2**20} MiB")


def _sweep(path: Path) -> None:
    rows = list(rows_of(path))
    there = sum(float(row["wall_s"]) for row in rows)
    times = []
    for _ in range(_REPEATS):
        start = time.process_time()
        predictions = [predict(row) for row in rows]
        times.append(time.process_time() - start)
    equal = sum(agrees(row, prediction) for row, prediction in zip(rows, predictions, strict=True))
    print(
        f"sweep of {len(rows)} runs, {equal} equal: {1e3 * times[0]:.1f} ms, again {1e3 * min(times[1:]):.1f} ms"
        f" ({there:.2f} s there, {there / times[0]:.0f} times as long)"
    )


def _scaling(path: Path) -> None:
    """Rows that ASTRA-sim did not end within its limit included, as lower limits."""
    print("\none collective of 1 GiB           chunks     messages       here      there    ratio  MiB there")
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    for row in [*rows, *_beyond(rows[0])]:
        prediction, seconds = _timed(row)
        ended = row["status"] == "ok"
        if ended and not agrees(row, prediction):
            raise SystemExit(f"{row}: differs, {prediction.time_ns} ns here")
        algorithm = row["ar_impl" if row["collective"] == "allreduce" else "a2a_impl"].split("|")[0]
        what = f"{row['collective']} {algorithm} {row['topology'].split('x')[0]} {row['npus_count']}"
        congestion = " *" if row["backend"] == "aware" else ""
        at_least = "" if ended else ">"
        there = float(row["extra"].removeprefix("cpu_s=") or 0)
        beside = f"{at_least}{there:.2f} s {at_least + format(there / seconds, '.0f'):>8}" if there else ""
        print(
            f"{what + congestion:<35} {row['splits']:>4} {prediction.messages:>12} {1e3 * seconds:>7.2f} ms"
            f" {beside:>19} {row['peak_rss_mb']:>10}".rstrip()
        )
    print("* congestion-aware; > stopped there after 120 s")


def _beyond(row: Row) -> Iterator[Row]:
    """The first row on more ranks, in 16 chunks."""
    for ranks in _MANY:
        yield row | {"npus_count": str(ranks), "splits": "16", "extra": "", "peak_rss_mb": "", "status": "not run"}


def _timed(row: Row) -> tuple[AstraPrediction, float]:
    start = time.process_time()
    prediction = predict(row)
    return prediction, time.process_time() - start


def _events() -> None:
    """One rank begins later than the others, so that all are run, event by event."""
    print("\none slow rank                    ranks    messages     events       here  ns/message  events/s")
    for backend, shape, algorithm, sizes in (
        ("unaware", "Ring", "ring", (64, 128, 256, 512)),
        ("unaware", "Ring", "halvingDoubling", (64, 256, 1024)),
        ("unaware", "Switch", "direct", (32, 64, 128)),
        ("aware", "Ring", "ring", (64, 128, 256, 512)),
        ("aware", "Switch", "halvingDoubling", (64, 256, 1024)),
    ):
        for ranks in sizes:
            row = slow_rank_row(backend, shape, algorithm, ranks)
            traces = TraceSet((late_trace(row), *(trace_of(row),) * (ranks - 1)))
            start = time.process_time()
            prediction = simulate_astra(traces, setup_of(row))
            seconds = time.process_time() - start
            print(
                f"{backend:<8} {shape:<7} {algorithm:<15} {ranks:>5} {prediction.messages:>11} {prediction.events:>10}"
                f" {1e3 * seconds:>7.1f} ms {1e9 * seconds / prediction.messages:>9.0f}"
                f" {prediction.events / seconds / 1e6:>8.1f} M"
            )


def slow_rank_row(backend: str, shape: str, algorithm: str, ranks: int) -> Row:
    """An all_reduce of 1 GiB in 16 chunks, one at a time."""
    values = {
        "backend": backend, "collective": "allreduce", "size_bytes": 1 << 30, "topology": shape,
        "npus_count": ranks, "bandwidth_GBps": 50, "latency_ns": 500, "sched": "LIFO", "endpoint_delay": 10,
        "active_chunks": 1, "splits": 16, "coll_opt": "baseline", "local_mem_bw": 1600, "queues_per_dim": 1,
    }  # fmt: skip
    values |= {f"{kind}_impl": algorithm for kind in ("ar", "ag", "rs", "a2a")}
    return {name: str(value) for name, value in values.items()}


def late_trace(row: Row) -> Trace:
    """The row's collective, after a computation."""
    builder = TraceBuilder()
    late = builder.add_comp("late", duration_ns=5_000)
    builder.add_collective("all", CollectiveType.ALL_REDUCE, int(row["size_bytes"]), deps=[late])
    return builder.build()


if __name__ == "__main__":
    parser = command_line()
    parser.add_argument("folder", metavar="DIR", type=Path)
    main(parser.parse_args().folder)
