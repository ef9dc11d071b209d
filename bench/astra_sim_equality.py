"""Compares compatibility mode with recorded ASTRA-sim runs: `python -m hocket.bench.astra_sim_equality DIR`.

DIR has CSVs of single collectives (columns as in `setup_of`), whose `finish_cycles` and `finish_cycles_min` are the
latest and earliest finish of a rank and `exposed_max` the largest exposed communication.
"""

import csv
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from hocket.bench.command_line import command_line
from hocket.chakra import CollectiveType, Trace, TraceBuilder, TraceSet
from hocket.simulator.astra import AstraBackend, AstraDimension, AstraPrediction, AstraSetup, SystemFile, simulate_astra

__all__ = ["Row", "agrees", "predict", "rows_of", "setup_of", "trace_of"]

_KINDS = {
    "allreduce": CollectiveType.ALL_REDUCE,
    "allgather": CollectiveType.ALL_GATHER,
    "reducescatter": CollectiveType.REDUCE_SCATTER,
    "alltoall": CollectiveType.ALL_TO_ALL,
}

Row = dict[str, str]


@dataclass
class _Totals:
    rows: int = 0
    equal: int = 0
    messages: int = 0
    seconds: float = 0
    peer_seconds: float = 0
    skipped: Counter[str] = field(default_factory=Counter)


def rows_of(path: Path) -> Iterator[Row]:
    """The rows of a CSV that ran to their end in ASTRA-sim and are one collective of known kind."""
    with path.open(newline="") as file:
        yield from (row for row in csv.DictReader(file) if not _reason_to_skip(row))


def _reason_to_skip(row: Row) -> str:
    """Why there is nothing to compare a row with, or nothing that makes it again; empty: it is compared."""
    if row["status"] != "ok":
        return f"ended there as {row['status']}"
    if row["collective"] not in _KINDS:
        return "not one collective of the four kinds: its traces are not in the CSV"
    return ""


def setup_of(row: Row) -> AstraSetup:
    """The files that the row's run had, as objects."""
    shapes = row["topology"].split("x")
    columns = (row[name].split("x") for name in ("npus_count", "bandwidth_GBps", "latency_ns"))
    dimensions = tuple(
        AstraDimension(shape, int(size), float(bandwidth), float(latency))
        for shape, size, bandwidth, latency in zip(shapes, *columns, strict=True)
    )
    system = SystemFile(
        scheduling_policy=row["sched"],  # type: ignore[arg-type]  # the CSV's words are ASTRA-sim's
        collective_optimization=row["coll_opt"],  # type: ignore[arg-type]  # likewise
        all_reduce_implementation=tuple(row["ar_impl"].split("|")),
        all_gather_implementation=tuple(row["ag_impl"].split("|")),
        reduce_scatter_implementation=tuple(row["rs_impl"].split("|")),
        all_to_all_implementation=tuple(row["a2a_impl"].split("|")),
        preferred_dataset_splits=int(row["splits"]),
        active_chunks_per_dimension=int(row["active_chunks"]),
        endpoint_delay=float(row["endpoint_delay"]),
        local_mem_bw=float(row["local_mem_bw"]),
    )
    backend = AstraBackend.CONGESTION if row["backend"] == "aware" else AstraBackend.ANALYTICAL
    return AstraSetup(dimensions, system, backend=backend, queues_per_dimension=int(row["queues_per_dim"]))


def trace_of(row: Row) -> Trace:
    """The collective, as every rank calls it; the same object for equal rows, of which the simulator makes use."""
    return _trace_of(row["collective"], int(row["size_bytes"]))


@cache
def _trace_of(collective: str, num_bytes: int) -> Trace:
    builder = TraceBuilder()
    builder.add_collective(collective, _KINDS[collective], num_bytes)
    return builder.build()


def predict(row: Row) -> AstraPrediction:
    """Hocket's result for the row's input."""
    setup = setup_of(row)
    return simulate_astra(TraceSet((trace_of(row),) * setup.num_ranks), setup)


def agrees(row: Row, prediction: AstraPrediction) -> bool:
    """Whether first and last finish and the largest exposed communication are ASTRA-sim's."""
    return (
        int(row["finish_cycles"]) == prediction.time_ns
        and int(row["finish_cycles_min"]) == int(prediction.finish_ns.min())
        and int(row["exposed_max"]) == max(prediction.exposed_ns)
    )


def main(folder: Path) -> int:
    """Prints the rows compared, equal and skipped, and why, of every CSV; returns how many differ."""
    different = 0
    for path in sorted(folder.glob("*.csv")):
        totals = _Totals()
        with path.open(newline="") as file:
            totals.skipped.update(filter(None, map(_reason_to_skip, csv.DictReader(file))))
        for row in rows_of(path):
            start = time.process_time()
            prediction = predict(row)
            totals.seconds += time.process_time() - start
            totals.peer_seconds += float(row["wall_s"] or 0)
            totals.messages += prediction.messages
            totals.rows += 1
            totals.equal += agrees(row, prediction)
        if totals.rows or totals.skipped:
            print(
                f"{path.name:<26} {totals.rows:5} rows compared, {totals.equal:5} equal; {totals.messages:>11} messages"
                f" in {totals.seconds:8.2f} s of CPU time ({totals.peer_seconds:8.2f} s there)"
            )
        for reason, rows in sorted(totals.skipped.items()):
            print(f"  {rows:5} rows skipped: {reason}")
        different += totals.rows - totals.equal
    print(f"{different} rows differ")
    return different


if __name__ == "__main__":
    parser = command_line()
    parser.add_argument("folder", metavar="DIR", type=Path)
    sys.exit(main(parser.parse_args().folder) > 0)
