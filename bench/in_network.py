"""Switches that add and copy, beside what ranks can do alone: algorithm bandwidth of an all_reduce of 1 GiB.

Example: python -m hocket.bench.in_network

Under the congestion model, in GB/s (10^9; size / time), with the best of 1, 4 and 16 chunks per rank; `bound` is what
no schedule can exceed.
"""

from rich.console import Console
from rich.table import Table

from hocket.base.errors import ScheduleError
from hocket.bench.command_line import command_line
from hocket.schedule import Collective, Kind, lower_bound
from hocket.simulator import simulate_collective
from hocket.topology import Topology, load

__all__ = ["main"]

SPECS = [
    *["dgx-h100", "dgx-h100:nvls=1"],
    *["dgx-h100:nodes=4", "dgx-h100:nodes=4,nvls=1", "dgx-h100:nodes=4,nvls=1,sharp=1"],
]
NAMES = ["ring", "multi_ring", "hierarchical", "switch_tree", "nvls", "nvls_tree", "nvls_sharp"]
CHUNKS = [1, 4, 16]
SIZE = 2**30


def main() -> None:
    table = Table("all_reduce, GB/s", *[spec.removeprefix("dgx-h100").removeprefix(":") or "1 node" for spec in SPECS])
    topologies = [load(spec) for spec in SPECS]
    table.add_row("bound", *[speed(min(bounds(topology))) for topology in topologies])
    for name in NAMES:
        table.add_row(name, *[best(name, topology) for topology in topologies])
    Console(width=120).print(table)


def all_reduces(topology: Topology) -> list[Collective]:
    return [Collective(Kind.ALL_REDUCE, topology.num_ranks, SIZE, chunks) for chunks in CHUNKS]


def bounds(topology: Topology) -> list[int]:
    return [lower_bound(collective, topology).time_ps for collective in all_reduces(topology)]


def best(name: str, topology: Topology) -> str:
    try:
        times = [simulate_collective(collective, topology, name).time_ps for collective in all_reduces(topology)]
    except ScheduleError:
        return "-"
    return speed(min(times))


def speed(time_ps: int) -> str:
    return f"{SIZE * 1000 / time_ps:.0f}"


if __name__ == "__main__":
    command_line().parse_args()
    main()
