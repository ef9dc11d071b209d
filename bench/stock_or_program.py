"""Programs of `hocket synthesize --for` beside the stock library, by machine, collective and size.

Example: python -m hocket.bench.stock_or_program --case 'all_reduce dgx-h100:nodes=2*' --keep rows.json

Both are predicted, and with the same costs: NCCL's (RCCL's) published constants of launch, steps, protocols and reach
of links. A cell is how many times as quick the program is, `-` where the size is left to the library, `?` where its
model has no time; `worst` is the library's time over the bundle's where that is least (1: it is never slower), `wins`
counts sizes. `--keep` adds each row to a file when it is done, and takes those that are there from it; `--table` prints
that file alone.
"""

import json
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from fnmatch import fnmatch
from pathlib import Path

from hocket.api.synthesize.request import Synthesis
from hocket.base.errors import HocketError
from hocket.base.files import write_json
from hocket.base.scratch import scratch_folder
from hocket.base.text_table import text_table
from hocket.base.units import format_bytes
from hocket.bench.command_line import command_line

__all__ = ["main"]

NVIDIA = [
    *(f"dgx-h100:nodes={nodes}" for nodes in (1, 2, 4, 8, 16)),
    *(f"dgx-b200:nodes={nodes}" for nodes in (1, 2)),
    *(f"gb200-nvl72:nodes={nodes}" for nodes in (1, 2)),
    "dgx-h100:nodes=4,fabric=rail_only",
    "dgx-h100:nodes=4,fabric=fat_tree,leaf=2,oversubscription=4",
]
AMD = [f"mi300x:nodes={nodes}" for nodes in (1, 2)]
COLLECTIVES = ("all_reduce", "all_gather", "reduce_scatter", "all_to_all")
SIZES = "1KiB..4GiB:4"


@dataclass(frozen=True)
class Case:
    """A collective on a machine, for a runtime that has kernels there."""

    collective: str
    topology: str
    runtime: str

    @property
    def name(self) -> str:
        return f"{self.collective} {self.topology} {self.runtime}"


@dataclass(frozen=True)
class Outcome:
    """`times`: by size in bytes, what the library takes (None: unknown) and what the program does (None: it has none),
    in ps. `seconds` of processor time; `error`: why there is nothing."""

    name: str
    stock: str = ""
    times: list[tuple[int, int | None, int | None]] = field(default_factory=list)
    seconds: float = 0.0
    error: str = ""

    def row(self) -> list[object]:
        if self.error:
            return [*self.name.split(), self.error]
        gains = [1.0 if ours is None else stock / ours for _, stock, ours in self.times if stock is not None]
        cells = [
            "?" if stock is None else "-" if ours is None else f"{stock / ours:.2f}" for _, stock, ours in self.times
        ]
        won = sum(gain > 1 for gain in gains)
        least = f"{min(gains):.2f}" if gains else "?"
        return [*self.name.split(), *cells, f"{won}/{len(self.times)}", least, f"{self.seconds:.0f}"]


def cases() -> Iterator[Case]:
    for topology in NVIDIA:
        for collective in COLLECTIVES:
            yield Case(collective, topology, "executor")
    for topology in AMD:
        for collective in COLLECTIVES:
            yield Case(collective, topology, "rccl")
    for topology in ("dgx-h100:nodes=1", "dgx-h100:nodes=2", "dgx-b200:nodes=1"):
        for collective in COLLECTIVES:
            yield Case(collective, topology, "mscclpp")
    for topology in ("dgx-h100:nodes=1", "dgx-b200:nodes=1"):
        for collective in COLLECTIVES:
            yield Case(collective, topology, "device")


def outcome(case: Case, sizes: str) -> Outcome:
    begin = time.process_time()
    with scratch_folder("bench") as folder:
        try:
            made = Synthesis.ask(
                case.collective, case.topology, sizes, runtime=case.runtime, output=str(folder / "bundle")
            )
        except HocketError as error:
            return Outcome(case.name, error=str(error))
    plain = made.as_json()
    times = [(row["size_bytes"], (row["stock"] or {}).get("time_ps"), row["time_ps"]) for row in plain["rows"]]
    return Outcome(case.name, plain["stock"], times, time.process_time() - begin)


def kept(path: Path | None) -> dict[str, Outcome]:
    if path is None or not path.exists():
        return {}
    return {row["name"]: Outcome(**row) for row in json.loads(path.read_text())}


def main() -> None:
    parser = command_line()
    parser.add_argument("--case", default="*", help="which cases: a pattern of `COLLECTIVE TOPOLOGY RUNTIME`")
    parser.add_argument("--sizes", default=SIZES, help=f"the range of sizes: {SIZES}")
    parser.add_argument("--keep", type=Path, help="a file of the rows that are done")
    parser.add_argument("--table", action="store_true", help="print the rows that are done, and do none")
    arguments = parser.parse_args()
    done = kept(arguments.keep)
    asked = [case for case in cases() if fnmatch(case.name, arguments.case)]
    for case in [] if arguments.table else asked:
        if case.name in done:
            continue
        done[case.name] = outcome(case, arguments.sizes)
        if arguments.keep is not None:
            write_json(arguments.keep, [asdict(one) for one in done.values()])
    rows = [done[case.name] for case in asked if case.name in done]
    sizes = next((format_bytes(size) for size, *_ in one.times) for one in rows if one.times) if rows else ()
    heads = ("collective", "topology", "runtime", *sizes, "wins", "worst", "s")
    print("\n".join(text_table(heads, [one.row() for one in rows])))


if __name__ == "__main__":
    main()
