"""`hocket simulate KIND --size A..B`: a collective over sizes, as nccl-tests prints it, with its knee."""

from __future__ import annotations

import json
from itertools import combinations, product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from collections.abc import Callable

    from hocket.simulator.sweep.curves import SimulatedCurve

__all__ = ["show_curves", "simulate_sizes"]


def simulate_sizes(
    kind: str,
    sizes: list[int],
    topologies: list[str],
    algorithms: list[str],
    options: dict[str, Any],
    nccl: Callable[[str, str], SimulatedCurve],
    json_path: Path | None,
    csv_path: Path | None,
    report: Path | None,
) -> None:
    """Shows a curve for each topology and algorithm; `options` are those of `Point`, `nccl` makes those of NCCL's."""
    found = _possible_curves(kind, sizes, topologies, algorithms, options, nccl)
    show_curves(kind, found, json_path, csv_path, report)


def show_curves(
    kind: str, found: list[SimulatedCurve], json_path: Path | None, csv_path: Path | None, report: Path | None
) -> None:
    """Prints a table for each curve, then where they cross, and writes what is wanted."""
    from hocket.base.files import atomic_write
    from hocket.simulator.analysis import write_csv
    from hocket.simulator.sweep.curves import curves_json, curves_table
    from hocket.simulator.sweep.sentences import crossover_sentence

    for curve in found:
        _print_curve(kind, curve)
    for first, second in combinations(found, 2):
        typer.echo(crossover_sentence(first, second))
    if json_path:
        with atomic_write(json_path) as file:
            json.dump(curves_json(kind, found), file, indent=1)
            file.write("\n")
        typer.echo(f"wrote {json_path}")
    if csv_path:
        write_csv(csv_path, curves_table(found))
        typer.echo(f"wrote {csv_path}")
    if report:
        from hocket.report.curves_page import curves_page

        with atomic_write(report) as file:
            file.write(curves_page(kind, found))
        typer.echo(f"wrote {report}")


def _possible_curves(
    kind: str,
    sizes: list[int],
    topologies: list[str],
    algorithms: list[str],
    options: dict[str, Any],
    nccl: Callable[[str, str], SimulatedCurve],
) -> list[SimulatedCurve]:
    """The curves, but for native algorithms that cannot do this where others can: a note on stderr."""
    from hocket.base.errors import SimulationError
    from hocket.nccl.programs.spec import is_nccl
    from hocket.schedule.algorithms import ALGORITHMS
    from hocket.simulator.sweep.curves import curves

    found: list[SimulatedCurve] = []
    skipped: list[SimulationError] = []
    for topology, name in product(topologies, algorithms):
        if is_nccl(name):
            found.append(nccl(topology, name))
            continue
        try:
            found += curves(kind, sizes, [topology], [name], **options)
        except SimulationError as error:
            if name not in ALGORITHMS:
                raise
            skipped.append(error)
    if not found:
        raise skipped[0]
    for reason in skipped:
        typer.echo(f"note: skipped: {reason}", err=True)
    return found


def _print_curve(kind: str, curve: SimulatedCurve) -> None:
    from hocket.base.units import format_bandwidth, format_bytes, format_time
    from hocket.simulator.sweep.sentences import fit_sentence

    typer.echo(f"{kind} on {curve.topology}, {curve.algorithm}")
    typer.echo(
        f"{'size':>10} {'time':>10} {'algbw':>12} {'busbw':>12} {'bound':>10} {'ratio':>7}  {'regime':<9}  algorithm"
    )
    rows = curve.columns
    for at in range(len(rows["size_bytes"])):
        typer.echo(
            f"{format_bytes(int(rows['size_bytes'][at])):>10} {format_time(int(rows['time_ps'][at])):>10}"
            f" {format_bandwidth(float(rows['algbw'][at])):>12} {format_bandwidth(float(rows['busbw'][at])):>12}"
            f" {format_time(int(rows['bound_ps'][at])):>10} {rows['ratio'][at]:7.3f}  {rows['regime'][at]:<9}"
            f"  {rows['used_algorithm'][at]}"
        )
    knee = "outside these sizes" if curve.knee_bytes is None else format_bytes(round(curve.knee_bytes))
    typer.echo(f"  floor {format_time(curve.floor_ps)} without any bytes; knee, where the time is twice that: {knee}")
    if curve.fit:
        typer.echo(f"  {fit_sentence(curve)}")
