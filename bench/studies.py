"""The what-if studies of examples/studies, and the tables of docs/studies.md that say what they find.

Run: python -m hocket.bench.studies FOLDER [STUDY] [--jobs N]
Their results and pages are left in FOLDER.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hocket.api.sweep.request import Sweep
from hocket.base.text_table import text_table
from hocket.base.units import format_bytes, format_time
from hocket.bench.command_line import command_line

__all__ = ["STUDIES", "Pivot", "study_lines"]

HERE = Path(__file__).parents[1] / "examples" / "studies"
Row = Mapping[str, Any]


@dataclass(frozen=True)
class Pivot:
    """A table of a sweep's results: a row each combination of the columns `down`, a cell each value of `across`, of the
    fastest point of a cell what `cell` says."""

    down: Sequence[str]
    across: str
    cell: Callable[[Row], str]


def _time(row: Row) -> str:
    return format_time(row["time_ps"])


def _by(row: Row) -> str:
    return f"{format_time(row['time_ps'])} {row['used_algorithm']}"


def _rate(row: Row) -> str:
    return f"{row['busbw'] / 1e9:.0f} GB/s"


STUDIES = {
    "torus_or_switch": Pivot(["collective", "network"], "size_bytes", _by),
    "hierarchy_or_flat": Pivot(["size_bytes", "algorithm"], "times_slower", _time),
    "nvlink_or_nic": Pivot(["collective", "inside"], "nic", _rate),
    "scale_up_domain": Pivot(["collective", "size_bytes"], "domain", _rate),
    "failures": Pivot(["size_bytes", "network", "algorithm"], "left", _time),
    "which_algorithm": Pivot(["collective", "network"], "size_bytes", _by),
}
COST = "llama_70b_cost"


def study_lines(name: str, columns: Mapping[str, Any]) -> list[str]:
    """What a study found, as a table."""
    names = [*columns]
    found = zip(*(columns[name].tolist() for name in names), strict=True)
    rows = [dict(zip(names, row, strict=True)) for row in found]
    return _costs(rows) if name == COST else _pivot(STUDIES[name], rows)


def _pivot(pivot: Pivot, rows: Sequence[Row]) -> list[str]:
    fastest: dict[tuple[Any, ...], dict[Any, Row]] = {}
    for row in rows:
        if row["error"]:
            continue
        cells = fastest.setdefault(tuple(row[name] for name in pivot.down), {})
        known = cells.get(row[pivot.across])
        if known is None or row["time_ps"] < known["time_ps"]:
            cells[row[pivot.across]] = row
    places = {name: [*dict.fromkeys(row[name] for row in rows)] for name in pivot.down}  # in the order of the sweep
    keys = sorted(fastest, key=lambda key: [places[name].index(each) for name, each in zip(places, key, strict=True)])
    across = sorted({at for cells in fastest.values() for at in cells})
    table = [
        [*(_said(name, each) for name, each in zip(pivot.down, key, strict=True))]
        + [pivot.cell(cells[at]) if at in cells else "-" for at in across]
        for key, cells in ((key, fastest[key]) for key in keys)
    ]
    head = [*pivot.down, *(f"{pivot.across} {_said(pivot.across, each)}" for each in across)]
    head = [each.replace("_bytes", "").replace("_", " ") for each in head]
    return text_table(head, table, align="<" * len(pivot.down) + ">" * len(across))


def _said(name: str, value: Any) -> str:
    return format_bytes(value) if name == "size_bytes" else f"{value:g}" if isinstance(value, float) else str(value)


def _costs(rows: Sequence[Row]) -> list[str]:
    """The plan of each cluster that costs the least."""
    cheapest: dict[str, Row] = {}
    for row in rows:
        if not row["skipped"] and row["fits"]:
            known = cheapest.get(row["cluster"])
            if known is None or row["usd_per_step"] < known["usd_per_step"]:
                cheapest[row["cluster"]] = row
    table = [
        [
            row["cluster"],
            f"{row['price']:g}",
            f"tp {row['tp']}, pp {row['pp']}, dp {row['dp']}, zero {row['zero']}, recompute {row['recompute']}",
            format_time(row["step_ps"]),
            f"{row['model_flops_utilisation']:.1%}",
            f"{row['usd_per_step']:.3f}",
            f"{row['usd_per_million_tokens']:.2f}",
        ]
        for row in cheapest.values()
    ]
    head = ["cluster", "$ a GPU-hour", "cheapest plan", "step", "MFU", "$ a step", "$ a million tokens"]
    return text_table(head, table, align="<><>>>>")


def main(folder: Path, names: Sequence[str], jobs: int) -> None:
    for name in names:
        swept = Sweep.of(HERE / f"{name}.yaml", output=folder / name, executor="local", jobs=jobs).perform()
        print(f"{name}\n{swept.headline()}")
        print("\n".join(study_lines(name, swept.results)), "\n")


if __name__ == "__main__":
    parser = command_line()
    parser.add_argument("folder", type=Path, help="for the sweeps; what is there is not simulated again")
    parser.add_argument("study", nargs="*", help="by name; all without one")
    parser.add_argument("--jobs", type=int, default=2, help="worker processes")
    arguments = parser.parse_args()
    main(arguments.folder, arguments.study or [*STUDIES, COST], arguments.jobs)
