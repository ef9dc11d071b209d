"""Schedules over trunks, links wider than what leads to them: time / lower bound, by the schedule and simulated.

Example: python -m hocket.bench.trunks

Each collective is asked for as a user would, with free chunks; `simulated` plays the schedule under the congestion
model, where messages start as soon as what they wait for is there and take turns on every link.
"""

from rich.console import Console
from rich.table import Table

from hocket.bench.command_line import command_line
from hocket.schedule import Collective, Kind
from hocket.simulator import simulate_schedule
from hocket.synthesizer import Problem, Search, solve
from hocket.topology import Topology, load

__all__ = ["main"]

SPECS = [
    "dgx-h100:nodes=4",
    "dgx-h100:nodes=4,fabric=fat_tree,leaf=2",
    "dgx-h100:nodes=8,fabric=fat_tree,leaf=4",
    "dgx-h100:nodes=8,fabric=fat_tree,leaf=4,oversubscription=2",
    "dgx-h100:nodes=8,fabric=fat_tree,leaf=4,spines=4",
]
KINDS = (Kind.ALL_TO_ALL, Kind.ALL_GATHER, Kind.ALL_REDUCE)
SIZES = (2**16, 2**26)


def main() -> None:
    table = Table("topology", "collective", "64 KiB: us", "/ bound", "simulated", "64 MiB: us", "/ bound", "simulated")
    for spec in SPECS:
        topology = load(spec)
        for kind in KINDS:
            table.add_row(spec, kind, *(cell for size in SIZES for cell in times(kind, topology, size)))
    Console(width=160).print(table)


def times(kind: Kind, topology: Topology, size: int) -> tuple[str, str, str]:
    """Microseconds of the schedule, and its own and its simulated time to the bound for any number of chunks."""
    found = solve(Problem(Collective(kind, topology.num_ranks, size), topology), Search(), free_chunks=True)
    bound_ps = found.bound_any_chunks.time_ps
    simulated_ps = simulate_schedule(found.schedule.expand()).time_ps
    time_ps = found.schedule.time_ps
    return f"{time_ps / 1e6:.2f}", f"{time_ps / bound_ps:.3f}", f"{simulated_ps / bound_ps:.3f}"


if __name__ == "__main__":
    command_line().parse_args()
    main()
