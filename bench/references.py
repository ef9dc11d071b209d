"""The reference programs with real values: `hocket run` of each on processes of this machine.

Example: python -m hocket.bench.references --most-ranks 8

The programs are the right ones in `../shared/data/msccl_xml` beside the checkout; a call has chunks of 3 elements.
"""

import csv
from collections import defaultdict
from pathlib import Path

from rich.console import Console
from rich.table import Table

from hocket.api.run.request import ProgramRun
from hocket.bench.command_line import command_line
from hocket.translator import read_xml

__all__ = ["main"]

REFERENCES = Path(__file__).resolve().parents[2] / "shared" / "data" / "msccl_xml"


def main(transport: str, most_ranks: int) -> None:
    """Prints, for each collective and number of ranks, how many programs ran and how many values were wrong."""
    wrong: dict[tuple[str, int], list[int]] = defaultdict(list)
    for row in csv.DictReader((REFERENCES / "index.csv").read_text().splitlines()):
        if row["xmlsim"] != "ok" or row["collective"] == "custom" or int(row["ngpus"]) > most_ranks:
            continue
        path = REFERENCES / row["file"]
        program = read_xml(path)
        request = ProgramRun.of(path, 12 * program.chunks_per_loop, transport=transport, iterations=1, warmup=0)
        wrong[str(program.kind), program.num_ranks].append(request.perform().wrong)
    table = Table("collective", "ranks", "programs", "wrong values", box=None, title=f"hocket run, {transport}")
    for (kind, ranks), counts in sorted(wrong.items()):
        table.add_row(kind, str(ranks), str(len(counts)), str(sum(counts)))
    Console(width=120).print(table)


if __name__ == "__main__":
    parser = command_line()
    parser.add_argument("--transport", default="shm", help="shm, tcp, gloo or mpi")
    parser.add_argument("--most-ranks", type=int, default=8, help="leave out programs of more ranks")
    arguments = parser.parse_args()
    main(arguments.transport, arguments.most_ranks)
