"""Plans of all_to_alls whose blocks change in every step: how long one takes, and how near to the bound it comes.

Example: python -m hocket.bench.replanning --seeds 20

The planner of a topology is prepared once (`prepared`) and plans blocks of four sorts for each seed: `uniform`, 0.5 to
1.5 MiB from every rank to every rank; `Zipf`, every rank an expert, the k-th most wanted of which gets 1/k as many
bytes as the first (1 MiB a block on average); `hot`, one expert that gets 4 MiB and more from every rank, the others an
eighth of `uniform`; `sparse`, up to 16 MiB from one pair in twenty. Milliseconds are of processor time, the
median and the worst over the seeds: of `plan`, the second plan of the same sizes, and of `verify`. Ratios are to the
bound for any number of chunks; `direct` is the plan without relays, each block over one route.
"""

import time
from collections.abc import Callable
from statistics import median

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from hocket.bench.command_line import command_line
from hocket.schedule import Collective, Kind, bound_of_any_chunks, retime, verify
from hocket.schedule.algorithms import build
from hocket.synthesizer import AllToAllPlanner
from hocket.topology import Topology, load

__all__ = ["main"]

MIB = 2**20
LINKS = "bandwidth=50GiB/s,latency=500ns"
TOPOLOGIES = (
    "dgx-h100:nodes=8",
    "dgx-h100:nodes=8,fabric=rail_only",
    "dgx-h100:nodes=8,fabric=fat_tree,leaf=4,spines=32",
    f"fat_tree:8x8,spines=8,{LINKS}",
    f"fat_tree:8x8,spines=4,{LINKS}",
    f"torus:8x8,{LINKS}",
    f"torus:4x4x4,{LINKS}",
    f"mesh:8x8,{LINKS}",
)
_Sizes = NDArray[np.int64]


def uniform(ranks: int, random: np.random.Generator) -> _Sizes:
    return random.integers(MIB // 2, MIB * 3 // 2, (ranks, ranks), np.int64)


def zipf(ranks: int, random: np.random.Generator) -> _Sizes:
    wanted = random.permutation(1 / np.arange(1, ranks + 1))
    sizes: _Sizes = (uniform(ranks, random) * (wanted * ranks / wanted.sum())).astype(np.int64)
    return sizes


def hot(ranks: int, random: np.random.Generator) -> _Sizes:
    sizes = uniform(ranks, random) // 8
    sizes[:, random.integers(ranks)] += 4 * MIB
    return sizes


def sparse(ranks: int, random: np.random.Generator) -> _Sizes:
    return np.where(random.random((ranks, ranks)) < 0.05, random.integers(1, 16 * MIB, (ranks, ranks)), 0)


_SKEWS: dict[str, Callable[[int, np.random.Generator], _Sizes]] = {
    "uniform": uniform,
    "Zipf": zipf,
    "hot": hot,
    "sparse": sparse,
}


def direct_ps(sizes: _Sizes, topology: Topology) -> int:
    collective = Collective.uneven(Kind.ALL_TO_ALL, len(sizes), sizes.ravel().tolist())
    return retime(build("direct", collective, topology)).time_ps


def row(topology: Topology, planner: AllToAllPlanner, skew: str, seeds: int) -> list[str]:
    plans, proofs, ratios, direct = [], [], [], []
    for seed in range(seeds):
        sizes = _SKEWS[skew](topology.num_ranks, np.random.default_rng(seed))
        np.fill_diagonal(sizes, 0)
        planner.plan(sizes)
        begin = time.thread_time()
        schedule = planner.plan(sizes)
        plans.append((time.thread_time() - begin) * 1e3)
        begin = time.thread_time()
        verify(schedule)
        proofs.append((time.thread_time() - begin) * 1e3)
        bound_ps = bound_of_any_chunks(schedule.collective, topology).time_ps
        ratios.append(schedule.time_ps / bound_ps)
        direct.append(direct_ps(sizes, topology) / bound_ps)
    found = [f"{median(ratios):.3f}", f"{max(ratios):.3f}", f"{median(direct):.2f}", f"{max(direct):.2f}"]
    return [f"{median(plans):.1f}", f"{max(plans):.1f}", f"{median(proofs):.1f}", *found]


def main(topologies: list[str], seeds: int) -> None:
    columns = ["prepared s", "blocks", "plan ms", "worst", "verify ms", "/ bound", "worst", "direct", "worst"]
    table = Table("topology", *columns, title=f"re-planned all_to_all, {seeds} seeds", box=None)
    for spec in topologies:
        topology = load(spec)
        begin = time.thread_time()
        planner = AllToAllPlanner(topology)
        prepared_s = time.thread_time() - begin
        for skew in _SKEWS:
            table.add_row(
                spec.removesuffix(f",{LINKS}"), f"{prepared_s:.2f}", skew, *row(topology, planner, skew, seeds)
            )
    Console(width=160).print(table)


if __name__ == "__main__":
    parser = command_line()
    parser.add_argument("topologies", nargs="*", default=TOPOLOGIES, help="specs; without any, those of the docs")
    parser.add_argument("--seeds", type=int, default=20)
    chosen = parser.parse_args()
    main(list(chosen.topologies), chosen.seeds)
