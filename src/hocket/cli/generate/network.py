"""`hocket generate network`: training steps of a layered network, from a table or a published architecture."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hocket.chakra.profile import Profile
from hocket.cli.trace.output import OutputOption, PrefixOption, ProfileOption, write_job
from hocket.workload.accelerators import Precision

if TYPE_CHECKING:
    from hocket.workload.network import Network
    from hocket.workload.plan import Plan

__all__ = ["EPILOG", "network"]

EPILOG = (
    "Examples: hocket generate network resnet50 --ranks 64 --parallel data -o traces/ |"
    " hocket generate network turing-nlg --ranks 256 --parallel hybrid:4 --accelerator a100 -o traces/ |"
    " hocket generate network layers.csv --ranks 8 --parallel hybrid:4 --steps 2 -o traces/ |"
    " hocket generate network Resnet50_DataParallel.txt --ranks 8 -o traces/"
)


def network(
    what: Annotated[
        str,
        typer.Argument(
            metavar="TABLE|PRESET",
            help="A table (.csv, .yaml), a workload text file of ASTRA-sim 1.0,"
            " or resnet50, gnmt, turing-nlg, transformer, dlrm.",
        ),
    ],
    output: OutputOption,
    ranks: Annotated[int, typer.Option(min=2, max=1 << 20, help="Number of ranks of the job.")],
    parallel: Annotated[
        str | None,
        typer.Option(
            help="data (default), model, or hybrid:8: groups of 8 neighbours share a model"
            " (hybrid:8:spread: ranks far apart do)."
        ),
    ] = None,
    steps: Annotated[int, typer.Option(min=1, max=1 << 16, help="Training steps.")] = 1,
    batch: Annotated[
        int | None, typer.Option(min=1, max=1 << 30, help="Samples a replica and step, of a preset; each has its own.")
    ] = None,
    accelerator: Annotated[
        str, typer.Option(help="What prices operations and bytes: h100, ..., or peak=989TFLOP/s,memory=3.35TB/s.")
    ] = "h100",
    precision: Annotated[Precision, typer.Option(help="Format whose peak rate the accelerator has.")] = Precision.BF16,
    element_bytes: Annotated[int, typer.Option(min=1, max=8, help="Of a preset's weights and activations.")] = 2,
    gradient_bytes: Annotated[int, typer.Option(min=1, max=8, help="Of a preset's communicated gradients.")] = 4,
    table: Annotated[Path | None, typer.Option(help="Also write the layers here as CSV, to edit and use.")] = None,
    profile: ProfileOption = Profile.MLCOMMONS,
    prefix: PrefixOption = "trace",
) -> None:
    """Make traces of training steps of a layered network: data-, model- or hybrid-parallel."""
    from hocket.workload.accelerators import parse_accelerator
    from hocket.workload.table import write_table
    from hocket.workload.training import generate_training

    layers, plan = _load(what, ranks, parallel, batch, element_bytes, gradient_bytes)
    traces = generate_training(layers, plan, steps, parse_accelerator(accelerator), precision)
    _print(layers, plan, f"{accelerator} at {precision}")
    if table is not None:
        write_table(table, layers)
        typer.echo(f"wrote {table}")
    write_job(traces, output, prefix, profile)


def _load(
    what: str, ranks: int, parallel: str | None, batch: int | None, element_bytes: int, gradient_bytes: int
) -> tuple[Network, Plan]:
    """The network, and the plan: the option's, else that of an ASTRA-sim file, else data."""
    from hocket.base.errors import FormatError
    from hocket.base.strict_yaml import nearest
    from hocket.workload.architecture import to_network
    from hocket.workload.astra_text import read_astra_text
    from hocket.workload.plan import parse_plan
    from hocket.workload.presets import PRESETS
    from hocket.workload.table import read_table

    path = Path(what)
    if what in PRESETS and not path.exists():
        plan = parse_plan(parallel or "data", ranks)
        return to_network(PRESETS[what](), plan, batch, element_bytes, gradient_bytes), plan
    if batch is not None:
        raise typer.BadParameter("--batch is for a preset: the sizes of a table are those of a step")
    if not path.exists():
        raise FormatError(f"{what}: no such file, and no preset; {nearest(what, PRESETS)}")
    if path.suffix.lower() in (".csv", ".yaml", ".yml"):
        return read_table(path), parse_plan(parallel or "data", ranks)
    text = read_astra_text(path)
    if parallel is None and text.plan is None:
        raise typer.BadParameter(
            f"--parallel is missing: {text.policy} does not say how many neighbours make the first dimension,"
            " such as --parallel hybrid:8"
        )
    return text.network, parse_plan(parallel or text.plan or "data", ranks)


def _print(layers: Network, plan: Plan, accelerator: str) -> None:
    from hocket.base.units import format_bytes
    from hocket.workload.training import left_out

    for note in layers.notes:
        typer.echo(note)
    typer.echo(f"{plan}, {len(layers.layers)} layers")
    num_ops = sum(step.num_ops for step in layers.passes())
    if num_ops:
        typer.echo(f"operations of a rank and step: {num_ops}, priced as {accelerator}")
    for (kind, scope), (count, num_bytes) in layers.communication().items():
        if plan.size(scope) > 1:
            size = format_bytes(num_bytes)
            typer.echo(
                f"{count} x {kind} of {num_bytes} bytes ({size}) in all, among {plan.size(scope)} ranks ({scope})"
            )
    lonely = left_out(layers, plan)
    if lonely:
        typer.echo(f"note: {lonely} collectives a step are left out: their groups would be of one rank")
