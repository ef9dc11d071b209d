"""Themis beside the fixed orders of dimensions, for more and more chunks per rank: time over the lower bound.

Example: python -m hocket.bench.themis

all_reduce of 1 GiB under the congestion model. The first network is that of TACOS' figure 18 (Won et al., MICRO 2024),
where Themis with 64 chunks is as good as TACOS, with 4 chunks not.
"""

from rich.console import Console
from rich.table import Table

from hocket.base.errors import ScheduleError
from hocket.bench.command_line import command_line
from hocket.schedule import Collective, Kind
from hocket.simulator import simulate_collective
from hocket.topology import load

__all__ = ["main"]

SPECS = [
    "torus:4x4x4,bandwidth=25GiB/s,latency=500ns",
    "torus:8x8,bandwidth=200GB/s+50GB/s,latency=500ns",
    "fully_connected:4xring:4xswitch:4,bandwidth=100GB/s+200GB/s+50GB/s,latency=500ns",
    "dgx-h100:nodes=4",
]
CHUNKS = [1, 4, 16, 64]


def main() -> None:
    console = Console(width=120)
    for spec in SPECS:
        table = Table("time / bound", *[f"{chunks} chunks" for chunks in CHUNKS], title=spec)
        for name in ("hierarchical", "torus_ring", "themis"):
            table.add_row(name, *[ratio(spec, name, chunks) for chunks in CHUNKS])
        console.print(table)


def ratio(spec: str, name: str, chunks: int) -> str:
    topology = load(spec)
    try:
        prediction = simulate_collective(Collective(Kind.ALL_REDUCE, topology.num_ranks, 2**30, chunks), topology, name)
    except ScheduleError:
        return "-"
    return f"{prediction.time_ps / prediction.bound_ps:.2f}"


if __name__ == "__main__":
    command_line().parse_args()
    main()
