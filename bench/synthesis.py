"""Synthesis: seconds, memory and quality, each case in a process of its own; TACOS' figures beside ours where known.

Example: python -m hocket.bench.synthesis

`search` is the time of the engine alone (one attempt), `whole` that of `synthesize` with its bound, retiming and
verification. TACOS v1.3.0 was measured on another day, all_gather of 1 GiB with blocking links; its times are read from
`../shared/data/tacos` beside the checkout, where that is present.
"""

import resource
import time
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

from rich.console import Console
from rich.table import Table

from hocket.bench.command_line import command_line
from hocket.bench.networks import network_of
from hocket.schedule import Collective, Kind
from hocket.synthesizer import Problem, Search, synthesize
from hocket.synthesizer.portfolio import best_schedule

__all__ = ["main"]

PEER = Path(__file__).resolve().parents[2] / "shared" / "data" / "tacos" / "tacos_v130_quiet.txt"
GIB = 2**30
ANY_TIME_PS = 2**50  # a target that any schedule meets: the search ends with its first engine


@dataclass(frozen=True)
class Case:
    """`peer` is TACOS' name of the network. Above some size only the engine runs, since the schedule would not fit."""

    network: str
    kind: Kind = Kind.ALL_GATHER
    chunks: int = 1
    size_bytes: int = GIB
    blocking: bool = True
    peer: str = ""
    whole: bool = True


def mesh(side: int) -> str:
    return f"mesh:{side}x{side},bandwidth=50GiB/s,latency=500ns"


CASES = [
    Case(mesh(10), peer="mesh:10x10"),
    Case(mesh(32), peer="mesh:32x32"),
    Case(mesh(64), whole=False),
    Case("mesh:8x8x8,bandwidth=50GiB/s,latency=500ns", peer="mesh:8x8x8"),
    Case("rfs 2x4x8", peer="rfs:2x4x8:bw=200,100,50"),
    Case("rfs 2x4x32", peer="rfs:2x4x32:bw=200,100,50"),
    Case("rfs 2x4x8", chunks=16),
    Case("dragonfly 7x8", chunks=4),
    Case("switch:8,bandwidth=100GiB/s,latency=1us", chunks=8, blocking=False),
    Case("dgx-a100:nodes=2", chunks=8, blocking=False),
    Case("dgx-h100:nodes=4", chunks=4, blocking=False),
    Case(mesh(4), Kind.ALL_REDUCE, chunks=4, size_bytes=2**26, blocking=False),
    Case(mesh(10), Kind.ALL_REDUCE, blocking=False),
    Case(mesh(10), Kind.BROADCAST, chunks=64, blocking=False),
    Case(mesh(32), Kind.ALL_REDUCE, blocking=False),
]


@dataclass(frozen=True)
class Measured:
    ranks: int
    transfers: int
    search_s: float
    whole_s: float | None
    time_us: float
    ratio: float | None
    peak_mib: float


def measure(case: Case) -> Measured:
    """Runs in a fresh process: the peak is this case's, the interpreter and its imports included."""
    topology = network_of(case.network)
    collective = Collective(case.kind, topology.num_ranks, case.size_bytes, case.chunks)
    spread = Collective(
        Kind.BROADCAST if case.kind is Kind.BROADCAST else Kind.ALL_GATHER,
        topology.num_ranks,
        case.size_bytes,
        case.chunks,
    )
    problem = Problem(spread, topology, case.blocking)
    _ = problem.network
    begin = time.process_time()
    found = best_schedule(problem, Search(attempts=1, target_ps=ANY_TIME_PS))
    search_s = time.process_time() - begin
    if not case.whole:
        return Measured(topology.num_ranks, found.num_transfers, search_s, None, found.time_ps / 1e6, None, peak_mib())
    begin = time.process_time()
    schedule = synthesize(collective, topology, blocking=case.blocking)
    whole_s = time.process_time() - begin
    assert schedule.bound is not None
    ratio = schedule.time_ps / schedule.bound.time_ps
    return Measured(
        topology.num_ranks, schedule.num_transfers, search_s, whole_s, schedule.time_ps / 1e6, ratio, peak_mib()
    )


def peak_mib() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def peer_figures() -> dict[str, tuple[float, float]]:
    """TACOS' CPU seconds and claimed collective time in us by network name, for one chunk a rank."""
    if not PEER.is_file():
        return {}
    rows = [line.rsplit(",", 11) for line in PEER.read_text(encoding="utf-8").splitlines()]
    return {row[0]: (float(row[8]), float(row[10])) for row in rows if row[3] == "1"}


def main() -> None:
    peers = peer_figures()
    columns = ["ranks", "transfers", "search s", "whole s", "peak MiB", "time us", "/ bound", "TACOS s", "TACOS us"]
    table = Table("network", "collective", *columns, title="CPU seconds on one core", box=None)
    with get_context("spawn").Pool(1, maxtasksperchild=1) as pool:
        for case, got in zip(CASES, pool.imap(measure, CASES, chunksize=1), strict=True):
            seconds, claimed = peers.get(case.peer, (None, None))
            table.add_row(
                case.network.partition(",")[0],
                f"{case.kind}, {case.chunks} chunks{', blocking' if case.blocking else ''}",
                str(got.ranks),
                str(got.transfers),
                f"{got.search_s:.4f}",
                "" if got.whole_s is None else f"{got.whole_s:.2f}",
                f"{got.peak_mib:.0f}",
                f"{got.time_us:.1f}",
                "" if got.ratio is None else f"{got.ratio:.4f}",
                "" if seconds is None else f"{seconds:.3g} ({seconds / got.search_s:.0f}x)",
                "" if claimed is None else f"{claimed:.1f}",
            )
    Console(width=170).print(table)


if __name__ == "__main__":
    command_line().parse_args()
    main()
