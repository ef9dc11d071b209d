"""What NCCL's own code chooses, release by release, beside `hocket nccl choose`'s model of it.

Run: python -m hocket.bench.nccl_itself --source nccl-2.30/ ... [--machine dgx-h100 ...] [--nodes 1 2 ...] [-o OUT.csv]

Each checkout's host code is built and run as `hocket nccl run-stock --do choose` runs it: every collective, 8 B to
16 GiB, on every preset of NVIDIA's GPUs. A row a release, machine and number of nodes (of NVLink domains where a host
is a part of one, as a tray of a rack is): how many choices are the model's, and by how much the time that NCCL expects
differs from the model's at most. OUT.csv gets a row a span of sizes chosen alike, with NCCL's own times at its ends:
with such a recording the suite holds the model to NCCL where its sources are not at hand.

Memory: 16 MB a rank at 256 ranks, 8 a host; of one NVLink domain of several hosts 136 MB at 32 ranks and growing with
the square of its ranks, since each rank keeps every path between two parts of the domain: a rack of 72 takes 20 GB.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path

from hocket.api.nccl.request import NcclStockRun
from hocket.api.nccl.stock import StockResult
from hocket.base.errors import HocketError
from hocket.base.files import atomic_write
from hocket.base.scratch import hand_over, scratch_folder
from hocket.bench.command_line import command_line
from hocket.nccl.stock.sources import read_sources
from hocket.topology.formats.nccl.machine import Dialect
from hocket.topology.formats.nccl.write import topology_text
from hocket.topology.machines.hosts import hosts_of
from hocket.topology.machines.presets import PRESETS

__all__ = ["collnet_topology", "machines", "spans"]

NODES = (1, 2, 4, 8, 16, 32)
_LIMIT_S = 600  # without anything that moves: the search of a large domain's channels is long
COLUMNS = ("release", "machine", "nodes", "collective", "least", "most", "algorithm", "protocol", "least_us", "most_us")


def machines() -> list[str]:
    """The presets that NCCL runs on, the first of those whose hosts are alike; of a rack one tray, since a rack's 72
    ranks take more memory than most machines have."""
    hosts = [hosts_of(name) for name in reversed(PRESETS)]
    first = {(topology_text(one.machine), one.domain): one for one in hosts if one.machine.dialect == Dialect.NCCL}
    return [
        one.name if one.domain == 1 else f"{one.name}:gpus={len(one.machine.job_gpus())}"
        for one in reversed(first.values())
    ]


def spans(result: StockResult) -> Iterator[tuple[str, int, int, str, str, float | None, float | None]]:
    """Collective, smallest and largest size, algorithm, protocol, and NCCL's times of both in us."""
    for (kind, _), grouped in groupby(result.choices, key=lambda one: (one.collective, one.name)):
        run = list(grouped)
        first, last = run[0], run[-1]
        yield (
            *(kind, first.call.size_bytes, last.call.size_bytes, first.algorithm, first.protocol),
            *(first.time_us, last.time_us),
        )


def collnet_topology(machine: str) -> str:
    """NCCL's topology file of one host of `machine`, with every NIC on switches that reduce (SHARP)."""
    return topology_text(hosts_of(machine).machine).replace("<net ", '<net coll="1" ')


def _run(source: str, machine: str, nodes: int, cuda: str | None, collnet: bool) -> StockResult:
    with scratch_folder("nccl") as folder:
        hosts, spec, settings = nodes * hosts_of(machine).domain, machine, []
        if collnet:
            spec, settings = str(folder / "topology.xml"), ["NCCL_COLLNET_ENABLE=1"]
            hand_over(Path(spec), collnet_topology(machine))
        request = NcclStockRun.of(
            **{"topology": spec, "nodes": hosts, "source": source, "output": f"{folder}/run"},
            **{"cuda": cuda, "settings": settings, "limit": _LIMIT_S},
        )
        result = request.perform()
        assert isinstance(result, StockResult)
        return result


def main() -> None:
    parser = command_line()
    parser.add_argument("--source", nargs="+", required=True, help="checkouts of NCCL")
    parser.add_argument("--machine", nargs="+", default=machines(), help="presets")
    parser.add_argument("--nodes", type=int, nargs="+", default=NODES, help="machines of each job")
    parser.add_argument(
        "--collnet", action="store_true", help="with switches that reduce (SHARP), NCCL_COLLNET_ENABLE=1"
    )
    parser.add_argument("--cuda", help="where CUDA's headers are")
    parser.add_argument("-o", "--output", type=Path, help="the spans, CSV")
    arguments = parser.parse_args()
    rows: list[Sequence[object]] = []
    print(f"{'release':10} {'machine':14} {'nodes':>5} {'choices':>8} {'as modelled':>12} {'times off by':>13}")
    for source in arguments.source:
        release = read_sources(Path(source)).name
        for machine in arguments.machine:
            for nodes in arguments.nodes:
                try:
                    result = _run(source, machine, nodes, arguments.cuda, arguments.collnet)
                except HocketError as error:
                    print(f"{release:10} {machine:14} {nodes:5} {str(error)[:300]}")
                    continue
                off = f"{100 * result.times_off:.4f} %" if result.times_off is not None else "-"
                same = "-" if result.agreeing is None else str(result.agreeing)
                print(f"{release:10} {machine:14} {nodes:5} {len(result.choices):8} {same:>12} {off:>13}", flush=True)
                rows += [(release, machine, nodes * hosts_of(machine).domain, *span) for span in spans(result)]
                if arguments.output:
                    _write(arguments.output, rows)


def _write(path: Path, rows: Sequence[Sequence[object]]) -> None:
    with atomic_write(path) as file:
        csv.writer(file, lineterminator="\n").writerows([COLUMNS, *rows])


if __name__ == "__main__":
    main()
