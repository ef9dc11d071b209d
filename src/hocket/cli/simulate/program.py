"""`hocket simulate FILE.xml|FILE.json`: a program on topologies, at one size or several."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from hocket.cli.options import one_of
from hocket.cli.simulate.nccl import curve_of_predictions
from hocket.cli.simulate.outputs import Outputs
from hocket.cli.simulate.sizes import show_curves

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hocket.schedule import Program, Protocol
    from hocket.simulator import Prediction
    from hocket.simulator.sweep.curves import SimulatedCurve
    from hocket.topology import Topology

__all__ = ["show_program"]


def show_program(
    path: str,
    topologies: Sequence[Topology],
    sizes: Sequence[int],
    runtime: str,
    root: int | None,
    options: Mapping[str, Any],
    outputs: Outputs,
    csv_path: Path | None,
) -> None:
    """Shows and writes what the program takes; `options` are those of `simulate_program`."""
    from hocket.schedule import AMD, NVIDIA
    from hocket.simulator import simulate_program
    from hocket.translator import PROFILES, ProfileName, read_program

    protocols = AMD if one_of("--runtime", runtime, PROFILES) == ProfileName.RCCL else NVIDIA
    program = read_program(path, root=root)
    for topology in topologies:
        if program.num_ranks < topology.num_ranks:
            used = f"ranks 0 to {program.num_ranks - 1} of the {topology.num_ranks} of {topology.name}"
            typer.echo(f"note: {path} is for {program.num_ranks} ranks: it runs on {used}", err=True)
    if len(sizes) > 1:
        outputs.require_curves()
        found = [_curve(program, topology, sizes, protocols, options) for topology in topologies]
        show_curves(program.kind, found, outputs.json, csv_path, outputs.report)
        return
    if csv_path:
        raise typer.BadParameter("--csv is for several sizes; one prediction has --tables")
    outputs.show([
        simulate_program(program, topology, sizes[0], protocols=protocols, **options) for topology in topologies
    ])  # fmt: skip


def _curve(
    program: Program,
    topology: Topology,
    sizes: Sequence[int],
    protocols: Mapping[str, Protocol],
    options: Mapping[str, Any],
) -> SimulatedCurve:
    from hocket.simulator import simulate_program

    def predicted(size: int, latencies: bool) -> Prediction:
        return simulate_program(program, topology, size, protocols=protocols, **{**options, "latencies": latencies})

    return curve_of_predictions(topology.name, program.name, sizes, predicted)
