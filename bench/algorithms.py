"""Every native algorithm on topologies of 16 ranks, side by side: time over the lower bound, for two sizes.

Example: python -m hocket.bench.algorithms all_reduce all_to_all

Under the congestion model (50 GB/s and 500 ns a link), with the best of 1, 4 and 8 chunks per rank; the bound is the
least of theirs (smaller chunks may be there earlier). A star marks the fastest.
"""

from collections import defaultdict
from collections.abc import Iterator

from rich.console import Console
from rich.table import Table

from hocket.base.units import format_bytes, format_time
from hocket.bench.command_line import command_line
from hocket.schedule import Collective, Kind
from hocket.schedule.algorithms import ALGORITHMS, build_all
from hocket.simulator import simulate_schedule
from hocket.topology import load

__all__ = ["main"]

SHAPES = {"ring": "ring:16", "torus": "torus:4x4", "full mesh": "fully_connected:16", "switch": "switch:16"}
LINK = "bandwidth=50GB/s,latency=500ns"
SIZES = [8 * 2**10, 64 * 2**20]
CHUNKS = [1, 4, 8]


def main(kinds: list[Kind]) -> None:
    console = Console(width=120)
    for kind in kinds:
        columns = {
            f"{name}\n{format_bytes(size)}": dict(best(kind, shape, size))
            for name, shape in SHAPES.items()
            for size in SIZES
        }
        table = Table("time / bound", title=kind.value)
        for heading in columns:
            table.add_column(heading, justify="right")
        table.add_row("bound", *[format_time(column["bound"]) for column in columns.values()])
        for name in ALGORITHMS:
            if any(name in column for column in columns.values()):
                table.add_row(name, *[ratio(column, name) for column in columns.values()])
        console.print(table)


def best(kind: Kind, shape: str, size: int) -> Iterator[tuple[str, int]]:
    """Picoseconds by algorithm, and of the bound."""
    topology = load(f"{shape},{LINK}")
    times, bounds = defaultdict(list), []
    for chunks in CHUNKS:
        for schedule in build_all(Collective(kind, topology.num_ranks, size, chunks), topology):
            prediction = simulate_schedule(schedule)
            times[schedule.generator].append(prediction.time_ps)
            bounds.append(prediction.bound_ps)
    yield "bound", min(bounds)
    for name, predicted in times.items():
        yield name, min(predicted)


def ratio(column: dict[str, int], name: str) -> str:
    if name not in column:
        return "-"
    fastest = column[name] == min(time for other, time in column.items() if other != "bound")
    return f"{column[name] / column['bound']:.2f}{'*' if fastest else ' '}"


if __name__ == "__main__":
    parser = command_line()
    default = [Kind.ALL_REDUCE, Kind.ALL_GATHER, Kind.ALL_TO_ALL, Kind.BROADCAST]
    parser.add_argument("kinds", metavar="COLLECTIVE", nargs="*", type=Kind, default=default)
    main(parser.parse_args().kinds)
