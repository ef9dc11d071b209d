"""Exact packing of spanning trees beside the other engines: time / lower bound, and CPU seconds of the search.

Example: python -m hocket.bench.packing

`cut` is the period in which all trees fit into the network, over the bound: what the packing alone allows. `others` is
the best of the engines symmetry, rounds, matching, trees and native, each with its usual number of attempts.
"""

import time
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table

from hocket._core.synthesizer import packing_period
from hocket.base.errors import ScheduleError
from hocket.bench.command_line import command_line
from hocket.schedule import Collective, Kind
from hocket.synthesizer import Problem, Search, solve
from hocket.topology import load

__all__ = ["main"]

GIB = 2**30
OTHERS = ("symmetry", "rounds", "matching", "trees", "native")
LINKS = "bandwidth=50GiB/s,latency=500ns"


@dataclass(frozen=True)
class Case:
    """1 GiB on a topology, in so many chunks per rank."""

    topology: str
    chunks: int
    kind: Kind = Kind.ALL_GATHER


CASES = [
    Case("dgx-1", 6),
    Case("dgx-1", 48),
    Case("mi250", 48),
    Case("mi250", 96),
    Case("dgx-a100:nodes=2", 16),
    Case("dgx-h100:nodes=4", 4),
    Case("dgx-h100:nodes=4", 16),
    Case("dgx-h100:nodes=8", 8),
    Case("dgx-h100:nodes=4", 16, Kind.REDUCE_SCATTER),
    Case("dgx-h100:nodes=4", 8, Kind.ALL_REDUCE),
    Case("dgx-h100:nodes=4", 64, Kind.BROADCAST),
    Case(f"switch:16,{LINKS}", 4),
    Case(f"fat_tree:8x4,spines=4,{LINKS}", 4),
    Case(f"fat_tree:8x4,spines=2,{LINKS}", 4),
    Case(f"dragonfly:7x8,{LINKS}", 4),
    Case(f"random:32,degree=3,seed=1,{LINKS}", 4),
    Case(f"random:64,degree=4,seed=2,{LINKS}", 4),
]


@dataclass(frozen=True)
class Found:
    """The best schedule's time, its engine, and the seconds for it (of `others`: of all that were asked)."""

    time_ps: int
    engine: str
    seconds: float


def find(problem: Problem, engines: tuple[str, ...]) -> Found:
    best, begin = None, time.process_time()
    for engine in engines:
        try:
            schedule = solve(problem, Search(), engine=engine).schedule
        except ScheduleError:
            continue
        if best is None or schedule.time_ps < best.time_ps:
            best = schedule
    assert best is not None
    return Found(best.time_ps, best.generator, time.process_time() - begin)


def period_ps(problem: Problem) -> int | None:
    """Of the trees of all chunks; None for collectives that are not spread at once."""
    spread = problem.mirrored or problem
    collective = spread.collective
    if collective.reducing:
        return None
    graph, chunk_bytes = spread.topology.graph, collective.largest_chunk_bytes
    return packing_period(graph, collective.origin, chunk_bytes, problem.blocking, Search().stop)[0]


def main() -> None:
    columns = ["ranks", "chunks", "bound us", "cut", "packing", "s", "others", "by", "s", "bound by"]
    table = Table("topology", "collective", *columns, title="time / bound; CPU seconds with verification", box=None)
    for case in CASES:
        topology = load(case.topology)
        problem = Problem(Collective(case.kind, topology.num_ranks, GIB, case.chunks), topology)
        bound_ps, fits_ps = problem.bound.time_ps, period_ps(problem)
        packing, others = find(problem, ("packing",)), find(problem, OTHERS)
        table.add_row(
            case.topology.removesuffix(f",{LINKS}"),
            str(case.kind),
            str(topology.num_ranks),
            str(case.chunks),
            f"{bound_ps / 1e6:.1f}",
            "" if fits_ps is None else f"{fits_ps / bound_ps:.4f}",
            f"{packing.time_ps / bound_ps:.4f}",
            f"{packing.seconds:.2f}",
            f"{others.time_ps / bound_ps:.4f}",
            others.engine,
            f"{others.seconds:.2f}",
            problem.bound.reason,
        )
    Console(width=200).print(table)


if __name__ == "__main__":
    command_line().parse_args()
    main()
