"""What NCCL's own code chooses, release by release, beside `hocket nccl choose`'s model of it.

Run: python -m hocket.bench.nccl_itself --source nccl-2.30/ ... [--machine dgx-h100 ...] [--nodes 1 2 ...] [-o OUT.csv]

Each checkout's host code is built and run as `hocket nccl run-stock --do choose` runs it: every collective, 8 B to
16 GiB. A row a release, machine and number of nodes: how many choices are the model's, and by how much the time that
NCCL expects differs from the model's at most. OUT.csv gets a row a span of sizes chosen alike, with NCCL's own times at
its ends: with such a recording the suite holds the model to NCCL where its sources are not at hand.
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
from hocket.base.scratch import scratch_folder
from hocket.bench.command_line import command_line
from hocket.nccl.stock.sources import read_sources

__all__ = ["MACHINES", "spans"]

MACHINES = ("dgx-a100", "dgx-h100", "dgx-b200", "ndv4", "p5")
COLUMNS = ("release", "machine", "nodes", "collective", "least", "most", "algorithm", "protocol", "least_us", "most_us")


def spans(result: StockResult) -> Iterator[tuple[str, int, int, str, str, float | None, float | None]]:
    """Collective, smallest and largest size, algorithm, protocol, and NCCL's times of both in us."""
    for (kind, _), grouped in groupby(result.choices, key=lambda one: (one.collective, one.name)):
        run = list(grouped)
        first, last = run[0], run[-1]
        yield (
            *(kind, first.call.size_bytes, last.call.size_bytes, first.algorithm, first.protocol),
            *(first.time_us, last.time_us),
        )


def _run(source: str, machine: str, nodes: int, cuda: str | None) -> StockResult:
    with scratch_folder("nccl") as folder:
        request = NcclStockRun.of(topology=machine, nodes=nodes, source=source, output=f"{folder}/run", cuda=cuda)
        result = request.perform()
        assert isinstance(result, StockResult)
        return result


def main() -> None:
    parser = command_line()
    parser.add_argument("--source", nargs="+", required=True, help="checkouts of NCCL")
    parser.add_argument("--machine", nargs="+", default=MACHINES, help="presets")
    parser.add_argument("--nodes", type=int, nargs="+", default=[1, 2], help="hosts of each job")
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
                    result = _run(source, machine, nodes, arguments.cuda)
                except HocketError as error:
                    print(f"{release:10} {machine:14} {nodes:5} {str(error)[:300]}")
                    continue
                off = f"{100 * result.times_off:.4f} %" if result.times_off is not None else "-"
                same = "-" if result.agreeing is None else str(result.agreeing)
                print(f"{release:10} {machine:14} {nodes:5} {len(result.choices):8} {same:>12} {off:>13}", flush=True)
                rows += [(release, machine, nodes, *span) for span in spans(result)]
                if arguments.output:
                    _write(arguments.output, rows)


def _write(path: Path, rows: Sequence[Sequence[object]]) -> None:
    with atomic_write(path) as file:
        csv.writer(file, lineterminator="\n").writerows([COLUMNS, *rows])


if __name__ == "__main__":
    main()
