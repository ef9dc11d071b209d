"""How good the free choice of the number of chunks is: its time over the best of all numbers up to some.

Example: python -m hocket.bench.chunk_counts --case 'all_gather torus*'

Each number of chunks up to `--most` (beyond 16 in steps of an eighth) is searched as `hocket synthesize --chunks K`
does; `doubling` is what the best would be of those that are taken while each doubling saves 3 % and its bound allows
for that, which is how the number was chosen before. 1 GiB, CPU seconds.
"""

import time
from dataclasses import dataclass
from fnmatch import fnmatch

from rich.console import Console
from rich.table import Table

from hocket.bench.command_line import command_line
from hocket.schedule import Collective, Kind
from hocket.synthesizer import Problem, Search, Synthesized, solve
from hocket.topology import Topology, load

__all__ = ["main"]

GIB = 2**30
LINKS = "bandwidth=50GiB/s,latency=500ns"
SPREAD_AND_SUMMED = (Kind.ALL_GATHER, Kind.ALL_REDUCE)
TOPOLOGIES = (
    f"torus:4x4,{LINKS}",
    f"hypercube:4,{LINKS}",
    "dgx-1",
    "mi250",
    "dgx-h100:nodes=4",
    f"mesh:4x4,{LINKS}",
)
CASES = [
    *((kind, topology) for topology in TOPOLOGIES for kind in SPREAD_AND_SUMMED),
    (Kind.BROADCAST, "dgx-1"),
    (Kind.BROADCAST, f"torus:4x4,{LINKS}"),
]
_WORTH_IT, _PATIENCE = 0.97, 2


@dataclass(frozen=True)
class Counted:
    """The time of a number of chunks, and the CPU seconds that it took."""

    chunks: int
    time_ps: int
    bound_ps: int
    seconds: float


def counted(kind: Kind, topology: Topology, chunks: int | None) -> Counted:
    """None: as many chunks as the synthesizer likes."""
    begin = time.process_time()
    problem = Problem(Collective(kind, topology.num_ranks, GIB, chunks or 1), topology)
    found: Synthesized = solve(problem, Search(), free_chunks=chunks is None)
    seconds = time.process_time() - begin
    schedule = found.schedule
    bound_ps = problem.cut(schedule.collective.chunks_per_rank).bound.time_ps
    return Counted(schedule.collective.chunks_per_rank, schedule.time_ps, bound_ps, seconds)


def numbers(most: int) -> list[int]:
    """All up to 16, then in steps of an eighth."""
    result = [1]
    while (following := result[-1] + max(1, result[-1] // 8)) <= most:
        result.append(following)
    return sorted({*result, *(2**power for power in range(most.bit_length()) if 2**power <= most)})


def by_doubling(by_number: dict[int, Counted]) -> int:
    """The time that doubling with a gain of 3 % comes to."""
    best, failures, chunks = by_number[1].time_ps, 0, 2
    while failures < _PATIENCE and chunks in by_number and by_number[chunks].bound_ps <= best * _WORTH_IT:
        helped = by_number[chunks].time_ps <= best * _WORTH_IT
        best, failures = (by_number[chunks].time_ps, 0) if helped else (best, failures + 1)
        chunks *= 2
    return best


def main() -> None:
    parser = command_line()
    parser.add_argument("--case", default="*", help="which cases: a pattern of `KIND TOPOLOGY`")
    parser.add_argument("--most", type=int, default=64, help="the largest number of chunks that is compared with")
    arguments = parser.parse_args()
    columns = ["free chunks", "time us", "/ bound of any", "s", "best chunks", "best us", "s of all", "free / best"]
    table = Table("collective", "topology", *columns, "doubling / best", title="1 GiB", box=None)
    for kind, spec in CASES:
        if not fnmatch(f"{kind} {spec}", arguments.case):
            continue
        topology = load(spec)
        free = counted(kind, topology, None)
        each = {chunks: counted(kind, topology, chunks) for chunks in numbers(arguments.most)}
        best = min(each.values(), key=lambda one: one.time_ps)
        any_ps = Problem(Collective(kind, topology.num_ranks, GIB, 1), topology).bound_any_chunks.time_ps
        table.add_row(
            str(kind),
            spec.removesuffix(f",{LINKS}"),
            str(free.chunks),
            f"{free.time_ps / 1e6:.2f}",
            f"{free.time_ps / any_ps:.4f}",
            f"{free.seconds:.2f}",
            str(best.chunks),
            f"{best.time_ps / 1e6:.2f}",
            f"{sum(one.seconds for one in each.values()):.1f}",
            f"{free.time_ps / best.time_ps:.4f}",
            f"{by_doubling(each) / best.time_ps:.4f}",
        )
    Console(width=200).print(table)


if __name__ == "__main__":
    main()
